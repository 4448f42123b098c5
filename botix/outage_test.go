package botix_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
)

// filesInMemory has a test keep its files in memory, where the system has a place for
// that: ten thousand commits on a disk take minutes.
func filesInMemory(t *testing.T) {
	t.Helper()
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm")
	}
}

// Ten thousand operations, fewer under the race detector, meet an outage of two hours, which begins with answers that
// are lost after the work. The server is asked about 350 times in these hours, nothing
// becomes a person's, and when it is back everything is done, once, and in the order of
// its lane.
//
// Without the pause of shift.finish there are ten times as many requests.
func TestAnOutage(t *testing.T) {
	filesInMemory(t)
	cfg := botixtest.Config{PerMinute: botixtest.Unlimited, PerDay: botixtest.Unlimited}
	withLedger(t, cfg, nil, func(s *sandbox, led *ledger.Ledger) {
		const n, contacts, outage = recorded, 200, 2 * time.Hour
		var down atomic.Bool
		during := func(operation string) botixtest.Rule {
			return botixtest.On(operation).When(func(botixtest.Call) bool { return down.Load() })
		}
		s.srv.Script(
			during("messagesSend").Times(10).Do(botixtest.CutAfter()),
			during("messagesSend").Times(10).Do(botixtest.Status(502).AfterWork()),
			during("messagesSend").Times(10).Do(botixtest.CutBefore()),
			during("messagesSend").Do(botixtest.Status(503)),
			during("contactsUpdate").Times(5).Do(botixtest.CutAfter()),
			during("contactsUpdate").Do(botixtest.Status(503)),
			during("messagesList").Do(botixtest.Status(503)),
		)
		var to []botix.ContactID
		for i := range contacts {
			to = append(to, s.contact(fmt.Sprint(i)))
		}
		// Of each five one sets a city; the others send a message.
		wish := func(i int) botix.Recordable {
			if i%5 == 0 {
				return botix.ContactChange{ID: to[i/5%contacts], Fields: botix.ContactUpdate{City: botix.Set(fmt.Sprint(i))}}
			}
			return botix.SendMessage{ContactID: to[i%contacts], Content: fmt.Sprint(i)}
		}
		for begin := 0; begin < n; begin += 500 {
			err := led.InTx(s.Context(), func(ctx context.Context, tx *sql.Tx) error {
				for i := begin; i < begin+500; i++ {
					if _, err := s.client.Record(ctx, tx, wish(i), nth(i)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				s.Fatal(err)
			}
		}
		down.Store(true)
		stop := s.work(led, ledger.WorkerConfig{})
		time.Sleep(outage)
		asked := len(s.srv.Journal().Calls())
		if asked > 500 {
			s.Errorf("%d requests during an outage of %v", asked, outage)
		}
		for op, err := range led.All(s.Context(), ledger.Filter{Statuses: []ledger.Status{ledger.StatusReconciling, ledger.StatusFailedRetryable, ledger.StatusFailedFinal}}) {
			if err != nil {
				s.Fatal(err)
			}
			if op.Next == ledger.NextPerson || op.Status == ledger.StatusFailedFinal {
				s.Errorf("during the outage %s stands at %s, next %q", op.ID, op.Status, op.Next)
			}
		}
		down.Store(false)
		back := time.Now()
		time.Sleep(time.Hour)
		stop()

		s.allSucceeded(led, n)
		calls := s.srv.Journal().Calls()
		s.Logf("%d requests during the outage, %d after it, the last after %v", asked, len(calls)-asked, calls[len(calls)-1].At.Sub(back))
		messages := 0
		cities := map[string][]int{}
		for _, id := range to {
			messages += len(s.srv.Journal().MessagesTo(int64(id)))
		}
		for _, c := range calls {
			if c.Operation == "contactsUpdate" && c.Executed {
				cities[c.Path] = append(cities[c.Path], number(c.IdempotencyKey))
			}
		}
		if messages != n*4/5 || len(cities) != contacts {
			s.Errorf("%d messages and %d contacts that changed, want %d and %d", messages, len(cities), n*4/5, contacts)
		}
		for path, order := range cities {
			if !slices.IsSorted(order) {
				s.Errorf("%s was changed in the order %v", path, order)
			}
		}
		for i, id := range to {
			s.has(id, fmt.Sprint(n-5*contacts+5*i))
		}
	})
}

// allSucceeded fails unless n operations have.
func (s *sandbox) allSucceeded(led *ledger.Ledger, n int) {
	s.Helper()
	counts := map[ledger.Status]int{}
	for op, err := range led.All(s.Context(), ledger.Filter{Limit: 500}) {
		if err != nil {
			s.Fatal(err)
		}
		if counts[op.Status]++; op.Status != ledger.StatusSucceeded && counts[op.Status] <= 3 {
			story, err := led.Story(s.Context(), op.ID)
			s.Errorf("%v\n%s", err, strings.TrimSpace(fmt.Sprint(story)))
		}
	}
	if counts[ledger.StatusSucceeded] != n {
		s.Errorf("of %d operations: %v", n, counts)
	}
}
