package botix_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/retry"
)

// Whatever the server does, as long as it keeps what the platform documents
// (2xx answers are stored under the key, nothing else is promised):
//
//   - no operation has two effects;
//   - no success is reported that did not happen, nor of another operation;
//   - "nothing happened" is never said of what happened;
//   - no request leaves earlier than a Retry-After allowed;
//   - key and body never change between attempts.
func TestProperties(t *testing.T) {
	t.Parallel()
	var sum tally
	for shard := range 8 {
		t.Run(fmt.Sprint("shard ", shard), func(t *testing.T) {
			t.Parallel()
			for seed := shard; seed < seeds; seed += 8 {
				history(t, uint64(seed), &sum)
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
	t.Cleanup(func() { // a test that never meets the hard cases proves nothing
		t.Logf("%d operations: %d succeeded after an unclear answer, %d of them looked up; %d ended unknown",
			sum.operations, sum.recovered, sum.adopted, sum.unknown)
		if sum.recovered == 0 || sum.adopted == 0 || sum.unknown == 0 {
			t.Error("the faults did not reach the cases that matter")
		}
	})
}

type tally struct {
	mu                                      sync.Mutex
	operations, recovered, adopted, unknown int
}

func (t *tally) note(r ended) {
	unclear := func(a retry.Attempt) bool { return a.Outcome == retry.Unknown }
	if slices.ContainsFunc(r.info.Attempts, unclear) {
		t.recovered++
	}
	if r.info.Adopted {
		t.adopted++
	}
}

// ended is how one mutation ended for its caller.
type ended struct {
	info botix.Info
	err  error
	id   int64 // of what the answer says was made
	once bool  // a second effect would be one too many
}

func history(t *testing.T, seed uint64, sum *tally) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	cfg := botixtest.Config{Seed: seed, Latency: time.Duration(rnd.IntN(3)) * 20 * time.Millisecond}
	opts := []botix.Option{
		botix.WithAttemptTimeout(3 * time.Second),
		botix.WithServerTime(8 * time.Second),
		botix.WithRetry(retry.Policy{MaxAttempts: 2 + rnd.IntN(4), Rand: lockedFloat(seed)}),
	}
	inBubble(t, cfg, nil, func(s *sandbox) {
		s.srv.Clock().SetSkew(time.Duration(rnd.IntN(240)-120) * time.Second)
		contacts := []botix.ContactID{s.contact("Анна"), s.contact("Борис")}
		scenario := botix.ScenarioID(s.srv.AddScenario(botixtest.Scenario{IsActive: true, Finishes: true}))
		s.srv.Script(faults(rnd)...)
		network := &wire{RoundTripper: s.srv.Transport()}
		s.client = s.newClient(s.srv.APIKey(), append(opts, botix.WithHTTPClient(&http.Client{Transport: network}))...)

		judge(s, sideBySide(1+rnd.IntN(3), func() []func() ended {
			return drawn(s, rnd, 2+rnd.IntN(5), contacts, scenario)
		}), sum)
		network.noneTooEarly(s.T)
	})
}

// drawn are n random calls.
func drawn(s *sandbox, rnd *rand.Rand, n int, contacts []botix.ContactID, scenario botix.ScenarioID) []func() ended {
	calls := make([]func() ended, n)
	for i := range calls {
		calls[i] = mutation(s, rnd, contacts, scenario)
	}
	return calls
}

// sideBySide makes the calls that draw gives on so many goroutines, and returns
// how they ended.
func sideBySide(goroutines int, draw func() []func() ended) (results []ended) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range goroutines {
		calls := draw()
		wg.Go(func() {
			for _, call := range calls {
				e := call()
				mu.Lock()
				results = append(results, e)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return results
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

// faults is a script of random accidents, none of which breaks a promise.
func faults(rnd *rand.Rand) []botixtest.Rule {
	all := []botixtest.Fault{
		botixtest.CutBefore(), botixtest.CutAfter(), botixtest.CutBefore().WithFIN(), botixtest.CutAfter().WithFIN(),
		botixtest.CutBody(rnd.IntN(40)), botixtest.EmptyBody(), botixtest.WrongLength(7),
		botixtest.Status(500), botixtest.Status(502), botixtest.Status(503), botixtest.Status(504),
		botixtest.Status(500).AfterWork(), botixtest.Status(502).AfterWork(), botixtest.Status(504).AfterWork(),
		botixtest.HTML(502), botixtest.HTML(200), botixtest.HTML(504).AfterWork(),
		botixtest.Status(503).With("Retry-After", "3"), botixtest.Status(503).With("Retry-After", "2").AfterWork(),
		botixtest.RateLimited("2"), botixtest.RateLimited("4"),
		botixtest.Delay(2 * time.Second), botixtest.Delay(7 * time.Second), botixtest.DelayAfter(7 * time.Second),
		botixtest.Gateway(504, 2*time.Second), botixtest.Gateway(502, 6*time.Second),
		botixtest.Redirect(307, "https://elsewhere.test/"), botixtest.Gzip(), botixtest.ExtraFields(),
		botixtest.Refusal("DELIVERY_FAILED"), botixtest.Refusal("CONTACT_BUSY"),
	}
	var rules []botixtest.Rule
	for range 1 + rnd.IntN(4) {
		rule := botixtest.On("*").WithProbability(0.1 + 0.4*rnd.Float64())
		rules = append(rules, rule.Do(all[rnd.IntN(len(all))]))
	}
	return append(rules, botixtest.OnConnect().WithProbability(0.05).Do(botixtest.Refuse()))
}

// mutation draws one call. Few contacts and texts make sends look alike.
func mutation(s *sandbox, rnd *rand.Rand, contacts []botix.ContactID, scenario botix.ScenarioID) func() ended {
	contact := contacts[rnd.IntN(len(contacts))]
	text := []string{"да", "нет"}[rnd.IntN(2)]
	name := fmt.Sprint("имя ", rnd.IntN(1000))
	ctx := s.Context()
	var e ended
	info := botix.WithInfo(&e.info)
	hook := "https://hook.test/" + fmt.Sprint(rnd.IntN(9)) // drawn here: the calls run on goroutines of their own
	switch rnd.IntN(9) {
	case 0, 1, 2:
		return func() ended {
			m, err := s.client.Messages.Send(ctx, botix.SendMessage{ContactID: contact, Content: text}, info)
			if e.err, e.once = err, true; err == nil {
				e.id = int64(m.ID)
			}
			return e
		}
	case 3:
		return func() ended {
			c, err := s.client.Contacts.Create(ctx, botix.CreateContact{FirstName: name, Email: name + "@x.test"}, info)
			if e.err, e.once = err, true; err == nil {
				e.id = int64(c.ID)
			}
			return e
		}
	case 4:
		return func() ended {
			r, err := s.client.Scenarios.Run(ctx, scenario, botix.RunScenario{ContactID: contact, Force: true}, info)
			if e.err, e.once = err, true; err == nil {
				e.id = int64(r.ChatID)
			}
			return e
		}
	case 5:
		return func() ended {
			_, e.err = s.client.Messages.BulkSend(ctx, []botix.SendMessage{
				{ContactID: contacts[0], Content: text}, {ContactID: contacts[1], Content: name},
			}, info)
			e.once = true
			return e
		}
	case 6:
		return func() ended {
			_, e.err = s.client.Contacts.AddTag(ctx, contact, name, info)
			return e
		}
	case 7:
		return func() ended {
			_, e.err = s.client.Contacts.Update(ctx, contact, botix.ContactUpdate{City: botix.Set(name)}, info)
			return e
		}
	default:
		return func() ended {
			_, e.err = s.client.Webhooks.Create(ctx, botix.CreateWebhook{
				URL: hook, Events: []botix.WebhookEvent{"message.sent"},
			}, info)
			e.once = true
			return e
		}
	}
}

// judge holds what callers were told against what the sandbox did.
func judge(s *sandbox, results []ended, sum *tally) {
	time.Sleep(time.Minute) // work that takes its time is done by then
	journal := s.srv.Journal()
	effects := make(map[string][]botixtest.Effect)
	made := make(map[string]botixtest.Effect)
	for _, e := range journal.Effects() {
		effects[e.IdempotencyKey] = append(effects[e.IdempotencyKey], e)
		made[fmt.Sprint(e.Kind, e.ID)] = e
	}
	owners := make(map[string]string)
	sum.mu.Lock()
	defer sum.mu.Unlock()
	for _, r := range results {
		sum.operations++
		name, key := r.info.Operation, r.info.Key
		done := effects[key]
		seen := make(map[string]bool) // one effect for each item
		for _, e := range done {
			what := fmt.Sprint(e.Kind, e.Item)
			if r.once && seen[what] {
				s.Errorf("%s %s had two effects: %+v", name, key, done)
			}
			seen[what] = true
		}
		switch outcome := retry.OutcomeOf(r.err); {
		case outcome == retry.Succeeded && len(done) == 0 && name != "contactsAddTag":
			s.Errorf("%s %s succeeded (adopted %t) and nothing happened", name, key, r.info.Adopted)
		case outcome == retry.Succeeded && r.id != 0:
			own := done[0]
			what := fmt.Sprint(own.Kind, r.id)
			// Two sends of one text to one contact leave messages nobody can tell
			// apart; each must still get one of its own.
			if got := made[what]; got.ContactID != own.ContactID || got.Content != own.Content || owners[what] != "" {
				s.Errorf("%s %s returned %+v, which is another's (%s): its own is %+v", name, key, got, owners[what], own)
			}
			owners[what] = key
			sum.note(r)
		case outcome == retry.Unknown:
			sum.unknown++
		case outcome != retry.Succeeded && len(done) > 0:
			s.Errorf("%s %s is said to be %v, but it happened: %v", name, key, outcome, r.err)
		case outcome == retry.Succeeded:
			sum.note(r)
		}
		if e, ok := errors.AsType[*botix.Error](r.err); r.err != nil && (!ok || e.Next() == "") {
			s.Errorf("%s failed without a typed error or advice: %v", name, r.err)
		}
		sameRequest(s, journal.WithKey(key))
	}
}

// sameRequest checks that all attempts under one key are the same request.
func sameRequest(s *sandbox, calls []botixtest.Call) {
	for _, c := range calls[min(1, len(calls)):] {
		if first := calls[0]; c.BodyHash != first.BodyHash || c.Path != first.Path || c.Method != first.Method {
			s.Errorf("attempt %d under %s is another request: %+v, first %+v", c.Attempt, c.IdempotencyKey, c, first)
		}
	}
}

// wire sees the requests as they leave the client and the answers as they come.
type wire struct {
	http.RoundTripper
	mu        sync.Mutex
	exchanges []exchange
}

type exchange struct {
	key            string
	sent, received time.Time
	status         int
	retryAfter     time.Duration
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	x := exchange{key: r.Header.Get("Idempotency-Key"), sent: time.Now()}
	resp, err := w.RoundTripper.RoundTrip(r)
	if x.received = time.Now(); err == nil {
		x.status = resp.StatusCode
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
			x.retryAfter = time.Duration(seconds) * time.Second
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.exchanges = append(w.exchanges, x)
	return resp, err
}

// noneTooEarly checks that nothing leaves while a 429 holds, and that a request
// answered 503 with Retry-After is not repeated before.
func (w *wire) noneTooEarly(t *testing.T) {
	for _, refused := range w.exchanges {
		if refused.retryAfter == 0 {
			continue
		}
		until := refused.received.Add(refused.retryAfter)
		for _, x := range w.exchanges {
			mine := x.key != "" && x.key == refused.key
			if x.sent.After(refused.received) && x.sent.Before(until) && (mine || refused.status == 429) {
				t.Errorf("a request left %v after a %d that asked for %v", x.sent.Sub(refused.received), refused.status, refused.retryAfter)
			}
		}
	}
}
