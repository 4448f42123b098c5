package partner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/ledger"
)

// Report is what [Client.Reconcile] found out about an operation.
type Report struct {
	Operation *ledger.Operation // as it stands now
	// Verdict is what was recorded; "" where nothing was to be found out, or nothing
	// new was.
	Verdict ledger.VerdictKind
	Why     string // in a sentence
	// Candidates are the objects that are its, or may be: one that fits in everything
	// where it is found, and all that leave it open where it is not.
	Candidates []Candidate
	Looks      []ledger.Look // what was read for it, in order
	Advice     ledger.Advice // what is safe to do now, and what is not
	Steps      []*Report     // of a workflow: those of its operations that may have had their effect
}

// Candidate is an object at the server that may be an operation's effect.
type Candidate struct {
	Kind, ID string
	But      string // what does not fit; "" for nothing
}

// String prints the report for a person.
func (r *Report) String() string {
	var b strings.Builder
	op := r.Operation
	fmt.Fprintf(&b, "operation %s (%s) stands at %s", op.ID, cmp.Or(op.Intent.Action, op.Method+" "+op.Path), op.Status)
	if op.Next != ledger.NextNone {
		fmt.Fprintf(&b, ", next: %s", op.Next)
	}
	fmt.Fprintf(&b, "\n  found    %s\n", r.Why)
	if r.Verdict != "" {
		fmt.Fprintf(&b, "  verdict  %s\n", r.Verdict)
	}
	for _, c := range r.Candidates {
		fmt.Fprintf(&b, "  object   %s %s", c.Kind, c.ID)
		if c.But != "" {
			fmt.Fprintf(&b, ": %s", c.But)
		}
		b.WriteByte('\n')
	}
	for _, look := range r.Looks {
		fmt.Fprintf(&b, "  saw      %s\n", look)
	}
	b.WriteString(r.Advice.String())
	for _, step := range r.Steps {
		b.WriteString(step.String())
	}
	return b.String()
}

// reconciler signs the verdicts of [Client.Reconcile].
const reconciler = "partner.Client.Reconcile"

// Reconcile finds out what became of an operation, by asking and not by doing: the
// ledger first, then the audit log by the ids of the operation's requests, then the
// lists that would have its effect. Meanwhile it holds the operation, so that nobody
// sends it. Then it records a verdict with all that was read, and says what is safe
// now; it sends nothing.
//
//   - The effect is there, and no other operation's: the operation has succeeded.
//   - It is not there, and lists have had the time to show it: the operation may be
//     sent under its key while the server remembers that; afterwards it is held until
//     somebody approves a new one.
//   - Neither is certain: nothing is taken for true. A repeat under the key tells, or,
//     when that may be forgotten, a person does ([ledger.Ledger.Decide]).
//
// To be certain of an absence it may wait for twice as long as lists may lag
// ([botix.WithSettle]); what ctx does not allow it fails with a *[retry.WaitError].
// Of a workflow it reconciles the operations that may have had their effect.
//
// It fails with [ledger.ErrNotFound]; with a *[ledger.GuardError] when the operation
// is another API's or server's; with [ledger.ErrInProgress] while somebody drives it,
// if the ledger does not wait; and with the errors of its reads, of which nothing is
// recorded.
//
// [retry.WaitError]: https://pkg.go.dev/github.com/botix-pro/sdk-go/retry#WaitError
// [botix.WithSettle]: https://pkg.go.dev/github.com/botix-pro/sdk-go/botix#WithSettle
func (c *Client) Reconcile(ctx context.Context, operationID string) (*Report, error) {
	led := c.engine.Ledger
	if led == nil {
		return nil, errNoLedger
	}
	op, err := led.Operation(ctx, operationID)
	if err != nil {
		return nil, err
	}
	r := &Report{Operation: op, Why: "nothing was to be found out"}
	switch {
	case op.Kind == ledger.KindWorkflow:
		if err := c.reconcileSteps(ctx, r); err != nil {
			return nil, err
		}
	case c.elsewhere(op) != "":
		return nil, &ledger.GuardError{OperationID: op.ID, Why: c.elsewhere(op)}
	case op.PossiblySent:
		r.Operation, err = led.Reconcile(ctx, op.ID, func(ctx context.Context, op *ledger.Operation) (ledger.Verdict, ledger.Decision, error) {
			if !op.PossiblySent { // somebody was faster
				return ledger.Verdict{}, ledger.Decision{}, nil
			}
			return c.investigate(ctx, op, r)
		})
		if err != nil {
			return nil, err
		}
	}
	story, err := led.Story(ctx, op.ID)
	if err != nil {
		return nil, err
	}
	r.Advice = story.Advice
	return r, nil
}

