package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Story is all that the ledger has of one operation, in the order in which it
// happened, and what may be done about it now. It holds no body, result or key of
// the API: its String can be handed to whoever is asked for help, and Redacted to
// people outside.
type Story struct {
	Operation *Operation
	Events    []StoryEvent // the oldest first
	Steps     []*Operation // of a workflow: the newest version of each
	// Closing is when its window closes, and whether it can be sent before that; nil
	// where that does not matter, now or any more.
	Closing *Closing
	Advice  Advice
	At      time.Time // when it was told
}

// StoryEvent is one thing that happened to an operation.
type StoryEvent struct {
	At   time.Time
	What string // "attempt 1 began", "pending → succeeded: ended"
	Who  string // where a person or a named process decided,
	Why  string // and for what reason
	// Evidence is what was read before that.
	Evidence []Look
}

// Story tells what happened to an operation, or fails with [ErrNotFound].
func (l *Ledger) Story(ctx context.Context, id string) (*Story, error) {
	var s *Story
	err := l.store.Read(ctx, func(tx store.Tx) error {
		row, err := l.own(ctx, tx, id)
		if err != nil {
			return err
		}
		attempts, err := tx.Attempts(ctx, id)
		if err != nil {
			return err
		}
		history, err := tx.History(ctx, id)
		if err != nil {
			return err
		}
		children, err := tx.Children(ctx, id)
		if err != nil {
			return err
		}
		steps, err := wholes(ctx, tx, children)
		if err != nil {
			return err
		}
		archives, err := tx.ArchivesOf(ctx, id)
		if err != nil {
			return err
		}
		f := facts{row: row, attempts: attempts, history: history, steps: steps, archives: archives}
		next, err := tx.Successor(ctx, id)
		if err == nil {
			f.successor = next.ID
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		now := l.store.Now()
		if closes(row, now) {
			if f.closing, err = l.closing(ctx, tx, row, now, time.Second); err != nil {
				return err
			}
		}
		op, err := whole(ctx, tx, row)
		if err != nil {
			return err
		}
		f.state = op.State
		if s, err = f.tell(now); err == nil {
			s.Operation = op
		}
		return err
	})
	return s, err
}

// facts are what a story is made of.
type facts struct {
	row       *store.Operation
	attempts  []store.Attempt
	history   []store.Event
	steps     []*Operation
	archives  []store.Archive
	successor string // id of the operation that took its place
	state     State  // of a workflow
	closing   *Closing
}

func (f *facts) tell(now int64) (*Story, error) {
	row, attempts := f.row, f.attempts
	s := &Story{Operation: operation(row), Steps: f.steps, Closing: f.closing, At: moment(now)}
	recorded := "recorded, to be sent by its " + row.Driver
	if row.Kind == string(KindWorkflow) {
		recorded = "begun"
	}
	if row.Supersedes != "" {
		recorded += ", in place of " + row.Supersedes
	}
	if len(f.history) > 0 && f.history[0].What == string(CauseRestored) {
		recorded = "done, as the server shows; the ledger of that time is lost"
	}
	s.add(row.CreatedAt, recorded)
	for i := range attempts {
		a := &attempts[i]
		s.add(a.StartedAt, fmt.Sprintf("attempt %d began", a.Number))
		if a.EndedAt != 0 {
			s.add(a.EndedAt, endOf(a, f.absent(a)))
		}
	}
	for _, e := range f.history {
		what := strings.TrimSpace(fmt.Sprintf("%s → %s: %s", e.From, e.To, e.What))
		if row.Kind == string(KindWorkflow) && e.From == e.To {
			what = e.What // its state
		}
		if e.What == string(CauseReissued) {
			what += " as " + f.successor
			if lostSecret(row) {
				what += fmt.Sprintf(", since it had made %s %s without its secret", row.TargetKind, row.TargetID)
			}
		}
		looks, err := readEvidence(e.Evidence)
		if err != nil {
			return nil, err
		}
		s.Events = append(s.Events, StoryEvent{moment(e.At), what, e.Who, e.Why, looks})
	}
	for i := range f.archives {
		a := &f.archives[i]
		what := fmt.Sprintf("what was known until then is in archive %d: %s, SHA-256 %s", a.Seq, a.File, a.SHA256)
		s.Events = append(s.Events, StoryEvent{At: moment(a.BegunAt), What: what, Who: a.Who, Why: a.Why})
	}
	slices.SortStableFunc(s.Events, func(a, b StoryEvent) int { return a.At.Compare(b.At) })
	s.Advice = advise(circumstancesOf(row, attempts, f.history, f.state, f.successor != "", now))
	return s, nil
}

func (s *Story) add(at int64, what string) {
	s.Events = append(s.Events, StoryEvent{At: moment(at), What: what})
}

// absent reports whether an attempt was shown to have had no effect: not where what it
// made was replaced because its secret was lost.
func (f *facts) absent(a *store.Attempt) bool {
	return !a.Unresolved && f.row.ErrorCode != CodeSecretLost && slices.ContainsFunc(f.history, func(e store.Event) bool {
		return e.At >= a.EndedAt && (e.What == string(CauseAbsent) || e.What == string(CauseReissued))
	})
}

// endOf is how an attempt ended, in words.
func endOf(a *store.Attempt, absent bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "attempt %d: %s", a.Number, a.Outcome)
	if a.Status != 0 {
		fmt.Fprintf(&b, ", answered %d", a.Status)
	} else {
		fmt.Fprintf(&b, ", no answer; %s", a.Evidence)
	}
	if a.ErrorCode != "" {
		b.WriteString(" " + a.ErrorCode)
	}
	if a.Replayed {
		b.WriteString(", the stored answer of an earlier attempt")
	}
	if absent && a.Outcome == "unknown" {
		b.WriteString(", shown to have had no effect")
	}
	fmt.Fprintf(&b, " (%s after %v)", a.Rule, time.Duration(a.Micros)*time.Microsecond)
	if a.RequestID != "" {
		b.WriteString(", request " + a.RequestID)
	}
	return b.String()
}

