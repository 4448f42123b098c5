package ledger

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

// InboxWork says how the events of an inbox are worked. Only Handle is required.
type InboxWork struct {
	Handle EventHandler

	// Concurrency is how many events are worked at once. Default 16.
	Concurrency int
	// Retry spaces the tries of an event; after MaxAttempts it has failed and
	// waits for a person. A try that the end of the process cut off counts. Zero
	// fields: 5 tries, pauses from 1 s that double up to 10 min.
	Retry retry.Policy
	// Poll is how often the inbox is asked for events that other processes
	// received, and for those whose pause is over. Default 1 s.
	Poll time.Duration
	// Grace is for how long handlers may go on after the worker was told to stop,
	// before their contexts end. Default 10 s.
	Grace time.Duration
	// Log is told of tries that failed, without payloads. Default: nobody is.
	Log *slog.Logger
}

func (w InboxWork) withDefaults() (InboxWork, error) {
	w.Concurrency = cmp.Or(w.Concurrency, 16)
	w.Poll, w.Grace = cmp.Or(w.Poll, time.Second), cmp.Or(w.Grace, 10*time.Second)
	w.Retry.Cap = cmp.Or(w.Retry.Cap, 10*time.Minute)
	w.Retry.Base = cmp.Or(w.Retry.Base, min(time.Second, w.Retry.Cap))
	w.Retry = w.Retry.WithDefaults()
	if w.Log == nil {
		w.Log = slog.New(slog.DiscardHandler)
	}
	switch {
	case w.Handle == nil:
		return w, errors.New("inbox: a worker needs a handler")
	case w.Concurrency < 0, w.Poll < 0, w.Grace < 0:
		return w, errors.New("inbox: a worker's Concurrency, Poll or Grace is negative")
	}
	return w, w.Retry.Validate()
}

// purgeEvery is how often a worker lets go of what was kept for long enough.
const purgeEvery = time.Hour

// Work works events until ctx ends, and then returns nil when all handlers have:
// nothing new is begun, and what has not ended within the grace period is given
// back. Events of one lane are worked one at a time in the order received; one
// that fails holds up its lane until it is given up, and nothing else. An event
// that a process was working on when it ended, and that had been tried before, is
// tried again alone, with nothing beside it: one that ends the process is given up
// in the end, and takes no other with it.
//
// Several workers may run, in one process or in many. Work fails when the ledger
// is closed; while the database cannot be used otherwise, it goes on trying.
func (b *Inbox) Work(ctx context.Context, w InboxWork) error {
	w, err := w.withDefaults()
	if err != nil {
		return err
	}
	handling, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &inboxRun{inbox: b, work: w, handling: handling, ended: make(chan struct{}, 1)}
	defer func() {
		grace := time.AfterFunc(w.Grace, func() { cut(errStopping) })
		r.running.Wait()
		grace.Stop()
		cut(nil)
	}()
	return r.loop(ctx)
}

var errStopping = errors.New("the worker is being stopped")

// inboxRun is one call of Work.
type inboxRun struct {
	inbox    *Inbox
	work     InboxWork
	handling context.Context // of handlers
	running  sync.WaitGroup
	ended    chan struct{} // holds a token when a handler has ended
	purgeAt  int64

	mu    sync.Mutex
	busy  int  // how many events are worked now
	alone bool // the one that is must have none beside it
}

func (r *inboxRun) loop(ctx context.Context) error {
	poll := time.NewTicker(r.work.Poll)
	defer poll.Stop()
	for ctx.Err() == nil {
		r.purge(ctx)
		more, err := r.claim(ctx)
		switch {
		case errors.Is(err, ErrClosed):
			return err
		case err != nil && ctx.Err() == nil:
			r.work.Log.Warn("inbox: no events can be taken", "error", err)
		case err == nil && more:
			continue
		}
		select {
		case <-ctx.Done():
		case <-r.inbox.wake:
		case <-r.ended:
		case <-poll.C:
		}
	}
	return nil
}

// purge lets go of what was kept for long enough, once in a while.
func (r *inboxRun) purge(ctx context.Context) {
	now := r.inbox.ledger.store.Now()
	if now < r.purgeAt {
		return
	}
	r.purgeAt = now + purgeEvery.Milliseconds()
	if _, err := r.inbox.Purge(ctx); err != nil && ctx.Err() == nil {
		r.work.Log.Warn("inbox: old events cannot be removed", "error", err)
	}
}

