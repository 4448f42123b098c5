//go:build unix

package crash_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/retry"
)

// What helpers do at the partner half. Their points, beside those of a call:
//
//	put N: before, done        a secret into the store
//	probe N, asked N           of the store
//	books: begun, written, committed   the program's own transaction

// partnerOrder is what such an order says besides.
type partnerOrder struct {
	Key      string // the partner key
	Secrets  string // the folder of the store
	Customer string
	Group    string
	Event    string
	// What fails of the store in this process: so many calls.
	Probes, Puts, Asks int
	Clicks             int  // how many call for it at once; default 1
	On                 bool // Do provision: a worker goes on with it
	Workers            int  // Do shop
}

// folder is a store of secrets: a file for each.
type folder struct {
	dir                string
	probe              *probe
	probes, puts, asks atomic.Int64 // that fail
	probed, put, asked atomic.Int64
}

var errFolder = errors.New("staged by the test: the store of secrets does not work")

func (f *folder) Probe(context.Context) error {
	f.probe.at(fmt.Sprintf("probe %d", f.probed.Add(1)))
	if f.probes.Add(-1) >= 0 {
		return errFolder
	}
	return nil
}

func (f *folder) Put(_ context.Context, ref string, secret botix.Secret) error {
	n := f.put.Add(1)
	f.probe.at(fmt.Sprintf("put %d: before", n))
	if f.puts.Add(-1) >= 0 {
		return errFolder
	}
	to := filepath.Join(f.dir, ref)
	part := fmt.Sprintf("%s.%d.%d", to, os.Getpid(), n)
	if err := errors.Join(os.WriteFile(part, []byte(secret.Reveal()), 0o600), os.Rename(part, to)); err != nil {
		return err
	}
	f.probe.at(fmt.Sprintf("put %d: done", n))
	return nil
}