// elsewhere says why the client's server can tell nothing of an operation, "" where
// it can.
func (c *Client) elsewhere(op *ledger.Operation) string {
	if op.API != c.engine.API || op.Origin != c.engine.HTTP.Origin() {
		return "it is not this client's: it was begun at " + op.API + " " + op.Origin
	}
	return ""
}

// reconcileSteps reconciles the operations of a workflow.
func (c *Client) reconcileSteps(ctx context.Context, r *Report) error {
	var ids []string
	for step, err := range c.engine.Ledger.All(ctx, ledger.Filter{ParentID: r.Operation.ID}) {
		if err != nil {
			return err
		}
		if step.PossiblySent && !step.Status.Final() {
			ids = append(ids, step.ID)
		}
	}
	for _, id := range slices.Backward(ids) { // in the order begun
		step, err := c.Reconcile(ctx, id)
		if err != nil {
			return err
		}
		r.Steps = append(r.Steps, step)
	}
	if len(r.Steps) == 0 {
		return nil
	}
	r.Why = fmt.Sprintf("%d of its operations may have had their effect", len(r.Steps))
	op, err := c.engine.Ledger.Operation(ctx, r.Operation.ID)
	r.Operation = op
	return err
}

// investigate asks the server, and comes to a verdict.
func (c *Client) investigate(ctx context.Context, op *ledger.Operation, r *Report) (ledger.Verdict, ledger.Decision, error) {
	found, ep, err := c.evidence(ctx, op)
	if err != nil {
		return ledger.Verdict{}, ledger.Decision{}, err
	}
	v, err := c.verdict(ctx, op, ep, found)
	if err != nil {
		return ledger.Verdict{}, ledger.Decision{}, err
	}
	r.Why, r.Verdict, r.Looks = found.why, v.Kind, found.read
	for _, s := range found.all() {
		r.Candidates = append(r.Candidates, Candidate{s.target.Kind, s.target.ID, s.but})
	}
	told := op.ErrorCode == ledger.CodeSecretLost && v.Kind == ledger.VerdictSecretLost
	if told || v.Kind == ledger.VerdictUnclear {
		known, err := c.knownBefore(ctx, op, found.read)
		if known || err != nil {
			r.Verdict = ""
			return ledger.Verdict{}, ledger.Decision{}, err
		}
	}
	return v, ledger.Decision{Who: reconciler, Why: call.Line(found.why)}, nil
}

