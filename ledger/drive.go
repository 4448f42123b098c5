package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

// Draft is an operation as its caller wants it, before anything is recorded.
type Draft struct {
	ID     string // UUIDv7, for the operation if it is new
	Parent string // the workflow that it is a step of; "" for none
	Intent Intent // zero: the call names none
	Action string // what a call without an intent is recorded as
	// Named: Key was chosen by the caller, and so is an intent of its own.
	Named bool
	// Begun: the call has begun an attempt under this ID before.
	Begun bool

	API, Origin, Credential string
	Key                     string // "": made from the intent
	Payload                 Payload
	Amount                  *Amount // of money that it moves or sets; nil for none
	Significance            Significance
	Driver                  Driver
	Keeping                 Keeping // what it leaves open is as the ledger says

	// Retention is how long the server remembers the key, less a margin; 0
	// where it honours none. ReadBack: the effect can be looked up.
	Retention time.Duration
	ReadBack  bool
	// Careful: after an attempt that may have had its effect, nothing is sent
	// before a look.
	Careful bool

	// Lane is the target whose state the operation sets, and Group what it would
	// conflict with while that is not settled; "" for none. The ledger tells lanes
	// of different namespaces and API keys apart, and groups of different servers.
	Lane, Group string

	workflow *store.Workflow // of a machine's: how it begins

	// Expires ends the wish for an operation that a worker drives, if it is not
	// done by then; zero for never.
	Expires time.Time
}

// Format writes the draft without its payload, whatever the verb.
func (d Draft) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "draft %s (%s): %s", d.ID, cmp.Or(d.Intent.Action, d.Action), d.Payload)
}

// Drive is the right to carry one operation on. It comes from [Ledger.Open], is
// for one goroutine, and has to be closed.
type Drive struct {
	ledger *Ledger
	draft  *Draft
	leave  func() // ends the single flight in this process

	isNew   bool // not in the ledger yet
	stored  bool // it comes from the ledger, not from a caller with a payload
	resumed bool // somebody asked for it explicitly
	worker  bool
	closed  bool

	op       store.Operation
	keeping  Keeping
	result   []byte // in clear, of an operation that has succeeded before
	body     []byte // in clear, of one that goes on; nil where it is new or none is kept
	attempts []store.Attempt
	saw      string // evidence for the next change

	shows      pressure // of a workflow: what its last operation showed
	showsUntil time.Time
}