func (f *folder) Has(_ context.Context, ref string) (bool, error) {
	f.probe.at(fmt.Sprintf("asked %d", f.asked.Add(1)))
	if f.asks.Add(-1) >= 0 {
		return false, errFolder
	}
	_, err := os.Stat(filepath.Join(f.dir, ref))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// reseller makes a partner client on a ledger, all of it probed.
func (o order) reseller(ctx context.Context, p *probe, more ...partner.Option) (*partner.Client, *ledger.Ledger, error) {
	s, err := sqlite.OpenStore(ctx, o.File)
	if err != nil {
		return nil, nil, err
	}
	led, err := ledger.New(&probedStore{Store: s, probe: p}, ledger.Namespace(namespace), ledger.LeaseFor(cmp.Or(o.Lease, lease)))
	if err != nil {
		return nil, nil, err
	}
	vault := &folder{dir: o.Partner.Secrets, probe: p}
	vault.probes.Store(int64(o.Partner.Probes))
	vault.puts.Store(int64(o.Partner.Puts))
	vault.asks.Store(int64(o.Partner.Asks))
	attempts := cmp.Or(o.Attempts, 3)
	c, err := partner.New(o.Partner.Key, append([]partner.Option{
		partner.WithBaseURL(o.URL), partner.WithLedger(led), botix.WithSecretStore(vault),
		botix.WithHTTPClient(&http.Client{Transport: newTransport(p, o.Refused)}), botix.WithHooks(p.hooks()),
		botix.WithAttemptTimeout(attemptTimeout), botix.WithServerTime(serverTime), botix.WithSettle(settle),
		botix.WithTimeout(0), botix.WithRetryBudget(nil), botix.WithPace(retry.Pace{Mode: retry.Off}),
		botix.WithRetry(retry.Policy{MaxAttempts: attempts, MaxUnsent: attempts, Base: 5 * time.Millisecond, Cap: 30 * time.Second}),
	}, more...)...)
	if err != nil {
		return nil, nil, errors.Join(err, led.Close())
	}
	return c, led, nil
}

func (o order) customer() partner.Customer {
	return partner.Customer{
		ID: o.Partner.Customer, SignupVersion: "v1", SpendLimit: money.MustParse("100.00"), KeyFunctions: []partner.KeyFunction{"bot", "crm"},
	}
}

// provision makes a customer, and may have a worker go on with it until nobody does
// so by himself.
func (h *helping) provision(o order) (r report) {
	ctx := context.Background()
	p := h.probe(o)
	c, led, err := o.reseller(ctx, p)
	if err != nil {
		return report{Err: err.Error()}
	}
	defer func() {
		c.Close()
		r.Err = text(errors.Join(errorOf(r.Err), led.Close()))
	}()
	p.at("opened")
	r.Called = make([]outcome, max(o.Partner.Clicks, 1))
	ended := make(chan *partner.Provisioning)
	for i := range r.Called {
		go func() {
			made, err := c.Provision(ctx, o.customer())
			r.Called[i] = outcome{Err: text(err), Outcome: retry.OutcomeOf(err).String()}
			ended <- made
		}()
	}
	for range r.Called {
		r.Customer = <-ended
	}
	p.at("returned")
	r.Trace = p.trace()
	if !o.Partner.On || atRest(r.Customer) {
		return r
	}
	working, stop := context.WithTimeout(ctx, patience)
	defer stop()
	err = o.workUntil(working, led, 8, func() bool {
		r.Customer, err = h.standing(ctx, c, led, o)
		return err != nil || atRest(r.Customer)
	})
	r.Err = text(err)
	return r
}

// tell makes a customer, and has a worker tell the program of it, for a second at
// most. It says how often the program was told so far, by whatever process.
func (h *helping) tell(o order) (r report) {
	ctx := context.Background()
	p := h.probe(o)
	heard := filepath.Join(o.Partner.Secrets, ".heard")
	c, led, err := o.reseller(ctx, p, partner.OnProvisioned(func(_ context.Context, made *partner.Provisioning) error {
		p.at("told: begun")
		f, err := os.OpenFile(heard, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(f, made.OperationID)
		p.at("told: ended")
		return errors.Join(err, f.Close())
	}))
	if err != nil {
		return report{Err: err.Error()}
	}
	defer func() {
		c.Close()
		r.Err = text(errors.Join(errorOf(r.Err), led.Close()))
	}()
	if _, err := c.Provision(ctx, o.customer()); err != nil {
		return report{Err: err.Error()}
	}
	p.at("returned")
	lines := func() int {
		all, err := os.ReadFile(heard)
		if err != nil {
			return 0
		}
		return strings.Count(string(all), "\n")
	}
	working, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	before := lines()
	err = o.workUntil(working, led, 1, func() bool { return lines() > before })
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return report{Done: lines(), Err: text(err)}
}

// atRest reports whether no worker brings a customer further.
func atRest(p *partner.Provisioning) bool { return p.Status.Final() || p.Next == ledger.NextPerson }

// standing is how the customer stands, without driving it.
func (h *helping) standing(ctx context.Context, c *partner.Client, led *ledger.Ledger, o order) (*partner.Provisioning, error) {
	page, err := led.List(ctx, ledger.Filter{Customer: o.Partner.Customer, Action: ledger.ActionProvisionCustomer})
	if err != nil || len(page.Operations) != 1 {
		return nil, errors.Join(err, fmt.Errorf("%d workflows of %s", len(page.Operations), o.Partner.Customer))
	}
	p, err := led.Progress(ctx, page.Operations[0].ID)
	if err != nil {
		return nil, err
	}
	return &partner.Provisioning{OperationID: p.ID, State: p.State, Status: p.Status, Next: p.Next}, nil
}

// workUntil runs a worker until done says so, or ctx ends.
func (o order) workUntil(ctx context.Context, led *ledger.Ledger, concurrency int, done func() bool) error {
	w, err := ledger.NewWorker(led, ledger.WorkerConfig{Poll: 20 * time.Millisecond, Concurrency: concurrency})
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx)) // the keeper's commits are told by their deadlines
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(working) }()
	for ctx.Err() == nil && !done() {
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	return errors.Join(<-ended, ctx.Err())
}