// evidence is what the server has to say about an operation.
func (c *Client) evidence(ctx context.Context, op *ledger.Operation) (*seen, *endpoint, error) {
	q, err := c.engine.Ledger.Inquire(ctx, op.ID)
	if err != nil {
		return nil, nil, err
	}
	ep := c.endpointOf(op)
	if ep == nil {
		return nil, nil, &ledger.GuardError{OperationID: op.ID, Why: "its request is none of the contract's: " + op.Method + " " + op.Path}
	}
	in := &input{c: c, ep: ep, ids: ep.idsIn(op.Path)}
	unread := &seen{lookout: &lookout{}, sighting: call.Ambiguous, why: "its request was not kept, so its effect cannot be told from others"}
	body, err := c.engine.Ledger.Body(ctx, op, ep.Significance)
	switch {
	case errors.Is(err, ledger.ErrBodyNotKept):
		return unread, ep, nil
	case err != nil:
		return nil, nil, err
	}
	in.body = json.RawMessage(c.names.stored(body, ep.takes))
	ep.revive(in) // makes the request of its bytes again
	s, err := c.searchFor(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	logged, err := in.logged(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	found, err := in.lookUp(ctx, s)
	if errors.Is(err, errUnreadableRequest) {
		unread.why = err.Error()
		return unread, ep, nil
	}
	if err != nil {
		return nil, nil, err
	}
	found.read = append(logged.read, found.read...)
	found.prove(logged)
	if found.sighting == call.Absent && op.Credential != c.engine.Credential {
		found.sighting, found.why = call.Ambiguous, "it was sent under another partner key, whose account may be another: what is not here may be there"
	}
	return found, ep, nil
}

// endpointOf is the row of a recorded operation; nil where the contract has none.
func (c *Client) endpointOf(op *ledger.Operation) *endpoint {
	for i := range operations {
		if ep := c.rows[operations[i].name]; ep.find != nil && ep.Matches(op.Method, op.Path) {
			return ep
		}
	}
	return nil
}

// searchFor is what a look goes by.
func (c *Client) searchFor(ctx context.Context, q *ledger.Inquiry) (call.Search, error) {
	s := call.Search{ID: q.Operation.ID}
	for i := range q.Attempts {
		a := &q.Attempts[i]
		s.After(a, c.engine.ServerTime)
		if s.First.Local.IsZero() && a.Outcome.PossiblySent() && !a.Absent {
			s.First = call.Send{Local: a.Started, Recorded: q.Operation.UpdatedAt}
		}
	}
	if q.ServerOffset != nil {
		s.First.Date, s.First.Received = s.First.Local.Add(*q.ServerOffset), s.First.Local
	}
	if err := c.engine.Date(ctx, &s.First); err != nil {
		return s, err
	}
	return s, s.Remember(ctx, q)
}

// logged asks the audit log for the operation's requests, as far as their ids are
// known: an event by one of them leaves no doubt.
func (in *input) logged(ctx context.Context, q *ledger.Inquiry) (*lookout, error) {
	l, ep := &lookout{see: in.c.reads()}, in.ep
	for i := range q.Attempts {
		a := &q.Attempts[i]
		if a.RequestID == "" || !a.Outcome.PossiblySent() {
			continue
		}
		list := ListAuditEvents{WholeAccount: true, RequestID: a.RequestID, Limit: maxPageSize}
		err := survey(l, "audit events of request "+a.RequestID, l.see.audit.All(ctx, list, l.as()...), func(e *AuditEvent) call.Fit {
			if e.Action != ep.audit || !in.owns(e) {
				return call.FitsNot
			}
			l.sure = append(l.sure, sighted{target: ledger.Target{Kind: e.TargetType, ID: e.TargetID, Made: ep.creates}})
			return call.Fits
		})
		if err != nil {
			return nil, err
		}
	}
	return l, nil
}

// prove heeds what the audit log has of the operation's own requests: of several
// objects it tells which one it is, and one that no list shows is there.
func (s *seen) prove(logged *lookout) {
	if len(logged.sure) == 0 {
		return
	}
	told := logged.sure[0]
	for _, c := range s.all() {
		if c.target.ID == told.target.ID {
			told.data, told.target = c.data, c.target
		}
	}
	s.sure, s.perhaps = []sighted{told}, nil
	s.sighting, s.why = call.Found, "the audit log has it, by the id of its request"
}

// verdict is what follows from what was seen.
func (c *Client) verdict(ctx context.Context, op *ledger.Operation, ep *endpoint, found *seen) (v ledger.Verdict, err error) {
	v = ledger.Verdict{Kind: ledger.VerdictUnclear, Evidence: found.read}
	closed := !op.ResendUntil.IsZero() && !time.Now().Before(op.ResendUntil)
	switch {
	case found.sighting == call.Found && ep.Secret:
		v.Kind, found.why, err = c.afterSecret(ctx, op, closed)
	case found.sighting == call.Found:
		v.Kind = ledger.VerdictHappened
		if found.sure[0].data != nil {
			v.Result = c.names.render(found.sure[0].data, ep.gives)
		}
	case found.sighting != call.Absent:
	case closed:
		v.Kind = ledger.VerdictAbsent
	default:
		v.Kind = ledger.VerdictResend
	}
	if v.Kind == ledger.VerdictHappened || v.Kind == ledger.VerdictSecretLost {
		v.Target = found.sure[0].target
	}
	if op.Status.Final() && v.Kind != ledger.VerdictHappened {
		return ledger.Verdict{}, err // it was given up, and nothing speaks against that
	}
	return v, err
}

// afterSecret is the verdict on a key that was made, whose secret no look shows, and
// why: an attempt that was cut off may have put it into the store, and a repeat while
// the key of the request counts may bring it.
func (c *Client) afterSecret(ctx context.Context, op *ledger.Operation, closed bool) (ledger.VerdictKind, string, error) {
	const made = "the key was made, and "
	if c.engine.Vault == nil {
		return ledger.VerdictUnclear, made + "the client has no store that tells whether anybody has its secret", nil
	}
	kept, err := c.engine.Kept(ctx, op.ID)
	repeats := !closed && (op.Next == ledger.NextNone || op.Next == ledger.NextResend)
	switch {
	case err != nil:
		return "", "", err
	case kept:
		return ledger.VerdictHappened, made + "the store has its secret", nil
	case repeats:
		return ledger.VerdictUnclear, made + "the store has not its secret: a repeat may bring it", nil
	}
	return ledger.VerdictSecretLost, made + "nobody has its secret", nil
}

// knownBefore reports whether the same was read the last time, and nothing has come
// of it: it is kept once.
func (c *Client) knownBefore(ctx context.Context, op *ledger.Operation, looks []ledger.Look) (bool, error) {
	story, err := c.engine.Ledger.Story(ctx, op.ID)
	if err != nil || len(story.Events) == 0 {
		return false, err
	}
	last := story.Events[len(story.Events)-1]
	return len(looks) > 0 && slices.EqualFunc(last.Evidence, looks, func(a, b ledger.Look) bool {
		return a.What == b.What && a.SHA256 == b.SHA256
	}), nil
}
