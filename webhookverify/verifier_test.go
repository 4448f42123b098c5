package webhookverify_test

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/webhookverify"
)

// noon is when the deliveries of most tests come.
var noon = time.Date(2026, 5, 22, 12, 0, 0, 0, time.UTC)

func TestMatchTellsWhatIsProved(t *testing.T) {
	t.Parallel()
	body := event(300)
	want := map[string]webhookverify.Match{
		"BOTIX":             {Secret: "secret 2", Index: 1},
		"GitHub":            {Secret: "secret 2", Index: 1},
		"Standard Webhooks": {Secret: "secret 2", Index: 1, ID: "msg_1", Signed: noon},
		"Stripe":            {Secret: "secret 2", Index: 1, Signed: noon},
		"generic":           {Secret: "secret 2", Index: 1, Signed: noon},
	}
	for _, c := range schemeCases() {
		v := newVerifier(t, c.scheme, "whsec_ZmlyZXdvcmtz", c.secret)
		got, err := v.VerifyAt(sign(t, c.scheme, c.secret, noon, body), body, noon.Add(time.Second))
		if err != nil || got != want[c.name] {
			t.Errorf("%s: VerifyAt = %+v, %v, want %+v", c.name, got, err, want[c.name])
		}
	}
}

func TestSecretsThatProtectNothingAreRefused(t *testing.T) {
	t.Parallel()
	scheme, standard := webhookverify.BOTIX(), webhookverify.StandardWebhooks()
	secret := webhookverify.NewSecret
	nine := make([]webhookverify.Secret, webhookverify.MaxSecrets+1)
	for i := range nine {
		nine[i] = secret(fmt.Sprintf("%s-%d", benchSecret, i))
	}
	for name, tt := range map[string]struct {
		scheme  webhookverify.Scheme
		secrets []webhookverify.Secret
		want    string
	}{
		"none":                   {scheme, nil, "no secret"},
		"the zero one":           {scheme, []webhookverify.Secret{{}}, "secret 1 is empty"},
		"an empty one":           {scheme, []webhookverify.Secret{secret(benchSecret), secret("")}, "secret 2 is empty"},
		"a blank one":            {scheme, []webhookverify.Secret{secret(" \t\n")}, "is empty"},
		"one with a line break":  {scheme, []webhookverify.Secret{secret(benchSecret + "\n")}, "blank"},
		"zeros, HMAC's filling":  {scheme, []webhookverify.Secret{secret("\x00\x00")}, "is empty"},
		"base64 of nothing":      {standard, []webhookverify.Secret{secret("whsec_")}, "is empty"},
		"base64 of zeros":        {standard, []webhookverify.Secret{secret("whsec_AAAAAAAA")}, "is empty"},
		"no base64":              {standard, []webhookverify.Secret{secret("whsec_" + benchSecret[:3])}, "base64"},
		"one twice":              {scheme, []webhookverify.Secret{secret("aaaaaaaa"), secret("aaaaaaaa")}, "secret 2 is in the list twice"},
		"one name twice":         {scheme, []webhookverify.Secret{secret("aaaaaaaa").Named("may"), secret("bbbbbbbb").Named("may")}, "may is in the list twice"},
		"one in two spellings":   {standard, []webhookverify.Secret{secret("whsec_YWFhYQ=="), secret("YWFhYQ==")}, "twice"},
		"more than can be tried": {scheme, nine, "at most 8"},
	} {
		v, err := webhookverify.New(tt.scheme, tt.secrets...)
		if err == nil || v != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: New = %v, %v, want an error with %q", name, v, err, tt.want)
		}
		good := newVerifier(t, tt.scheme, "whsec_ZmlyZXdvcmtz")
		if err := good.Rotate(tt.secrets...); err == nil {
			t.Errorf("%s: Rotate accepts it", name)
		}
		body := event(300)
		if _, err := good.VerifyAt(sign(t, tt.scheme, "whsec_ZmlyZXdvcmtz", noon, body), body, noon); err != nil {
			t.Errorf("%s: a Rotate that failed changed something: %v", name, err)
		}
	}
}

