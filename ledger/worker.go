package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// WorkerConfig is how a [Worker] works. The zero value works.
type WorkerConfig struct {
	// Concurrency is how many operations are driven at once. Default 8.
	Concurrency int
	// Poll is how often the worker looks for work that nobody told it of: what
	// another process recorded, or what has come due. Default 1 s, at least 10 ms.
	// A look that finds nothing is one read of an index for each open client.
	Poll time.Duration
	// Grace is how long operations under way may go on after the context of Run
	// has ended. Default 30 s. What is not done by then is given back to be taken
	// up again.
	Grace time.Duration
	// Closing is told of operations whose windows close soon, of each once in a run of
	// the worker, which looks for them every minute. It is called on the worker's own
	// goroutine, so it must return soon. Default: they are logged.
	Closing func(ctx context.Context, c Closing)
	// Ahead is how far the worker looks ahead for that.
	Ahead Forecast
	// Log tells of operations that are to be tried again, and of a ledger that
	// cannot be read or written. Default: nothing is logged.
	Log *slog.Logger
}

func (c WorkerConfig) withDefaults() (WorkerConfig, error) {
	if c.Concurrency < 0 || c.Poll < 0 || c.Grace < 0 {
		return c, fmt.Errorf("ledger: NewWorker: a negative value in %+v", c)
	}
	c.Concurrency = cmp.Or(c.Concurrency, 8)
	c.Poll = max(cmp.Or(c.Poll, time.Second), 10*time.Millisecond)
	c.Grace = cmp.Or(c.Grace, 30*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if log := c.Log; c.Closing == nil {
		c.Closing = func(ctx context.Context, c Closing) {
			log.WarnContext(ctx, "worker: the key of an operation is soon forgotten", "operation", c.Operation.ID,
				"until", c.Operation.ResendUntil, "next", c.Operation.Next, "late", c.Late)
		}
	}
	var err error
	c.Ahead, err = c.Ahead.withDefaults()
	return c, err
}

// Worker drives recorded operations until they end.
//
// It takes up what the ledger's clients in this process can send: operations that
// were recorded in a transaction or enqueued, those of them that failed without
// effect and are due again, and those that may be sent again because it is not
// known what came of them. Whatever is to be looked up it looks up, also of direct
// calls, which it never sends. Each is under a lease, so that any number of
// workers in any number of processes share the work, and what a killed process had
// is taken over when its lease has run out. What waits for a person is left alone.
//
// In one lane, such as the updates of one contact, operations are sent in the
// order they were recorded, one after the other; one that rests after a failure
// holds up those behind it. An operation is not sent any more after a newer one of
// its lane was (a direct call may overtake): it ends as superseded.
//
// A server that cannot be reached is asked by one operation at a time, at growing
// pauses of up to a minute. A wait that it asks for is kept by all workers, also
// after a restart, but for no longer than a day: then others ask again, and the
// operation that was told to wait for longer is a person's.
type Worker struct {
	ledger *Ledger
	config WorkerConfig
}

// NewWorker returns a worker. It does nothing before [Worker.Run].
func NewWorker(l *Ledger, c WorkerConfig) (*Worker, error) {
	if l == nil {
		return nil, errors.New("ledger: NewWorker: the ledger is nil")
	}
	c, err := c.withDefaults()
	return &Worker{l, c}, err
}

// Run works until ctx ends. Then it takes nothing new, gives what is under way
// the grace period, and returns nil when all of it has stopped. It fails only
// with [ErrClosed]; a ledger that cannot be read or written for some time, or is in
// doubt ([DoubtError]), is waited for.
func (w *Worker) Run(ctx context.Context) error {
	bell, leave := w.ledger.listen()
	defer leave()
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx)) // outlives ctx by the grace period
	defer stop(nil)
	s := &shift{Worker: w, work: work, ended: make(chan *job, w.config.Concurrency), at: make(map[Place]*condition)}
	defer s.drain(stop)
	poll := time.NewTimer(0)
	defer poll.Stop()
	ahead := time.NewTicker(foresight)
	defer ahead.Stop()
	s.lookBack(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ahead.C:
			s.lookBack(ctx)
			s.foresee(ctx)
			continue
		case <-poll.C:
		case <-bell:
		case j := <-s.ended:
			s.finish(j)
		}
		w.ledger.marker.keepAlive()
		full, err := s.takeUp(ctx)
		inDoubt := errors.Is(err, ErrInDoubt)
		switch {
		case errors.Is(err, ErrClosed):
			return err
		case inDoubt && !s.inDoubt:
			w.config.Log.ErrorContext(ctx, "worker: nothing is sent until somebody vouches for the ledger", "error", err)
		case err != nil && !inDoubt && ctx.Err() == nil:
			w.config.Log.WarnContext(ctx, "worker: the ledger does not answer", "error", err)
		}
		s.inDoubt = inDoubt
		if full { // the next job that ends makes room
			poll.Stop()
			continue
		}
		poll.Reset(w.config.Poll)
	}
}

