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
	After    string // Do rival: the event before
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

// reselling is an order with what it is followed by.
type reselling struct {
	order
	*probe
	client *partner.Client
	led    *ledger.Ledger
}

// resell makes a client, has an order followed with it, and closes it.
func (o order) resell(p *probe, follow func(context.Context, *reselling) (report, error), more ...partner.Option) report {
	ctx := context.Background()
	c, led, err := o.reseller(ctx, p, more...)
	if err != nil {
		return report{Err: err.Error()}
	}
	p.at("opened")
	r, err := follow(ctx, &reselling{o, p, c, led})
	c.Close()
	r.Trace, r.Err = p.trace(), text(errors.Join(err, led.Close()))
	return r
}

func (o order) customer() partner.Customer {
	return partner.Customer{
		ID: o.Partner.Customer, SignupVersion: "v1", SpendLimit: money.MustParse("100.00"), KeyFunctions: []partner.KeyFunction{"bot", "crm"},
	}
}

// provision makes a customer, and may have a worker go on with it until nobody does
// so by himself.
func provision(ctx context.Context, s *reselling) (r report, err error) {
	r.Called = make([]outcome, max(s.Partner.Clicks, 1))
	ended := make(chan *partner.Provisioning)
	for i := range r.Called {
		go func() {
			made, err := s.client.Provision(ctx, s.customer())
			r.Called[i] = outcome{Err: text(err), Outcome: retry.OutcomeOf(err).String()}
			ended <- made
		}()
	}
	for range r.Called {
		r.Customer = <-ended
	}
	s.at("returned")
	if !s.Partner.On || atRest(r.Customer) {
		return r, nil
	}
	working, stop := context.WithTimeout(ctx, patience)
	defer stop()
	worked := s.workUntil(working, 8, func() bool {
		r.Customer, err = s.standing(ctx)
		return err != nil || atRest(r.Customer)
	})
	return r, errors.Join(err, worked)
}

// tell makes a customer, and has a worker tell the program of it, for a second at
// most. It says how often the program was told so far, by whatever process.
func (h *helping) tell(o order) report {
	p, heard := h.probe(o), filepath.Join(o.Partner.Secrets, ".heard")
	lines := func() int {
		all, err := os.ReadFile(heard)
		if err != nil {
			return 0
		}
		return strings.Count(string(all), "\n")
	}
	return o.resell(p, func(ctx context.Context, s *reselling) (report, error) {
		if _, err := s.client.Provision(ctx, s.customer()); err != nil {
			return report{}, err
		}
		s.at("returned")
		working, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		before := lines()
		err := s.workUntil(working, 1, func() bool { return lines() > before })
		if errors.Is(err, context.DeadlineExceeded) {
			err = nil
		}
		return report{Done: lines()}, err
	}, partner.OnProvisioned(func(_ context.Context, made *partner.Provisioning) error {
		p.at("told: begun")
		f, err := os.OpenFile(heard, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(f, made.OperationID)
		p.at("told: ended")
		return errors.Join(err, f.Close())
	}))
}

// atRest reports whether no worker brings a customer further.
func atRest(p *partner.Provisioning) bool { return p.Status.Final() || p.Next == ledger.NextPerson }

// standing is how the customer stands, without driving it.
func (s *reselling) standing(ctx context.Context) (*partner.Provisioning, error) {
	page, err := s.led.List(ctx, ledger.Filter{Customer: s.Partner.Customer, Action: ledger.ActionProvisionCustomer})
	if err != nil || len(page.Operations) != 1 {
		return nil, errors.Join(err, fmt.Errorf("%d workflows of %s", len(page.Operations), s.Partner.Customer))
	}
	p, err := s.led.Progress(ctx, page.Operations[0].ID)
	if err != nil {
		return nil, err
	}
	return &partner.Provisioning{OperationID: p.ID, State: p.State, Status: p.Status, Next: p.Next}, nil
}

// workUntil runs a worker until done says so, or ctx ends.
func (s *reselling) workUntil(ctx context.Context, concurrency int, done func() bool) error {
	w, err := ledger.NewWorker(s.led, ledger.WorkerConfig{Poll: 20 * time.Millisecond, Concurrency: concurrency})
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx)) // the keeper's commits are told by their deadlines
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(working) }()
	for ctx.Err() == nil && !done() {
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	return errors.Join(<-ended, ctx.Err())
}