func TestUsesTellWhenASecretCanGo(t *testing.T) {
	t.Parallel()
	scheme, body := webhookverify.BOTIX(), event(300)
	old, fresh := webhookverify.NewSecret("old-secret").Named("april"), webhookverify.NewSecret("fresh-secret").Named("may")
	v, err := webhookverify.New(scheme, old)
	if err != nil {
		t.Fatal(err)
	}
	deliver := func(secret string, at time.Time) {
		t.Helper()
		if _, err := v.VerifyAt(sign(t, scheme, secret, at, body), body, at); err != nil {
			t.Fatal(err)
		}
	}
	deliver("old-secret", noon)
	if err := v.Rotate(fresh, old); err != nil {
		t.Fatal(err)
	}
	deliver("old-secret", noon.Add(time.Minute))
	deliver("old-secret", noon) // noted late; the latest stays
	want := []webhookverify.Use{{Secret: "may"}, {Secret: "april", Matches: 3, Last: noon.Add(time.Minute)}}
	if got := v.Uses(); !reflect.DeepEqual(got, want) {
		t.Errorf("Uses = %+v, want %+v", got, want)
	}
	if err := v.Rotate(fresh); err != nil {
		t.Fatal(err)
	}
	deliver("fresh-secret", noon)
	want = []webhookverify.Use{{Secret: "may", Matches: 1, Last: noon}}
	if got := v.Uses(); !reflect.DeepEqual(got, want) {
		t.Errorf("after the change Uses = %+v, want %+v", got, want)
	}
}

// Secrets change many times under load, by the procedure that Rotate describes:
// no delivery that is signed by a secret in force is refused, and none is
// accepted under one after the call that took it away.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	for _, c := range schemeCases()[:2] {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			testRotation(t, c.scheme)
		})
	}
}

func testRotation(t *testing.T, scheme webhookverify.Scheme) {
	const rounds, workers = 60, 4
	secrets, headers := make([]webhookverify.Secret, rounds+1), make([]http.Header, rounds+1)
	body := event(2000)
	for i := range secrets {
		text := fmt.Sprintf("c2VjcmV0%04d", i) // base64, for the scheme that wants it
		secrets[i], headers[i] = webhookverify.NewSecret(text), sign(t, scheme, text, noon, body)
	}
	v, err := webhookverify.New(scheme, secrets[0])
	if err != nil {
		t.Fatal(err)
	}
	var (
		signing  atomic.Int64               // the secret that the sender uses
		removed  atomic.Int64               // the secrets below this one are gone
		inFlight [rounds + 1]sync.WaitGroup // deliveries on their way, by secret
		mu       sync.Mutex                 // a sender changes its secret for all its workers at once
		done     atomic.Bool
		all      sync.WaitGroup
		accepted atomic.Int64
		refused  atomic.Int64
	)
	deliver := func(i int64, streamed bool) error {
		if !streamed {
			_, err := v.VerifyAt(headers[i], body, noon)
			return err
		}
		s, err := v.BeginAt(headers[i], noon)
		if err != nil {
			return err
		}
		for half := range 2 {
			if _, err := s.Write(body[half*1000 : half*1000+1000]); err != nil {
				return err
			}
		}
		_, err = s.Verify()
		return err
	}
	for w := range workers {
		streamed := w%2 == 1
		all.Go(func() { // an honest sender
			for !done.Load() {
				mu.Lock()
				i := signing.Load()
				inFlight[i].Add(1)
				mu.Unlock()
				if err := deliver(i, streamed); err != nil {
					t.Errorf("a delivery under secret %d, which is in force, is refused: %v", i, err)
				}
				inFlight[i].Done()
				accepted.Add(1)
				runtime.Gosched()
			}
		})
		all.Go(func() { // somebody who has an old secret
			for !done.Load() {
				runtime.Gosched()
				gone := removed.Load() - 1
				if gone < 0 {
					continue
				}
				if err := deliver(gone, streamed); !errors.Is(err, webhookverify.ErrMismatch) {
					t.Errorf("a delivery under secret %d, which is gone: %v, want ErrMismatch", gone, err)
				}
				refused.Add(1)
			}
		})
	}
	for i := range rounds {
		if err := v.Rotate(secrets[i+1], secrets[i]); err != nil {
			t.Error(err)
		}
		mu.Lock()
		signing.Store(int64(i + 1))
		mu.Unlock()
		inFlight[i].Wait() // as long as the sender may still come with the old one
		if err := v.Rotate(secrets[i+1]); err != nil {
			t.Error(err)
		}
		removed.Store(int64(i + 1))
		for before := accepted.Load() + refused.Load(); accepted.Load()+refused.Load() < before+20; {
			runtime.Gosched() // some deliveries between two changes
		}
	}
	done.Store(true)
	all.Wait()
	if accepted.Load() < rounds || refused.Load() == 0 {
		t.Errorf("%d deliveries accepted and %d refused: too few to tell", accepted.Load(), refused.Load())
	}
}

