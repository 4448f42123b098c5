//go:build unix

package crash_test

import (
	"bufio"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// inHelper is set in the helper processes.
const inHelper = "LEDGER_CRASH_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(inHelper) == "" {
		os.Exit(m.Run())
	}
	help(os.Stdin, os.Stdout)
}

const namespace = "crash"

// order is what the test asks a helper to do.
type order struct {
	ID int    // of the order; the answer has it
	Do string // what follow says; or go, for a call that has paused

	File, URL, APIKey string
	Operation         string // messagesSend, contactsCreate, contactsUpdate, webhooksCreate
	N                 int    // which intent
	Contact           int64
	Version           string // of the intent, where it is not to be that of N

	Callers  int // how many goroutines call; default 1
	KillAt   string
	PauseAt  string
	Still    bool // while it is paused, nothing of the process writes: it is about to be stopped
	FailFrom int
	Refused  bool          // no connection can be made
	ReadOnly bool          // Do record: only tell what is there
	Settle   time.Duration // of a careful client; 0: it trusts keys

	Lease, ServerTime, AttemptTimeout time.Duration // default below
	Timeout                           time.Duration // of the call's context, default none
	Attempts                          int

	Age  time.Duration // Do age: how long ago everything in the file is to have happened
	Span int           // Do load and resume: how many intents from N on are called for

	Deliver bool // Do event: the sender delivers it first

	Lanes lanesOrder // Do line up, work lanes, visit lanes, judge

	Partner partnerOrder // Do provision, tell, topup, pay, decide, shop
}

// report is a helper's answer.
type report struct {
	ID int
	At string // the call has paused here, and goes on when told

	Trace         []string
	Before, After *row // the operation, as the ledger had it
	Called        []outcome
	Err           string // why the order could not be followed
	Done          int    // Do load: calls that were answered; Do record: orders that are saved
	Rows          []*row // Do resume and with lanes: how each intent stands
	Earlier       []*row // with lanes: how they stood before
	Worked        worked // Do event
	Later         bool   // Do work and work lanes: nobody takes it, or one of them, up for hours

	Customer *partner.Provisioning // Do provision
}

// outcome is what a caller got.
type outcome struct {
	ID         int64 // of what was made
	Secret     string
	Err        string
	Outcome    string
	Repeated   bool
	Unrecorded bool // *ledger.UnrecordedError
	Standing   bool // *ledger.StandingError
	Guard      bool // *ledger.GuardError
	NotKept    bool // ledger.ErrResultNotKept
	InProgress bool // ledger.ErrInProgress
	Blocked    bool // ledger.ErrBlocked
	Attempts   int
	Took       time.Duration
}

// row is all that the ledger has of one operation.
type row struct {
	Operation store.Operation
	Attempts  []store.Attempt
	History   []store.Event
	Amount    string // of a credit
}

// help follows orders until the input ends.
func help(in io.Reader, out io.Writer) {
	h := &helping{out: json.NewEncoder(out), paused: make(map[int]chan struct{})}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			panic(err)
		}
		if o.Do == "go" {
			h.goOn(o.ID)
			continue
		}
		h.running.Go(func() {
			r := h.follow(o)
			r.ID = o.ID
			h.say(r)
		})
	}
	// The test has gone. What is paused would wait for ever.
	if len(h.paused) == 0 {
		h.running.Wait()
	}
}

type helping struct {
	running sync.WaitGroup

	mu     sync.Mutex
	out    *json.Encoder
	paused map[int]chan struct{}
}

func (h *helping) say(r report) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.out.Encode(r)
}

func (h *helping) goOn(id int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.paused[id])
	delete(h.paused, id)
}

// served is what a client of the public API follows.
var served = map[string]func(context.Context, *calling) (report, error){
	"call": call, "event": event, "record": record, "work": work, "visit": visit,
	"line up": lineUp, "work lanes": workLanes, "visit lanes": visitLanes, "judge": judge,
}

// resold is what one of the Partner API does.
var resold = map[string]func(context.Context, *reselling) (report, error){
	"provision": provision, "topup": topUp, "rival": rival, "pay": pay, "decide": decide,
}

