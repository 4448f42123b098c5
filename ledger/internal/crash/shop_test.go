//go:build unix

package crash_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/retry"
)

// bought is what the payload of an event says: a customer signs up, or has paid.
type bought struct {
	Customer string       `json:"customer"`
	Amount   money.Amount `json:"amount,omitzero"`
}

// shop works events and what they lead to, until it is told to stop.
func (h *helping) shop(o order) report {
	return o.resell(&probe{}, func(ctx context.Context, s *reselling) (report, error) {
		inbox, err := s.led.Inbox()
		if err != nil {
			return report{}, err
		}
		w, err := ledger.NewWorker(s.led, ledger.WorkerConfig{Poll: 20 * time.Millisecond, Concurrency: s.Partner.Workers})
		if err != nil {
			return report{}, err
		}
		stop := make(chan struct{})
		h.mu.Lock()
		h.paused[o.ID] = stop
		h.mu.Unlock()
		working, cancel := context.WithCancel(ctx)
		defer cancel()
		ended := make(chan error, 2)
		go func() { ended <- w.Run(working) }()
		go func() {
			ended <- inbox.Work(working, ledger.InboxWork{
				Handle:      func(ctx context.Context, e *ledger.Handling) error { return sell(ctx, s.client, s.led, e) },
				Concurrency: s.Partner.Workers, Poll: 20 * time.Millisecond, Retry: retry.Policy{MaxAttempts: 1000, Base: 20 * time.Millisecond, Cap: time.Second},
			})
		}()
		h.say(report{ID: o.ID, At: "open"})
		<-stop
		cancel()
		return report{}, errors.Join(<-ended, <-ended)
	})
}

// sell is the handler: a customer is provisioned, or credited once it has a group.
func sell(ctx context.Context, c *partner.Client, led *ledger.Ledger, e *ledger.Handling) error {
	var b bought
	if err := json.Unmarshal(e.Payload, &b); err != nil {
		return err
	}
	var draft ledger.Draft
	var err error
	if e.Type == "signup" {
		draft, err = c.ProvisionDraft(partner.Customer{ID: b.Customer, SignupVersion: "v1", SpendLimit: money.MustParse("100.00")})
	} else {
		page, e2 := led.List(ctx, ledger.Filter{Customer: b.Customer, Action: ledger.ActionCreateGroup})
		if e2 != nil || len(page.Operations) != 1 || page.Operations[0].TargetID == "" {
			return errors.Join(errors.New("the customer has no group yet"), e2)
		}
		draft, err = c.TopUpDraft(ctx, partner.Payment{
			Customer: b.Customer, GroupID: partner.GroupID(page.Operations[0].TargetID), Amount: b.Amount, EventID: e.ID, EntryID: "entry",
		})
	}
	if err != nil {
		return err
	}
	return e.Record(draft)
}

