package botix_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// Careful calls keep their promise without any of the server's: it forgets keys
// at once, runs requests under one key side by side, fails after the work, loses
// answers, and shows in its lists what it did only later. No operation has two
// effects, and none takes another's for its own.
func TestCarefulProperties(t *testing.T) {
	t.Parallel()
	dir, blank := t.TempDir(), blankLedger(t)
	var sum tally
	for shard := range 8 {
		t.Run(fmt.Sprint("shard ", shard), func(t *testing.T) {
			t.Parallel()
			for seed := shard; seed < seeds; seed += 8 {
				file := filepath.Join(dir, fmt.Sprint(seed, ".db"))
				if err := os.WriteFile(file, blank, 0o600); err != nil {
					t.Fatal(err)
				}
				hostile(t, file, uint64(seed), &sum)
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
	t.Cleanup(func() {
		t.Logf("%d operations: %d succeeded after an unclear answer, %d of them looked up; %d ended unknown",
			sum.operations, sum.recovered, sum.adopted, sum.unknown)
		if sum.recovered == 0 || sum.adopted == 0 || sum.unknown == 0 {
			t.Error("the faults did not reach the cases that matter")
		}
	})
}

// blankLedger is the file of a ledger without a row. To make the schema anew takes
// longer than all else that a seed does.
func blankLedger(t *testing.T) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "blank.db")
	s, err := sqlite.OpenStore(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	blank, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return blank
}

func hostile(t *testing.T, file string, seed uint64, sum *tally) {
	rnd := rand.New(rand.NewPCG(seed, 2))
	cfg := botixtest.Config{
		Seed: seed, Latency: time.Duration(rnd.IntN(3)) * 20 * time.Millisecond,
		InFlight: botixtest.ExecuteBoth, Lag: time.Duration(rnd.IntN(40)) * time.Second,
	}
	if rnd.IntN(2) == 0 {
		cfg.Retention = time.Nanosecond // of keys
	}
	inBubble(t, cfg, nil, func(s *sandbox) {
		s.srv.Clock().SetSkew(time.Duration(rnd.IntN(240)-120) * time.Second)
		contacts := []botix.ContactID{s.contact("Анна"), s.contact("Борис")}
		scenario := botix.ScenarioID(s.srv.AddScenario(botixtest.Scenario{IsActive: true, Finishes: true}))
		s.srv.Script(faults(rnd)...)
		led, err := sqlite.Open(s.Context(), file, ledger.Namespace("test"), ledger.LeaseFor(time.Hour))
		if err != nil {
			s.Fatal(err)
		}
		network := &wire{RoundTripper: s.srv.Transport()}
		s.client = s.recording(led, botix.WithHTTPClient(&http.Client{Transport: network}), botix.WithCareful(),
			botix.WithAttemptTimeout(3*time.Second),
			botix.WithRetry(retry.Policy{MaxAttempts: 2 + rnd.IntN(4), Rand: lockedFloat(seed)}))

		judge(s, sideBySide(1+rnd.IntN(2), func() []func() ended {
			return drawn(s, rnd, 1+rnd.IntN(3), contacts, scenario)
		}), sum)
		network.noneTooEarly(s.T)
		if err := led.Close(); err != nil {
			s.Error(err)
		}
	})
}