func (h *helping) follow(o order) report {
	if serve := served[o.Do]; serve != nil {
		return o.serve(h.probe(o), serve)
	}
	if resell := resold[o.Do]; resell != nil {
		return o.resell(h.probe(o), resell)
	}
	switch o.Do {
	case "load":
		return h.load(o)
	case "resume":
		return h.resume(o)
	case "flood":
		return h.flood(o)
	case "drain":
		return o.drain()
	case "tell":
		return h.tell(o)
	case "shop":
		return h.shop(o)
	case "age":
		return report{Err: text(age(o.File, o.Age))}
	}
	return report{Err: "unknown order " + o.Do}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// age makes everything in the ledger have happened earlier, as if the time since
// then had passed.
func age(file string, by time.Duration) (err error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for table, columns := range map[string][]string{
		"ledger_operations": {"first_sent_at_ms", "not_before_ms", "resend_until_ms", "created_at_ms", "updated_at_ms", "locked_until_ms"},
		"ledger_attempts":   {"started_at_ms", "ended_at_ms"},
		"ledger_outbox":     {"not_before_ms"},
	} {
		for _, c := range columns {
			if _, err := db.Exec("UPDATE "+table+" SET "+c+" = "+c+" - ?1 WHERE "+c+" > 0", by.Milliseconds()); err != nil {
				return err
			}
		}
	}
	// The server's clock is moved instead of this machine's: what it was ahead by is
	// told in the times as they now are.
	_, err = db.Exec("UPDATE ledger_attempts SET server_offset_ms = server_offset_ms + ?1", by.Milliseconds())
	return err
}

// patience is how long something may take that has to come: on a machine with
// other work to do, seconds say nothing.
const patience = 3 * time.Minute

// The client's times, short enough for a test and longer than anything that the
// sandbox does.
const (
	lease          = time.Second // the shortest there is
	serverTime     = 100 * time.Millisecond
	attemptTimeout = 10 * time.Second
	settle         = 100 * time.Millisecond
)

// open makes a client on a ledger, both probed.
func (o order) open(ctx context.Context, p *probe, more ...ledger.Option) (c *botix.Client, led *ledger.Ledger, s store.Store, err error) {
	s, err = sqlite.OpenStore(ctx, o.File)
	if err != nil {
		return nil, nil, nil, err
	}
	led, err = ledger.New(&probedStore{s, p, o.FailFrom}, append(more, ledger.Namespace(namespace), ledger.LeaseFor(cmp.Or(o.Lease, lease)))...)
	if err != nil {
		return nil, nil, nil, err
	}
	attempts := cmp.Or(o.Attempts, 3)
	// What stands at a look is looked up carefully by whoever takes it up.
	mode := []botix.Option{botix.WithSettle(cmp.Or(o.Settle, settle))}
	if o.Settle > 0 {
		mode = append(mode, botix.WithCareful())
	}
	c, err = botix.New(o.APIKey, append(mode,
		botix.WithBaseURL(o.URL), botix.WithLedger(led),
		botix.WithHTTPClient(&http.Client{Transport: newTransport(p, o.Refused)}), botix.WithHooks(p.hooks()),
		botix.WithAttemptTimeout(cmp.Or(o.AttemptTimeout, attemptTimeout)), botix.WithServerTime(cmp.Or(o.ServerTime, serverTime)),
		botix.WithTimeout(0), botix.WithRetryBudget(nil),
		botix.WithRetry(retry.Policy{MaxAttempts: attempts, MaxUnsent: attempts, Base: 5 * time.Millisecond, Cap: 30 * time.Second}),
	)...)
	if err != nil {
		return nil, nil, nil, errors.Join(err, led.Close())
	}
	return c, led, s, nil
}

// probe sees what an order has happen, and pauses or ends it there.
func (h *helping) probe(o order) *probe {
	p := &probe{killAt: o.KillAt, pauseAt: o.PauseAt}
	p.pause = func(point string) {
		if o.Still {
			p.keeping.Lock()
			defer p.keeping.Unlock()
		}
		told := make(chan struct{})
		h.mu.Lock()
		h.paused[o.ID] = told
		h.mu.Unlock()
		h.say(report{ID: o.ID, At: point})
		<-told
	}
	return p
}

// calling is an order with what it is followed by.
type calling struct {
	order
	*probe
	client *botix.Client
	led    *ledger.Ledger
	store  store.Store
}

// serve makes a client, has an order followed with it, and closes it.
func (o order) serve(p *probe, follow func(context.Context, *calling) (report, error), more ...ledger.Option) report {
	ctx := context.Background()
	c, led, s, err := o.open(ctx, p, more...)
	if err != nil {
		return report{Err: err.Error()}
	}
	r, err := follow(ctx, &calling{o, p, c, led, s})
	r.Trace = p.trace()
	c.Close()
	r.Err = text(errors.Join(err, led.Close()))
	return r
}

// row is how the operation of the order's intent stands; nil when there is none.
func (s *calling) row(ctx context.Context) (*row, error) { return s.order.row(ctx, s.store) }

// call makes one call, or the same from many goroutines, and tells how the
// ledger stood before and after it.
func call(ctx context.Context, s *calling) (r report, err error) {
	if r.Before, err = s.row(ctx); err != nil {
		return r, err
	}
	s.at("opened")
	r.Called = make([]outcome, max(s.Callers, 1))
	var wg sync.WaitGroup
	for i := range r.Called {
		wg.Go(func() { r.Called[i] = s.perform(ctx, s.client) })
	}
	wg.Wait()
	s.at("returned")
	r.After, err = s.row(ctx)
	return r, err
}

// row reads the operation of the order's intent; nil when there is none.
func (o order) row(ctx context.Context, s store.Store) (*row, error) {
	var r row
	i := o.intent()
	err := s.Read(ctx, func(tx store.Tx) error {
		op, err := tx.ByIntent(ctx, store.Intent{Namespace: namespace, Customer: i.Customer, Action: i.Action, Version: i.Version})
		if err != nil {
			return err
		}
		r.Operation = *op
		if r.Attempts, err = tx.Attempts(ctx, op.ID); err != nil {
			return err
		}
		r.History, err = tx.History(ctx, op.ID)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &r, nil
}

func (o order) intent() ledger.Intent {
	return ledger.Intent{Customer: "shop-customer-7", Action: o.Operation, Version: cmp.Or(o.Version, "order-"+strconv.Itoa(o.N))}
}

// perform makes the call and takes apart what came of it.
func (o order) perform(ctx context.Context, c *botix.Client) outcome {
	if o.Timeout > 0 {
		// Not the client's own time-out: the keeper is told by its deadlines.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	var info botix.Info
	var r outcome
	var err error
	began := time.Now()
	r.ID, r.Secret, err = o.send(ctx, c, botix.WithIntent(o.intent()), botix.WithInfo(&info))
	r.Took = time.Since(began)
	r.Err, r.Outcome = text(err), retry.OutcomeOf(err).String()
	r.Repeated, r.Attempts = info.Repeated, len(info.Attempts)
	_, r.Unrecorded = errors.AsType[*ledger.UnrecordedError](err)
	_, r.Standing = errors.AsType[*ledger.StandingError](err)
	r.NotKept, r.InProgress = errors.Is(err, ledger.ErrResultNotKept), errors.Is(err, ledger.ErrInProgress)
	return r
}

// send makes the request of the order's intent. What it makes is known by the
// intent's number.
func (o order) send(ctx context.Context, c *botix.Client, opts ...botix.CallOption) (id int64, secret string, err error) {
	what := o.mark()
	switch o.Operation {
	case "messagesSend":
		m, err := c.Messages.Send(ctx, botix.SendMessage{ContactID: botix.ContactID(o.Contact), Content: what}, opts...)
		if m == nil {
			return 0, "", err
		}
		return int64(m.ID), "", err
	case "contactsCreate":
		m, err := c.Contacts.Create(ctx, botix.CreateContact{FirstName: what, Email: what + "@example.com"}, opts...)
		if m == nil {
			return 0, "", err
		}
		return int64(m.ID), "", err
	case "contactsUpdate":
		m, err := c.Contacts.Update(ctx, botix.ContactID(o.Contact), botix.ContactUpdate{City: botix.Set(what)}, opts...)
		if m == nil {
			return 0, "", err
		}
		return int64(m.ID), "", err
	case addsTag:
		_, err = c.Contacts.AddTag(ctx, botix.ContactID(o.Contact), laneTag, opts...)
		return 0, "", err
	case removesTag:
		_, err = c.Contacts.RemoveTag(ctx, botix.ContactID(o.Contact), laneTag, opts...)
		return 0, "", err
	case "webhooksCreate":
		m, err := c.Webhooks.Create(ctx, botix.CreateWebhook{
			URL: "https://shop.example/" + what, Events: []botix.WebhookEvent{botix.EventChatAssigned},
		}, opts...)
		if m == nil {
			return 0, "", err
		}
		return int64(m.Webhook.ID), m.Secret.Reveal(), err
	}
	return 0, "", fmt.Errorf("unknown operation %q", o.Operation)
}

func (o order) mark() string { return fmt.Sprintf("%s-%d", o.Operation, o.N) }

// mixture is what a load calls for: intent n is of operation mixture[n%len].
var mixture = []string{
	"messagesSend", "contactsCreate", "messagesSend", "contactsUpdate",
	"messagesSend", "webhooksCreate", "messagesSend", "contactsCreate",
}

// lasting is the operation that the soak's server takes longer for than a lease.
const lasting = "contactsCreate"

// load makes calls from eight goroutines, until told to stop: of intents that
// the other processes call for as well. Whatever is an error tells about it at
// once, as the process may be killed at any moment.
func (h *helping) load(o order) report {
	ctx := context.Background()
	c, led, _, err := o.open(ctx, &probe{}, ledger.FailInProgress())
	if err != nil {
		return report{Err: "opening: " + err.Error()}
	}
	stop := make(chan struct{})
	h.mu.Lock()
	h.paused[o.ID] = stop
	h.mu.Unlock()
	h.say(report{ID: o.ID, At: "loading"})
	var done sync.WaitGroup
	var answered [8]int
	for g := range answered {
		done.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				call := o
				call.N = o.N + rand.IntN(o.Span)
				if o.Operation == "" {
					call.Operation = mixture[call.N%len(mixture)]
				}
				if o.Callers > 0 { // the soak: three of four are this goroutine's own
					call.N = o.N + i/4
					if i%4 != 3 {
						call.N = o.N + 1_000_000*(1+o.Callers*8+g) + i
					}
				}
				r := call.perform(ctx, c)
				if r.Err != "" && !r.InProgress && !r.Standing && !r.NotKept {
					h.say(report{ID: -1, Err: fmt.Sprintf("intent %d of %s: %s (%s)", call.N, call.Operation, r.Err, r.Outcome)})
				}
				if r.Err == "" {
					answered[g]++
				}
			}
		})
	}
	if o.Callers > 0 { // and one whose calls outlast their leases, so that these are renewed
		done.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				call := o
				call.Operation, call.N = lasting, o.Callers*1_000_000+i
				if r := call.perform(ctx, c); r.Err != "" {
					h.say(report{ID: -1, Err: "a call that lasts: " + r.Err})
				}
			}
		})
	}
	done.Wait()
	r := report{}
	for _, n := range answered {
		r.Done += n
	}
	c.Close()
	r.Err = text(led.Close())
	return r
}

// resume calls for each of many intents once, from 32 goroutines.
func (h *helping) resume(o order) (r report) {
	ctx := context.Background()
	c, led, s, err := o.open(ctx, &probe{})
	if err != nil {
		return report{Err: err.Error()}
	}
	r.Rows, r.Called = make([]*row, o.Span), make([]outcome, o.Span)
	next := make(chan int)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for i := range next {
				call := o
				call.N += i
				call.Operation = mixture[call.N%len(mixture)]
				r.Called[i] = call.perform(ctx, c)
			}
		})
	}
	for i := range o.Span {
		next <- i
	}
	close(next)
	wg.Wait()
	for i := range r.Rows {
		call := o
		call.N += i
		call.Operation = mixture[call.N%len(mixture)]
		if r.Rows[i], err = call.row(ctx, s); err != nil {
			return report{Err: err.Error()}
		}
	}
	c.Close()
	r.Err = text(led.Close())
	return r
}