// decide is a person's work on what waits: a lost key is replaced, what is not known
// is asked about, and what is not there is issued again.
func (h *helping) decide(o order) (r report) {
	ctx := context.Background()
	c, led, err := o.reseller(ctx, &probe{})
	if err != nil {
		return report{Err: err.Error()}
	}
	defer func() {
		c.Close()
		r.Err = text(errors.Join(errorOf(r.Err), led.Close()))
	}()
	by := ledger.Decision{Who: "anna", Why: "the test"}
	for op, err := range led.All(ctx, ledger.Filter{Customer: o.Partner.Customer}) {
		if err != nil {
			return report{Err: err.Error()}
		}
		if op.Kind == ledger.KindWorkflow || op.Status.Final() || op.Next == ledger.NextNone {
			continue
		}
		r.Done++
		if op.ErrorCode == ledger.CodeSecretLost {
			_, err = c.ReplaceLostKey(ctx, op.ID, by)
		} else {
			_, err = c.Reconcile(ctx, op.ID)
			if now, e := led.Operation(ctx, op.ID); err == nil && e == nil && now.Next == ledger.NextPerson {
				_, err = led.Decide(ctx, op.ID, ledger.Verdict{Kind: ledger.VerdictReissue, ApprovedBy: "anna"}, by)
			}
		}
		if err != nil {
			return report{Err: fmt.Sprintf("%s of %s: %v", op.Intent.Action, op.ID, err)}
		}
	}
	return r
}

func (o order) payment() partner.Payment {
	return partner.Payment{
		Customer: o.Partner.Customer, GroupID: partner.GroupID(o.Partner.Group), Amount: money.MustParse("12.34"),
		EventID: o.Partner.Event, EntryID: "entry",
	}
}

// topUp credits a customer, and tells how the operation stands.
func (h *helping) topUp(o order) (r report) {
	ctx := context.Background()
	p := h.probe(o)
	c, led, err := o.reseller(ctx, p)
	if err != nil {
		return report{Err: err.Error()}
	}
	defer func() {
		c.Close()
		r.Err = text(errors.Join(errorOf(r.Err), led.Close()))
	}()
	p.at("opened")
	credit, err := c.TopUp(ctx, o.payment())
	r.Called = []outcome{{Err: text(err), Outcome: retry.OutcomeOf(err).String()}}
	if credit != nil {
		r.Called[0].Secret = string(credit.ID)
	}
	p.at("returned")
	r.Trace = p.trace()
	return o.credited(ctx, led, r)
}

// credited adds how the customer's only credit stands, the newest version of it.
func (o order) credited(ctx context.Context, led *ledger.Ledger, r report) report {
	page, err := led.List(ctx, ledger.Filter{Customer: o.Partner.Customer, Action: ledger.ActionTopUpCredit})
	if err == nil && len(page.Operations) > 0 {
		op := page.Operations[0]
		r.After = &row{Operation: store.Operation{ID: op.ID, Status: string(op.Status), NextStep: string(op.Next), TargetID: op.TargetID}}
	}
	r.Err = text(err)
	return r
}

// pay books a payment in the program's own table and records its credit, in one
// transaction; then a worker sends it. It tells how many entries the books have.
func (h *helping) pay(o order) (r report) {
	ctx := context.Background()
	p := h.probe(o)
	c, led, err := o.reseller(ctx, p)
	if err != nil {
		return report{Err: err.Error()}
	}
	defer func() {
		c.Close()
		r.Err = text(errors.Join(errorOf(r.Err), led.Close()))
	}()
	draft, err := c.TopUpDraft(ctx, o.payment())
	if err != nil {
		return report{Err: err.Error()}
	}
	booked := 0
	err = led.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS books (event TEXT PRIMARY KEY, amount TEXT NOT NULL)")
		if err == nil {
			_, err = tx.ExecContext(ctx, "INSERT INTO books VALUES (?, ?) ON CONFLICT DO NOTHING", o.Partner.Event, o.payment().Amount)
		}
		p.at("books: written")
		if err == nil {
			_, err = led.RecordTx(ctx, tx, draft)
		}
		p.at("books: recorded")
		if err == nil {
			err = tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM books").Scan(&booked)
		}
		return err
	})
	p.at("books: committed")
	if err != nil {
		return report{Err: err.Error()}
	}
	working, stop := context.WithTimeout(ctx, patience)
	defer stop()
	err = o.workUntil(working, led, 1, func() bool {
		r = o.credited(ctx, led, r)
		return r.Err != "" || r.After != nil && ledger.Status(r.After.Operation.Status).Final()
	})
	r.Done, r.Trace = booked, p.trace()
	r.Err = text(errors.Join(errorOf(r.Err), err))
	return r
}