// Open finds out how things stand with a draft.
//
//   - It is new, or was begun and stopped: [Drive.Begin] records an attempt.
//   - It has succeeded: [Drive.Repeat] has the result, and nothing is to be sent.
//   - It came with another payload: a *[MismatchError], at once.
//   - It is being driven elsewhere: Open waits, or fails with [ErrInProgress] if
//     told so. The wait ends with ctx only. When the other stops without an end,
//     Open takes over.
//   - It has ended otherwise, or is a person's: a *[StandingError].
//   - What is kept of it is sealed and does not open: a *[SealError].
func (l *Ledger) Open(ctx context.Context, draft *Draft) (*Drive, error) {
	if err := l.outsideTx(ctx); err != nil {
		return nil, err
	}
	// A caller's repeat of an intent is an explicit resume.
	d := &Drive{
		ledger: l, draft: draft, leave: func() {}, keeping: draft.Keeping.Or(l.keeping),
		resumed: draft.Driver == DriverCaller,
	}
	if err := d.prepare(); err != nil {
		return nil, err
	}
	if err := d.enter(ctx); err != nil {
		return nil, err
	}
	if draft.Intent == (Intent{}) && !draft.Named && !draft.Begun { // nobody else can have it yet
		d.isNew = true
		return d, nil
	}
	if err := d.meet(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// prepare makes the row of a new operation.
func (d *Drive) prepare() error {
	l, draft := d.ledger, d.draft
	intent := store.Intent{Namespace: l.namespace, Customer: noCustomer, Action: draft.Action, Version: draft.ID}
	switch {
	case draft.Intent != Intent{}:
		if err := draft.Intent.Check(); err != nil {
			return err
		}
		intent.Customer, intent.Action, intent.Version = draft.Intent.Customer, draft.Intent.Action, draft.Intent.Version
		if draft.Key == "" {
			draft.Key = IdempotencyKey(l.namespace, draft.Intent)
		}
	case draft.Named:
		if err := checkVersion(draft.Key); err != nil {
			return err
		}
		intent.Version = draft.Key
	}
	if draft.Amount != nil {
		if err := draft.Amount.Check(); err != nil {
			return err
		}
	}
	fingerprint, err := NewFingerprint(draft.Payload, draft.Significance)
	if err != nil {
		return err
	}
	now := l.store.Now()
	d.op = store.Operation{
		ID: draft.ID, ParentID: draft.Parent, Kind: string(KindCall), Intent: intent,
		API: draft.API, Origin: draft.Origin, Credential: draft.Credential, Key: draft.Key,
		Fingerprint: string(fingerprint), Method: draft.Payload.Method, Path: draft.Payload.Path,
		Driver: string(draft.Driver), CreatedAt: now, UpdatedAt: now,
	}
	if draft.workflow != nil { // it has no request
		d.op.Kind, d.op.Steps, d.op.Key, d.op.Method, d.op.Path = string(KindWorkflow), len(draft.workflow.States)-1, "", "", ""
	}
	if draft.Lane != "" {
		d.op.Lane = d.laneUnder(draft.Credential, draft.Lane)
	}
	if draft.Group != "" {
		d.op.Group = draft.API + " " + draft.Origin + " " + draft.Group
	}
	d.op.Body, err = d.keepBody()
	return err
}

// open gets a stored operation ready to be carried on by this drive: it waits while
// another drives it, or fails with [ErrInProgress] where a worker has better things
// to do.
func (d *Drive) open(ctx context.Context) error {
	if d.worker {
		if d.heldElsewhere() || d.tryEnter() != nil {
			return ErrInProgress
		}
	} else if err := d.enter(ctx); err != nil {
		return err
	}
	return d.meet(ctx)
}

// meet finds out how things stand, and refuses what this drive must not go on with;
// then it is closed.
func (d *Drive) meet(ctx context.Context) error {
	err := d.find(ctx)
	if err == nil {
		err = d.admit()
	}
	if err != nil {
		d.Close()
	}
	return err
}

// find reads the operation, if there is one, and waits while another process
// drives it.
func (d *Drive) find(ctx context.Context) error {
	l := d.ledger
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := l.store.Read(ctx, func(tx store.Tx) error { return d.load(ctx, tx) })
		switch {
		case err != nil:
			return &UnreadableError{err}
		case !d.isNew && l.undatable(&d.op, d.attempts):
			if err := l.doubtDate(ctx, d.op.ID); err != nil {
				return err
			}
			continue
		case !d.heldElsewhere():
			return nil
		}
		body, _ := l.unseal(&d.op, fieldBody, d.op.Body) // where it does not open, the fields have no names
		if err := d.compare(body); err != nil {
			return err
		}
		if l.failBusy {
			return &InProgressError{OperationID: d.op.ID}
		}
		if err := retry.Sleep(ctx, pause); err != nil {
			return &InProgressError{d.op.ID, err}
		}
	}
}

func (d *Drive) load(ctx context.Context, tx store.Tx) error {
	if d.stored { // it is this one, whatever came after it
		return d.reload(ctx, tx)
	}
	row, err := newest(ctx, tx, d.op.Intent)
	if errors.Is(err, store.ErrNotFound) {
		d.isNew = true
		return nil
	}
	if err != nil {
		return err
	}
	d.isNew, d.op = false, *row
	d.attempts, err = tx.Attempts(ctx, row.ID)
	return err
}

func (d *Drive) reload(ctx context.Context, tx store.Tx) error {
	row, err := tx.Operation(ctx, d.op.ID)
	if err != nil {
		return err
	}
	d.op = *row
	d.attempts, err = tx.Attempts(ctx, row.ID)
	return err
}

// newest returns the operation of an intent, or the last that was issued again in
// its place.
func newest(ctx context.Context, tx store.Tx, i store.Intent) (*store.Operation, error) {
	row, err := tx.ByIntent(ctx, i)
	for err == nil && row.Status == string(StatusFailedFinal) {
		next, err := tx.Successor(ctx, row.ID)
		if errors.Is(err, store.ErrNotFound) {
			return row, nil
		}
		if err != nil {
			return nil, err
		}
		row = next
	}
	return row, err
}

func (d *Drive) heldElsewhere() bool {
	lease := d.op.Lease
	return !d.isNew && lease.Owner != "" && lease.Owner != d.ledger.owner &&
		lease.Until > d.ledger.store.Now() && !Status(d.op.Status).Final()
}

// admit refuses what this drive must not go on with.
func (d *Drive) admit() error {
	if d.isNew {
		return nil
	}
	body, sealed := d.ledger.unseal(&d.op, fieldBody, d.op.Body)
	if err := d.compare(body); err != nil {
		return err
	}
	switch {
	case d.op.Status == string(StatusFailedFinal),
		d.op.Status == string(StatusReconciling) && d.op.NextStep == string(NextPerson):
		return d.Standing()
	case d.op.Status == string(StatusSucceeded):
		var err error
		d.result, err = d.ledger.unseal(&d.op, fieldResult, d.op.Result)
		return err
	case d.op.API != d.draft.API:
		return &GuardError{d.op.ID, "it is for " + d.op.API + ": Ledger.Resume finds the client or the machine of that"}
	case d.op.Origin != d.draft.Origin:
		return &GuardError{d.op.ID, "it was begun at another server: " + d.op.Origin}
	case d.op.PossiblySent && d.op.Credential != d.draft.Credential:
		return &GuardError{d.op.ID, "it may have been sent under another API key, and keys are remembered for each API key apart"}
	}
	d.body = body
	return sealed
}

// compare refuses another payload than the recorded one.
func (d *Drive) compare(body []byte) error {
	if d.stored { // then it is the recorded one
		return nil
	}
	was := Payload{Method: d.op.Method, Path: d.op.Path, Body: body}
	return Fingerprint(d.op.Fingerprint).Compare(d.op.ID, was, d.draft.Payload, d.draft.Significance)
}

// Standing is the error that says how the operation stands.
func (d *Drive) Standing() error {
	return &StandingError{
		OperationID: d.op.ID, Status: Status(d.op.Status), Next: NextStep(d.op.NextStep), PossiblySent: d.op.PossiblySent,
		NotBefore: moment(d.op.NotBefore), ErrorCode: d.op.ErrorCode, ErrorMessage: d.op.ErrorMessage,
	}
}

// Operation returns the operation as this drive knows it; its body is in clear
// also where it is kept sealed.
func (d *Drive) Operation() *Operation {
	op := operation(&d.op)
	if d.body != nil {
		op.Body = d.body
	}
	return op
}

// Repeat reports whether the operation has succeeded before, and with what
// result; it is nil where none was kept.
func (d *Drive) Repeat() (result []byte, ok bool) {
	return d.result, d.op.Status == string(StatusSucceeded)
}

// Format writes the operation as it prints itself, whatever the verb.
func (d *Drive) Format(f fmt.State, verb rune) { operation(&d.op).Format(f, verb) }

// Attempts returns what earlier drives recorded. An attempt that never ended, as
// after a crash, is of unknown outcome.
func (d *Drive) Attempts() []retry.Attempt {
	all := make([]retry.Attempt, len(d.attempts))
	for i, a := range d.attempts {
		all[i] = retry.Attempt{
			Number: a.Number, Started: moment(a.StartedAt), Ended: moment(a.EndedAt),
			Outcome: outcomeOf(a.Outcome), Rule: a.Rule, Status: a.Status, Code: a.ErrorCode,
			RequestID: a.RequestID, Replayed: a.Replayed, Bytes: a.ResponseBytes,
			Absent: outcomeOf(a.Outcome) == retry.Unknown && !a.Unresolved, // also one that never ended
		}
	}
	return all
}

// ServerOffset is the server's clock minus ours, as the last attempt that was
// told it found; known reports whether any was.
func (d *Drive) ServerOffset() (offset time.Duration, known bool) { return serverOffset(d.attempts) }

func serverOffset(attempts []store.Attempt) (offset time.Duration, known bool) {
	for _, a := range attempts {
		if a.ServerOffset != nil {
			offset, known = time.Duration(*a.ServerOffset)*time.Millisecond, true
		}
	}
	return offset, known
}

// outcomeOf reads an outcome by its name; one that is open or of a later version
// is unknown.
func outcomeOf(name string) retry.Outcome {
	for o := retry.Unknown; o <= retry.Conflict; o++ {
		if o.String() == name {
			return o
		}
	}
	return retry.Unknown
}

// Close ends the drive; whoever waits for it goes on. A lease that it still has
// runs out, or is taken up again by this process.
func (d *Drive) Close() {
	if d.closed { // its hold on the operation may be another drive's by now
		return
	}
	d.closed = true
	d.ledger.keeper.drop(d)
	d.leave()
	d.leave = func() {}
}