// String prints the story for a person.
func (s *Story) String() string { return s.text(s.Operation.Intent.Customer) }

// Redacted is String without the customer, for people outside.
func (s *Story) Redacted() string { return s.text("(customer)") }

const storyTime = "2006-01-02 15:04:05.000Z"

func (s *Story) text(customer string) string {
	var b strings.Builder
	op := s.Operation
	fmt.Fprintf(&b, "%s %s\n", op.Kind, op.ID)
	switch i := op.Intent; {
	case i.Version != "":
		fmt.Fprintf(&b, "  intent   %s for %s, %s\n", i.Action, customer, i.Version)
	case i.Action != "": // of an archive
		fmt.Fprintf(&b, "  action   %s\n", i.Action)
	}
	if op.Method != "" {
		fmt.Fprintf(&b, "  request  %s %s%s\n", op.Method, op.Origin, op.Path)
	}
	if amount := op.amount(); amount != "" {
		fmt.Fprintf(&b, "  amount   %s\n", amount)
	}
	if op.Key != "" {
		fmt.Fprintf(&b, "  key      %s\n", s.key(customer))
	}
	for _, e := range s.Events {
		fmt.Fprintf(&b, "%s  %s", e.At.Format(storyTime), e.What)
		if e.Who != "" {
			fmt.Fprintf(&b, ", by %s", e.Who)
		}
		if e.Why != "" {
			fmt.Fprintf(&b, " (%s)", e.Why)
		}
		b.WriteByte('\n')
		for _, look := range e.Evidence {
			fmt.Fprintf(&b, "  saw      %s\n", look)
		}
	}
	for _, step := range s.Steps {
		fmt.Fprintf(&b, "  step     %s: %s %s\n", step.Intent.Action, step.Status, step.ID)
	}
	fmt.Fprintf(&b, "%s  stands at %s", s.At.Format(storyTime), op.Status)
	for _, more := range s.details() {
		b.WriteString(", " + more)
	}
	b.WriteByte('\n')
	if s.Closing != nil {
		fmt.Fprintf(&b, "  window   %s\n", s.Closing.when())
	}
	b.WriteString(s.Advice.String())
	return b.String()
}

// key is the idempotency key as it may be shown beside a customer's name: one that
// was made from the intent has the customer in it, and one of the caller's own may.
func (s *Story) key(customer string) string {
	op := s.Operation
	switch {
	case customer == op.Intent.Customer || op.Intent == (Intent{}):
		return op.Key
	case op.Key == IdempotencyKey(op.Namespace, op.Intent):
		return strings.Join([]string{op.Namespace, op.Intent.Action, customer, op.Intent.Version}, ":")
	}
	return "(the caller's own)"
}

// details are what the advice refers to.
func (s *Story) details() []string {
	var all []string
	op := s.Operation
	if op.State != "" {
		all = append(all, string(op.State))
	}
	if op.Next != NextNone {
		all = append(all, "next: "+string(op.Next))
	}
	if op.PossiblySent {
		all = append(all, "possibly sent")
	}
	if op.TargetID != "" {
		all = append(all, op.TargetKind+" "+op.TargetID)
	}
	if op.ErrorCode != "" {
		all = append(all, "last error "+op.ErrorCode)
	}
	for _, at := range []struct {
		what string
		time time.Time
	}{
		{"not before", op.NotBefore}, {"the key counts until", op.ResendUntil}, {"driven until", op.LockedUntil},
	} {
		if at.time.After(s.At) {
			all = append(all, at.what+" "+at.time.Format(storyTime))
		}
	}
	return all
}