// begin works an event that is under this run's lease.
func (r *inboxRun) begin(row store.Received, alone bool) {
	r.mu.Lock()
	r.busy++
	r.alone = alone
	r.mu.Unlock()
	r.running.Go(func() {
		ctx, cancel := context.WithCancelCause(r.handling)
		keeping, stop := context.WithCancel(context.WithoutCancel(ctx)) // also while a handler takes its time to end
		var keeper sync.WaitGroup
		keeper.Go(func() { r.keep(keeping, row, cancel) })
		err := r.try(ctx, row)
		stop()
		keeper.Wait()
		cancel(nil)
		if err != nil {
			r.work.Log.Warn("inbox: what became of a try cannot be recorded", "event", row.Seq, "try", row.Tries, "error", err)
		}
		r.mu.Lock()
		r.busy--
		r.alone = false
		r.mu.Unlock()
		select {
		case r.ended <- struct{}{}:
		default:
		}
	})
}

// try has the handler work an event, and records what came of it. No context ends
// the recording.
func (r *inboxRun) try(ctx context.Context, row store.Received) error {
	always := context.Background()
	stopping := func() bool { return errors.Is(context.Cause(ctx), errStopping) }
	h, err := r.inbox.handling(ctx, row)
	if err == nil {
		err = guarded(func() error { return r.work.Handle(ctx, h) })
	}
	if err != nil {
		return r.failed(always, row, err, stopping())
	}
	if h.lent {
		err = r.checkLent(always, row)
	} else {
		err = r.inbox.ledger.store.Write(always, func(tx store.Tx) error { return h.complete(always, tx) })
	}
	switch {
	case err == nil:
		if len(h.drives) > 0 {
			r.inbox.ledger.Notify() // there may be operations to drive
		}
		return nil
	case errors.Is(err, ErrLeaseLost): // then another works it
		return err
	}
	return r.failed(always, row, err, stopping())
}

// checkLent fails when the transaction that marked the event as handled was not
// committed.
func (r *inboxRun) checkLent(ctx context.Context, row store.Received) error {
	return r.inbox.ledger.store.Read(ctx, func(tx store.Tx) error {
		now, err := tx.Received(ctx, row.Seq)
		if err == nil && now.Lease.Token == row.Lease.Token {
			err = errors.New("the handler did not commit the transaction that it completed the event in")
		}
		return err
	})
}

// failed records a try that failed. One that was cut off by the end of the worker
// is none.
func (r *inboxRun) failed(ctx context.Context, row store.Received, failure error, stopping bool) error {
	now := r.inbox.ledger.store.Now()
	why := errorText(failure)
	if stopping {
		row.Tries, row.NotBefore = row.Tries-1, now
		return r.inbox.ledger.store.Write(ctx, func(tx store.Tx) error {
			return tx.UpdateReceived(ctx, &row, released(row.Lease))
		})
	}
	log := withStack(r.work.Log, failure).With("event", row.Seq, "type", row.Type, "try", row.Tries, "error", why)
	if row.Tries >= r.work.Retry.MaxAttempts || hopeless(failure) {
		log.Error("inbox: an event was given up and waits for a person")
		return r.inbox.ledger.store.Write(ctx, func(tx store.Tx) error { return r.fail(ctx, tx, row, why) })
	}
	pause := pauseAfter(r.work.Retry, row.Tries)
	log.Warn("inbox: an event could not be worked", "pause", pause)
	row.NotBefore, row.LastError = now+max(pause.Milliseconds(), 1), why
	return r.inbox.ledger.store.Write(ctx, func(tx store.Tx) error {
		if err := tx.UpdateReceived(ctx, &row, released(row.Lease)); err != nil {
			return err
		}
		return tx.AppendReceived(ctx, &store.ReceivedChange{
			Seq: row.Seq, At: now, From: row.Status, To: row.Status, What: "failed", Try: row.Tries, Why: why,
		})
	})
}

// hopeless reports whether no further try can help.
func hopeless(err error) bool {
	return errors.Is(err, ErrPoison) || errors.Is(err, ErrMismatch) || errors.Is(err, ErrIntent)
}

// pauseAfter is the pause after the n-th try of an event.
func pauseAfter(p retry.Policy, n int) time.Duration {
	p.MaxAttempts = n + 1
	pauses := p.NewBackOff()
	pause := pauses.NextBackOff()
	for range n - 1 {
		pause = pauses.NextBackOff()
	}
	return pause
}

// handling is what the handler gets.
func (b *Inbox) handling(ctx context.Context, row store.Received) (*Handling, error) {
	event, err := inboxEvent(&row)
	h := &Handling{InboxEvent: event, inbox: b, row: row}
	if err != nil {
		return h, err
	}
	if h.Payload, err = b.open(row.Payload, row.Sealed, row.Delivery); err != nil {
		return h, err
	}
	err = b.ledger.store.Read(ctx, func(tx store.Tx) (err error) {
		h.Operations, err = tx.LinkedOperations(ctx, row.Seq)
		return err
	})
	return h, err
}