// decide is a person's work on what waits: a lost key is replaced, what is not known
// is asked about, and what is not there is issued again.
func decide(ctx context.Context, s *reselling) (r report, err error) {
	by := ledger.Decision{Who: "anna", Why: "the test"}
	for op, err := range s.led.All(ctx, ledger.Filter{Customer: s.Partner.Customer}) {
		if err != nil {
			return r, err
		}
		if op.Kind == ledger.KindWorkflow || op.Status.Final() || op.Next == ledger.NextNone {
			continue
		}
		r.Done++
		if op.ErrorCode == ledger.CodeSecretLost {
			_, err = s.client.ReplaceLostKey(ctx, op.ID, by)
		} else {
			_, err = s.client.Reconcile(ctx, op.ID)
			if now, e := s.led.Operation(ctx, op.ID); err == nil && e == nil && now.Next == ledger.NextPerson {
				_, err = s.led.Decide(ctx, op.ID, ledger.Verdict{Kind: ledger.VerdictReissue, ApprovedBy: "anna"}, by)
			}
		}
		if err != nil {
			return r, fmt.Errorf("%s of %s: %w", op.Intent.Action, op.ID, err)
		}
	}
	return r, nil
}

func (o order) payment() partner.Payment {
	return partner.Payment{
		Customer: o.Partner.Customer, GroupID: partner.GroupID(o.Partner.Group), Amount: money.MustParse("12.34"),
		EventID: o.Partner.Event, EntryID: "entry",
	}
}

// topUp credits a customer, and tells how the operation stands.
func topUp(ctx context.Context, s *reselling) (r report, err error) {
	credit, err := s.client.TopUp(ctx, s.payment())
	r.Called = []outcome{{Err: text(err), Outcome: retry.OutcomeOf(err).String(), Blocked: errors.Is(err, ledger.ErrBlocked)}}
	if credit != nil {
		r.Called[0].Secret = string(credit.ID)
	}
	s.at("returned")
	r.After, err = s.credited(ctx)
	return r, err
}

// rival is topUp once nobody drives the credit of the event before, and tells how that
// stood then.
func rival(ctx context.Context, s *reselling) (report, error) {
	first := *s
	first.Partner.Event = s.Partner.After
	before, err := first.credited(ctx)
	for err == nil && before != nil && before.Operation.Lease.Until > time.Now().UnixMilli() {
		time.Sleep(5 * time.Millisecond)
		before, err = first.credited(ctx)
	}
	if err != nil {
		return report{}, err
	}
	r, err := topUp(ctx, s)
	r.Before = before
	return r, err
}

// credited is how the credit of the order's event stands, the newest version of it.
func (s *reselling) credited(ctx context.Context) (*row, error) {
	for op, err := range s.led.All(ctx, ledger.Filter{Customer: s.Partner.Customer, Action: ledger.ActionTopUpCredit}) {
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(op.Intent.Version, s.payment().Reference()) {
			continue
		}
		amount := "none"
		if op.Amount != nil {
			amount = op.Amount.String()
		}
		return &row{Amount: amount, Operation: store.Operation{
			ID: op.ID, Key: op.Key, Status: string(op.Status), NextStep: string(op.Next), TargetID: op.TargetID,
			PossiblySent: op.PossiblySent, Lease: store.Lease{Until: max(op.LockedUntil.UnixMilli(), 0)},
		}}, nil
	}
	return nil, nil
}

// pay books a payment in the program's own table and records its credit, in one
// transaction; then a worker sends it. It tells how many entries the books have.
func pay(ctx context.Context, s *reselling) (r report, err error) {
	draft, err := s.client.TopUpDraft(ctx, s.payment())
	if err != nil {
		return r, err
	}
	err = s.led.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS books (event TEXT PRIMARY KEY, amount TEXT NOT NULL)")
		if err == nil {
			_, err = tx.ExecContext(ctx, "INSERT INTO books VALUES (?, ?) ON CONFLICT DO NOTHING", s.Partner.Event, s.payment().Amount)
		}
		s.at("books: written")
		if err == nil {
			_, err = s.led.RecordTx(ctx, tx, draft)
		}
		s.at("books: recorded")
		if err == nil {
			err = tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM books").Scan(&r.Done)
		}
		return err
	})
	s.at("books: committed")
	if err != nil {
		return report{}, err
	}
	working, stop := context.WithTimeout(ctx, patience)
	defer stop()
	worked := s.workUntil(working, 1, func() bool {
		r.After, err = s.credited(ctx)
		return err != nil || r.After != nil && ledger.Status(r.After.Operation.Status).Final()
	})
	return r, errors.Join(err, worked)
}