// errDrained is why a drive ends whose worker has waited long enough.
var errDrained = errors.New("the worker is stopping")

// shift is one Run of a worker. Only its goroutine touches it.
type shift struct {
	*Worker
	work    context.Context // of the drives
	ended   chan *job
	running sync.WaitGroup
	active  int
	at      map[Place]*condition
	turn    int  // which place is served first
	inDoubt bool // the ledger was, at the last look

	told map[string]time.Time // which windows close, by operation
}

// condition is how things are at a place.
type condition struct {
	active   int
	failures int // in a row
	until    time.Time
}

// job is one drive of an operation, or telling of one.
type job struct {
	run      func(context.Context) error
	id       string // of the operation
	drive    *Drive // nil where it is told of
	place    Place
	attempts int // before it
	err      error
}

// takeUp claims and starts as much as there is room for; full tells that there
// may be more.
func (s *shift) takeUp(ctx context.Context) (full bool, err error) {
	for len(s.ended) > 0 {
		s.finish(<-s.ended)
	}
	if err := s.ledger.Doubt(ctx); err != nil { // what it has may have been sent since
		return false, err
	}
	now := time.Now()
	places := s.ledger.places()
	s.turn++
	for i := range places { // in turn, so that a busy one leaves room for the others
		p := places[(i+s.turn)%len(places)]
		c := s.at[p]
		if c == nil {
			c = &condition{}
			s.at[p] = c
		}
		err = errors.Join(err, s.takeNotices(ctx, p, c))
		room := s.config.Concurrency - s.active
		if c.failures > 0 { // one that tries is enough
			room = min(room, 1-c.active)
		}
		if room <= 0 || now.Before(c.until) {
			continue
		}
		drives, failure := s.ledger.claim(ctx, p, room)
		for _, d := range drives {
			run := func(ctx context.Context) error { return s.ledger.driveOn(ctx, d, p) }
			s.start(&job{run: run, id: d.op.ID, drive: d, place: p, attempts: len(d.attempts)}, c)
		}
		err = errors.Join(err, failure)
	}
	return s.active == s.config.Concurrency, err
}

// takeNotices starts to tell of workflows that have succeeded.
func (s *shift) takeNotices(ctx context.Context, p Place, c *condition) error {
	to, ok := s.ledger.executor(p).(teller)
	room := s.config.Concurrency - s.active
	if !ok || !to.tells() || room <= 0 {
		return nil
	}
	notices, err := s.ledger.claimNotices(ctx, p, room)
	for _, n := range notices {
		run := func(ctx context.Context) error { return s.ledger.announce(ctx, n, to) }
		s.start(&job{run: run, id: n.OperationID, place: p}, c)
	}
	return err
}

func (s *shift) start(j *job, c *condition) {
	s.active++
	c.active++
	s.running.Go(func() {
		defer func() { s.ended <- j }() // there is room for each
		j.err = j.run(s.work)
	})
}

// driveOn carries an operation as far as it goes now, and gives it back.
func (l *Ledger) driveOn(ctx context.Context, d *Drive, p Place) error {
	defer d.Close()
	e := l.executor(p)
	if e == nil { // its client was closed since
		return errors.Join(d.yield(ctx, nil), &NoExecutorError{d.op.ID, p})
	}
	err := e.Carry(ctx, d)
	return errors.Join(err, d.despair(err), d.yield(ctx, err))
}

// finish learns from a job that has ended.
func (s *shift) finish(j *job) {
	c := s.at[j.place]
	s.active--
	c.active--
	if j.drive == nil {
		if j.err != nil && s.work.Err() == nil {
			withStack(s.config.Log, j.err).WarnContext(s.work, "worker: the program did not hear of a workflow", "operation", j.id, "error", j.err)
		}
		return
	}
	shows, until := j.drive.showed(j.attempts, j.err)
	switch shows {
	case reachable:
		c.failures = 0
	case unreachable:
		c.failures++
		until = time.Now().Add(min(time.Second<<min(c.failures-1, 6), time.Minute))
	}
	if limit := time.Now().Add(longestPark); until.After(limit) {
		until = limit
	}
	if until.After(c.until) {
		c.until = until
	}
	if j.err != nil && s.work.Err() == nil {
		level := slog.LevelWarn
		if errors.Is(j.err, ErrBlocked) { // it is fine, and waits for another
			level = slog.LevelDebug
		}
		withStack(s.config.Log, j.err).Log(s.work, level, "worker: an operation did not end", "operation", j.id,
			"status", j.drive.op.Status, "next", j.drive.op.NextStep, "not_before", moment(j.drive.op.NotBefore), "error", j.err)
	}
}

// drain waits for what is under way, and ends it when the grace period is over.
func (s *shift) drain(stop context.CancelCauseFunc) {
	limit := time.AfterFunc(s.config.Grace, func() { stop(errDrained) })
	defer limit.Stop()
	s.running.Wait()
}
