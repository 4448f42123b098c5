package partner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// What is assumed of the server is not relied on: it stores only successes, runs
// requests under one key side by side, and shows in its lists what it did only later.
// Whatever happens to the requests of direct calls, workers and machines, and wherever
// they are cut off, no operation has two effects, no success is reported that did not
// happen, and "nothing happened" is never said of what did.
func TestPropertiesWithoutTheAssumedPromises(t *testing.T) {
	t.Parallel()
	blank, err := blankLedger()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var sum tally
	for shard := range 4 {
		t.Run(fmt.Sprint("shard ", shard), func(t *testing.T) {
			t.Parallel()
			for seed := shard; seed < seeds; seed += 4 {
				file := filepath.Join(dir, fmt.Sprint(seed, ".db"))
				if err := os.WriteFile(file, blank, 0o600); err != nil {
					t.Fatal(err)
				}
				history(t, file, uint64(seed), &sum)
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
	t.Cleanup(func() { // a test that never meets the hard cases proves nothing
		t.Logf("%d operations: %d looked up, %d sent again, %d processes cut off, %d ended unknown", sum.operations, sum.adopted, sum.again, sum.cutOff, sum.unknown)
		if sum.adopted == 0 || sum.again == 0 || sum.cutOff == 0 || sum.unknown == 0 {
			t.Error("the faults did not reach the cases that matter")
		}
	})
}

type tally struct {
	mu                                          sync.Mutex
	operations, adopted, again, cutOff, unknown int
}

func history(t *testing.T, file string, seed uint64, sum *tally) {
	rnd := rand.New(rand.NewPCG(seed, 3))
	cfg := botixtest.Config{
		Seed: seed, Latency: time.Duration(rnd.IntN(3)) * 20 * time.Millisecond, Lag: time.Duration(rnd.IntN(40)) * time.Second,
		Partner: botixtest.PartnerConfig{Storage: botixtest.StoreSuccess, Unlocked: true},
	}
	careful := rnd.IntN(3) == 0
	// A server error that nobody saw is no different from a lost answer, and the
	// platform says to repeat after that. Only a careful client asks first.
	cut := rnd.IntN(2) == 0
	faults := lostAnswers(rnd)
	if !cut || careful {
		faults = append(faults, failures()...)
	}
	inBubble(t, cfg, nil, func(s *sandbox) {
		s.srv.Clock().SetSkew(time.Duration(rnd.IntN(240)-120) * time.Second)
		group := s.group("Кофейня")
		h := &hostile{sandbox: s, vault: &safe{}, group: group, key: s.key(group, "bot")}
		if rnd.IntN(4) == 0 {
			h.vault.putting = rnd.IntN(8)
		}
		for range 1 + rnd.IntN(4) {
			rule := botixtest.On("*").WithProbability(0.1 + 0.4*rnd.Float64())
			f := []botixtest.Fault{faults[rnd.IntN(len(faults))]}
			if careful && rnd.IntN(4) == 0 { // then it is a server error that nobody sees
				f = append(f, botixtest.DelayAfter(7*time.Second))
			}
			s.srv.Script(rule.Do(f...))
		}
		s.srv.Script(botixtest.OnConnect().WithProbability(0.05).Do(botixtest.Refuse()))
		h.opts = []partner.Option{botix.WithSecretStore(h.vault), botix.WithPace(retry.Pace{Mode: retry.Off}),
			botix.WithAttemptTimeout(3 * time.Second), botix.WithServerTime(10 * time.Second),
			botix.WithRetry(retry.Policy{MaxAttempts: 2 + rnd.IntN(4), Rand: lockedFloat(seed)})}
		if careful {
			h.opts = append(h.opts, botix.WithCareful())
		}
		if rnd.IntN(2) == 0 {
			h.opts = append(h.opts, partner.WithLostKeysReplaced())
		}
		calls := make([]wish, 2+rnd.IntN(4))
		for i := range calls {
			calls[i] = h.wish(rnd)
		}
		for round := range 3 { // each is a process
			last := round == 2
			if last && rnd.IntN(2) == 0 {
				s.srv.ClearScript()
			}
			if cut && !last {
				h.cut++
			}
			h.process(file, rnd, calls, cut && !last)
			time.Sleep(time.Duration(rnd.IntN(120)) * time.Second)
		}
		h.judge(file, sum)
	})
}

// lockedFloat is a seeded source that several goroutines may read.
func lockedFloat(seed uint64) func() float64 {
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(seed, 1))
	return func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return rnd.Float64()
	}
}

// lostAnswers are accidents on the way: what the server answered is stored.
func lostAnswers(rnd *rand.Rand) []botixtest.Fault {
	return []botixtest.Fault{
		botixtest.CutBefore(), botixtest.CutAfter(), botixtest.CutBefore().WithFIN(), botixtest.CutAfter().WithFIN(),
		botixtest.CutBody(rnd.IntN(40)), botixtest.EmptyBody(), botixtest.WrongLength(7), botixtest.SlowBody(5 * time.Second),
		botixtest.HTML(502), botixtest.HTML(200), botixtest.HTML(404), botixtest.HTML(504).AfterWork(), botixtest.HTML(502).AfterWork(),
		botixtest.HTML(502).Without("X-Request-ID"), botixtest.HTML(502).AfterWork().Without("X-Request-ID"),
		botixtest.HTML(503).AfterWork().With("Retry-After", "4"), botixtest.HTML(408).AfterWork(),
		botixtest.RateLimited("2"), botixtest.RateLimited("40"), botixtest.Redirect(307, "https://elsewhere.test/"),
		botixtest.Delay(2 * time.Second), botixtest.Delay(5 * time.Second), botixtest.Delay(7 * time.Second), botixtest.Delay(9 * time.Second),
		botixtest.DelayAfter(7 * time.Second), botixtest.Gateway(504, 2*time.Second), botixtest.Gateway(504, 8*time.Second), botixtest.Gateway(502, 6*time.Second),
		botixtest.Gzip(), botixtest.ExtraFields(),
	}
}

// failures are the server's own, which it does not store.
func failures() (all []botixtest.Fault) {
	for _, status := range []int{500, 502, 503, 504} {
		f := botixtest.Status(status)
		all = append(all, f, f.AfterWork(), f.AfterWork().Without("X-Request-ID"), f.AfterWork().With("Retry-After", "3"))
	}
	return all
}

// hostile is a program of several processes and its server.
type hostile struct {
	*sandbox
	opts  []partner.Option
	vault *safe
	group partner.GroupID
	key   partner.KeyID
	cut   int // processes that were cut off
	mu    sync.Mutex
	told  []answered
}

// wish is what the business wants once, however often it asks.
type wish func(context.Context, *partner.Client, *ledger.Ledger) answered

// answered is what a caller was told.
type answered struct {
	info botix.Info
	err  error
}

// wish draws what is wanted. Few names make operations look alike.
func (h *hostile) wish(rnd *rand.Rand) wish {
	n := rnd.IntN(3)
	customer, event := fmt.Sprint("cust_", n), fmt.Sprint("evt_", rnd.IntN(3))
	as := botix.WithIntent(ledger.Intent{Customer: customer, Action: "wish", Version: fmt.Sprint(rnd.IntN(1 << 30))})
	direct := func(do func(context.Context, *partner.Client, ...partner.CallOption) error) wish {
		return func(ctx context.Context, c *partner.Client, _ *ledger.Ledger) (t answered) {
			t.err = do(ctx, c, as, botix.WithInfo(&t.info))
			return t
		}
	}
	recorded := func(do func(context.Context, *partner.Client, *ledger.Ledger) error) wish {
		return func(ctx context.Context, c *partner.Client, led *ledger.Ledger) answered {
			if err := do(ctx, c, led); err != nil && ctx.Err() == nil && errors.Is(err, ledger.ErrMismatch) {
				h.Errorf("it is another than before: %v", err)
			}
			return answered{}
		}
	}
	payment := partner.Payment{Customer: customer, GroupID: h.group, Amount: amount("5.00"), EventID: event, EntryID: "e"}
	names := slices.Sorted(maps.Keys(changes))
	switch rnd.IntN(7) {
	case 0:
		return func(ctx context.Context, c *partner.Client, _ *ledger.Ledger) (t answered) {
			_, t.err = c.TopUp(ctx, payment, botix.WithInfo(&t.info))
			return t
		}
	case 1:
		return recorded(func(ctx context.Context, c *partner.Client, led *ledger.Ledger) error {
			draft, err := c.TopUpDraft(ctx, payment)
			if err == nil {
				_, err = led.Enqueue(ctx, draft)
			}
			return err
		})
	case 2, 3:
		return recorded(func(ctx context.Context, c *partner.Client, _ *ledger.Ledger) error {
			_, err := c.Provision(ctx, partner.Customer{ID: customer, SignupVersion: "v1", SpendLimit: amount("100.00"), KeyFunctions: []partner.KeyFunction{"bot", "crm"}})
			return err
		})
	case 4:
		return recorded(func(ctx context.Context, c *partner.Client, _ *ledger.Ledger) error {
			_, err := c.RotateKey(ctx, partner.Rotation{Customer: customer, GroupID: h.group, Function: "bot", Old: h.key, Version: "1"})
			return err
		})
	default:
		name := names[rnd.IntN(len(names))]
		if name == "groupsDelete" || name == "keysDelete" {
			name = "keysCreate" // what is gone cannot be worked on
		}
		return direct(func(ctx context.Context, c *partner.Client, opts ...partner.CallOption) error {
			return changes[name](ctx, c, h.group, h.key, opts...)
		})
	}
}

// process does all that is wanted, side by side and beside a worker. Cut off, it ends
// wherever it is then: its callers stop to wait, or its ledger is gone.
func (h *hostile) process(file string, rnd *rand.Rand, calls []wish, cut bool) {
	h.Helper()
	led, err := sqlite.Open(h.Context(), file, ledger.Namespace("shop-prod"), ledger.LeaseFor(time.Minute))
	if err != nil {
		h.Fatal(err)
	}
	c := h.connect(h.srv.PartnerKey(), append(h.opts[:len(h.opts):len(h.opts)], partner.WithLedger(led))...)
	life := 20 * time.Minute
	if cut {
		life = time.Duration(rnd.IntN(40000)) * time.Millisecond
	}
	ctx, stop := context.WithTimeout(h.Context(), life)
	defer stop()
	gone := cut && rnd.IntN(2) == 0
	var wg sync.WaitGroup
	for _, call := range calls {
		wg.Go(func() {
			t := call(ctx, c, led)
			h.mu.Lock()
			defer h.mu.Unlock()
			if t.info.Operation != "" {
				h.told = append(h.told, t)
			}
		})
	}
	w, err := ledger.NewWorker(led, ledger.WorkerConfig{Poll: 10 * time.Second})
	if err != nil {
		h.Fatal(err)
	}
	wg.Go(func() {
		if err := w.Run(ctx); err != nil && !gone {
			h.Errorf("Run = %v", err)
		}
	})
	if gone { // as in a kill: what is under way is never written down
		time.Sleep(life / 2)
		_ = led.Close()
	}
	wg.Wait()
	c.Close()
	if err := led.Close(); err != nil && !gone {
		h.Error(err)
	}
}

// judge holds what the callers were told and the ledger says against what happened.
func (h *hostile) judge(file string, sum *tally) {
	h.Helper()
	effects := map[string][]botixtest.Effect{}
	for _, e := range h.srv.Journal().Effects() {
		if strings.HasPrefix(e.IdempotencyKey, "shop-prod:") {
			effects[e.IdempotencyKey] = append(effects[e.IdempotencyKey], e)
		}
	}
	for key, all := range effects {
		if len(all) > 1 {
			h.Errorf("%s had %d effects: %+v", key, len(all), all)
		}
	}
	sum.mu.Lock()
	defer sum.mu.Unlock()
	sum.cutOff += h.cut
	for _, t := range h.told {
		if t.info.Adopted {
			sum.adopted++
		}
		done, makes := len(effects[t.info.Key]), strings.HasSuffix(t.info.Operation, "Create")
		if t.err == nil && done == 0 && makes {
			h.Errorf("%s %s succeeded (adopted %t), and nothing happened", t.info.Operation, t.info.Key, t.info.Adopted)
		}
	}
	h.ledger(file, func(led *ledger.Ledger) {
		for op, err := range led.All(h.Context(), ledger.Filter{}) {
			if err != nil {
				h.Fatal(err)
			}
			if op.Key == "" {
				continue
			}
			sum.operations++
			done := len(effects[op.Key])
			switch {
			case op.Status == ledger.StatusSucceeded && done == 0 && op.Method == "POST":
				h.Errorf("%s %s stands at %s, and nothing happened", op.Intent.Action, op.Key, op.Status)
			case op.Status == ledger.StatusReconciling:
				sum.unknown++
			case op.ErrorCode == ledger.CodeSecretLost: // the key was revoked, and another made
			case op.Status != ledger.StatusSucceeded && op.Status != ledger.StatusPending && done > 0:
				h.Errorf("%s %s stands at %s, and it happened", op.Intent.Action, op.Key, op.Status)
			}
			if len(h.srv.Journal().WithKey(op.Key)) > 1 {
				sum.again++
			}
		}
	})
}