// Twenty workers in five processes that are killed at random moments, 200 customers
// who sign up and pay, faults on the way, and every event delivered three times: each
// customer has one group, one key and one limit, and its balance is the sum of its
// payments to the last digit.
func TestBalancesAreTheSumOfThePayments(t *testing.T) {
	t.Parallel()
	st, err := openCounter(t.TempDir(), botixtest.Config{Partner: botixtest.PartnerConfig{Balance: "1000000.00", ReplaySecret: botixtest.SecretWhole}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	for _, fault := range []botixtest.Fault{
		botixtest.CutBefore(), botixtest.CutAfter(), botixtest.CutAfter(), botixtest.HTML(502), botixtest.HTML(502).AfterWork(),
		botixtest.RateLimited("0"), botixtest.EmptyBody(), botixtest.Delay(100 * time.Millisecond),
	} {
		st.Script(botixtest.On("*").WithProbability(0.02).Do(fault))
	}
	led, err := sqlite.Open(t.Context(), st.file(), ledger.Namespace(namespace), ledger.LeaseFor(lease))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := led.Close(); err != nil {
			t.Error(err)
		}
	}()
	inbox, err := led.Inbox()
	if err != nil {
		t.Fatal(err)
	}

	// What happens in the world.
	customers := max(scale(200), 20)
	sums := map[string]money.Amount{}
	var events []ledger.Event
	say := func(id, kind string, b bought) {
		body, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		e := ledger.Event{Provider: "site", ID: id, Type: kind, ObjectKind: kind, ObjectID: id, Version: "1", Payload: body}
		events = append(events, e, e, e)
	}
	for n := range customers {
		id := fmt.Sprintf("cust_%d", n)
		sums[id] = money.MustParse("0")
		say("signup_"+id, "signup", bought{Customer: id})
		for k := range 2 {
			amount := money.MustParse([]string{"1.00", "12.3456", "100.10", "7.0001", "33.33"}[rand.IntN(5)])
			if sums[id], err = sums[id].Add(amount); err != nil {
				t.Fatal(err)
			}
			say(fmt.Sprintf("pay_%s_%d", id, k), "payment", bought{id, amount})
		}
	}
	rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })

	o := st.do("shop")
	o.Partner.Workers = 4
	delivered, drained := make(chan struct{}), make(chan struct{})
	var shops sync.WaitGroup
	var kills atomic.Int64
	for range 5 {
		shops.Go(func() {
			for !t.Failed() {
				h := startHelper(t)
				id, reports := h.order(o)
				if r, ok := <-reports; !ok || r.Err != "" {
					t.Errorf("a process did not begin: %+v", r)
					return
				}
				select {
				case <-delivered: // the last one works until nothing is left
					<-drained
					h.goOn(id)
					if r := <-reports; r.Err != "" {
						t.Error(r.Err)
					}
					return
				case <-time.After(300*time.Millisecond + rand.N(time.Second)): // the moment is what is random here
				}
				h.kill()
				kills.Add(1)
			}
		})
	}
	var senders sync.WaitGroup
	for s := range 4 {
		senders.Go(func() {
			for i := s; i < len(events); i += 4 {
				if _, err := inbox.Receive(t.Context(), events[i]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	senders.Wait()
	for kills.Load() < int64(scale(10)) && !t.Failed() {
		time.Sleep(50 * time.Millisecond)
	}
	close(delivered)
	st.ClearScript()
	for limit := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		waiting, err := inbox.List(t.Context(), ledger.EventFilter{Status: ledger.EventReceived, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		open, err := led.List(t.Context(), ledger.Filter{Limit: 1, Statuses: []ledger.Status{ledger.StatusPending, ledger.StatusFailedRetryable, ledger.StatusReconciling}})
		if err != nil {
			t.Fatal(err)
		}
		if len(waiting)+len(open.Operations) == 0 {
			break
		}
		if time.Now().After(limit) {
			t.Errorf("after a minute: %+v and %v are left", waiting, open.Operations)
			break
		}
	}
	close(drained)
	shops.Wait()

	booked := map[string][]money.Amount{} // by the ledger
	credits := ledger.Filter{Action: ledger.ActionTopUpCredit, Statuses: []ledger.Status{ledger.StatusSucceeded}}
	for op, err := range led.All(t.Context(), credits) {
		if err != nil {
			t.Fatal(err)
		}
		booked[op.Intent.Customer] = append(booked[op.Intent.Customer], money.MustParse(op.Amount.Text))
	}
	for id, want := range sums {
		groups := st.behind.GroupsOf(id)
		if len(groups) != 1 {
			t.Errorf("%s has %d groups", id, len(groups))
			continue
		}
		g := groups[0]
		balance, err := money.Parse(g.Balance)
		if err != nil || !balance.Equal(want) {
			t.Errorf("the balance of %s is %s, its payments are %s", id, g.Balance, want)
		}
		if credited, err := money.Sum(booked[id]...); err != nil || !credited.Equal(want) {
			t.Errorf("the ledger has credited %s with %s, %v, its payments are %s", id, credited, err, want)
		}
		live := st.behind.LiveKeys(g.ID, string(partner.DefaultKeyFunction))
		if len(live) != 1 || !st.stored(st.behind.Secret(live[0].ID)) || g.PolicyVersion != 1 || *g.SpendLimit != "100.00" {
			t.Errorf("%s has %d live keys and the limit %v of version %d", id, len(live), g.SpendLimit, g.PolicyVersion)
		}
	}
	if n := len(st.Journal().Effects("topUpsCreate")); n != 2*customers {
		t.Errorf("%d credits, want %d", n, 2*customers)
	}
	t.Logf("%d kills, %d events, %d requests", kills.Load(), len(events)/3, len(st.Journal().Calls()))
}