// A check that has begun decides by the secrets that hold when it is done: it
// hashes for some milliseconds, in which they change. Seen from outside, one that has
// been decided may not be over yet; so most of some count, not each.
func TestACheckThatHasBegunSeesTheChange(t *testing.T) {
	t.Parallel()
	scheme, body := webhookverify.GitHub(), event(4<<20)
	old, fresh := webhookverify.NewSecret("old-secret"), webhookverify.NewSecret("fresh-secret")
	header := sign(t, scheme, "old-secret", noon, body)
	for name, tt := range map[string]struct {
		before, after webhookverify.Secret
		want          error
	}{
		"taken away": {old, fresh, webhookverify.ErrMismatch},
		"added":      {fresh, old, nil},
	} {
		const tries, most = 10, 8
		saw := 0
		for overlapped := 0; overlapped < tries; {
			v, err := webhookverify.New(scheme, tt.before)
			if err != nil {
				t.Fatal(err)
			}
			begun, verdict := make(chan bool), make(chan error, 1)
			go func() {
				close(begun)
				_, err := v.VerifyAt(header, body, noon)
				verdict <- err
			}()
			<-begun
			if err := v.Rotate(tt.after); err != nil {
				t.Fatal(err)
			}
			under := len(verdict) == 0
			err = <-verdict
			if under {
				overlapped++
				if errors.Is(err, tt.want) {
					saw++
				}
			}
		}
		if saw < most {
			t.Errorf("%s: %d of %d checks ended with %v, want %d at least", name, saw, tries, tt.want, most)
		}
	}
}

// A verdict is that of the secrets in force when it falls, however long the body
// takes.
func TestASecretThatIsTakenAwayMidStreamNoLongerCounts(t *testing.T) {
	t.Parallel()
	scheme, body := webhookverify.BOTIX(), event(300)
	v := newVerifier(t, scheme, "old-secret", "fresh-secret")
	begin := func() *webhookverify.Stream {
		s, err := v.BeginAt(sign(t, scheme, "old-secret", noon, body), noon)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write(body); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if m, err := begin().Verify(); err != nil || m.Index != 0 {
		t.Fatalf("Verify = %+v, %v, want a match of the first", m, err)
	}
	kept, gone := begin(), begin()
	if err := v.Rotate(webhookverify.NewSecret("fresh-secret"), webhookverify.NewSecret("old-secret")); err != nil {
		t.Fatal(err)
	}
	if m, err := kept.Verify(); err != nil || m.Index != 1 {
		t.Errorf("moved to the second place: Verify = %+v, %v, want a match there", m, err)
	}
	if err := v.Rotate(webhookverify.NewSecret("fresh-secret")); err != nil {
		t.Fatal(err)
	}
	if m, err := gone.Verify(); !errors.Is(err, webhookverify.ErrMismatch) {
		t.Errorf("taken away: Verify = %+v, %v, want ErrMismatch", m, err)
	}
}

func TestAStreamEndsOnce(t *testing.T) {
	t.Parallel()
	scheme, body := webhookverify.BOTIX(), event(300)
	v := newVerifier(t, scheme, benchSecret)
	s, err := v.Begin(sign(t, scheme, benchSecret, noon, body))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Verify(); !errors.Is(err, webhookverify.ErrEmptyBody) {
		t.Errorf("Verify of nothing = %v, want ErrEmptyBody", err)
	}
	if n, err := s.Write(body); n != 0 || err == nil {
		t.Errorf("Write after Verify = %d, %v, want an error", n, err)
	}
	if _, err := s.Verify(); err == nil || errors.Is(err, webhookverify.ErrMismatch) {
		t.Errorf("a second Verify = %v, want an error of the caller's", err)
	}
	if s, err := v.Begin(http.Header{}); s != nil || !errors.Is(err, webhookverify.ErrMissing) {
		t.Errorf("Begin without a signature = %v, %v, want ErrMissing", s, err)
	}
}

// The goals of docs/benchmarks.md that can be counted: at most two allocations,
// and not one byte more for a body that is 64 times as large.
func TestVerifyAllocations(t *testing.T) {
	for _, c := range schemeCases() {
		v := newVerifier(t, c.scheme, c.secret)
		for _, n := range []int{1 << 10, 64 << 10} {
			body := event(n)
			header := sign(t, c.scheme, c.secret, noon, body)
			// The least of many: the race detector makes a pool forget things at random.
			allocs := math.Inf(1)
			for range 50 {
				allocs = min(allocs, testing.AllocsPerRun(1, func() {
					if _, err := v.VerifyAt(header, body, noon); err != nil {
						t.Fatal(err)
					}
				}))
			}
			if allocs > 2 {
				t.Errorf("%s, %d bytes: %v allocations, the goal is 2", c.name, n, allocs)
			}
		}
	}
}

// A stream keeps nothing of what is written to it.
func TestAStreamDoesNotGrow(t *testing.T) {
	scheme, piece := webhookverify.StandardWebhooks(), event(32<<10)
	v := newVerifier(t, scheme, schemeCases()[1].secret)
	header := sign(t, scheme, schemeCases()[1].secret, noon, piece)
	s, err := v.BeginAt(header, noon)
	if err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := s.Write(piece); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("Write of 32 KiB: %v allocations, want none", allocs)
	}
}
