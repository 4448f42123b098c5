package call

import (
	"context"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// Search is what a look goes by, besides the request.
type Search struct {
	ID    string // of the operation
	First Send
	// Ended is when the last attempt ended, and Done when the server must be done with
	// it, on our clock. Answered: it has answered itself, and so is done already.
	Ended, Done time.Time
	Answered    bool
	// Unseen is when an earlier look since then, of which the ledger tells, did not see
	// the effect either; zero where there was none.
	Unseen time.Time
	Rivals ledger.Rivals // zero without a ledger
	// Old: the first send is so long ago that what is there may belong to another
	// operation of which nobody knows any more. What is not there still tells. A
	// ledger knows for ever.
	Old bool
	// Taken tells which of some objects belong to other operations of the
	// ledger; nil without one.
	Taken func(ctx context.Context, objects []Object) (map[Object]bool, error)
	// Saw is to be told what was read, which is kept with what the look leads to.
	Saw func(...ledger.Look)
}

// After heeds the last attempt.
func (s *Search) After(a *retry.Attempt, serverTime time.Duration) {
	s.Ended, s.Done = a.Ended, a.Ended
	if s.Ended.IsZero() { // it never did
		s.Ended = a.Started
	}
	if done := a.Started.Add(serverTime); s.Done.Before(done) {
		s.Done = done
	}
	s.Answered = failed(a)
}

// knowing is what a ledger knows of an operation that helps a look.
type knowing interface {
	Rivals(context.Context) (ledger.Rivals, error)
	Taken(context.Context, []ledger.Target) ([]bool, error)
	Unseen(ctx context.Context, since time.Time) (time.Time, error)
}

// Remember heeds what the ledger knows of the operation.
func (s *Search) Remember(ctx context.Context, m knowing) (err error) {
	s.Taken = takenBy(m)
	if s.Rivals, err = m.Rivals(ctx); err != nil {
		return err
	}
	s.Unseen, err = m.Unseen(ctx, s.Ended)
	return err
}

// takenBy has a ledger tell which objects belong to other operations of it.
func takenBy(m knowing) func(context.Context, []Object) (map[Object]bool, error) {
	return func(ctx context.Context, objects []Object) (map[Object]bool, error) {
		targets := make([]ledger.Target, len(objects))
		for i, o := range objects {
			targets[i] = o.Target()
		}
		taken, err := m.Taken(ctx, targets)
		theirs := make(map[Object]bool)
		for i, o := range objects {
			theirs[o] = err == nil && taken[i]
		}
		return theirs, err
	}
}

// search is what a look of the run goes by.
func (r *run) search(ctx context.Context) (Search, error) {
	s := Search{ID: r.op.ID, First: r.first, Saw: func(read ...ledger.Look) { r.read = append(r.read, read...) }}
	if a := r.last(); a != nil {
		s.After(a, r.engine.ServerTime)
	}
	if !r.recording() {
		s.Old = time.Since(r.first.Local) > memory
		return s, nil
	}
	if s.First.Date.IsZero() {
		if err := r.askTime(ctx); err != nil {
			return s, err
		}
		r.engine.Clock.date(&s.First)
	}
	return s, s.Remember(ctx, r.drives)
}
