//go:build unix

package crash_test

import (
	"cmp"
	"database/sql"
	"errors"
	"flag"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var (
	kills = flag.Int("crash.kills", 1000, "how many processes are killed at random moments")
	soak  = flag.Duration("crash.soak", 4*time.Second, "how long three processes share a ledger")
)

// TestRandomKills has three processes of eight goroutines call for the same
// intents on one ledger, and kills them at random moments, from their start on,
// again and again. Then everything is called for once more.
func TestRandomKills(t *testing.T) {
	t.Parallel()
	st := newStage(t, botixtest.Config{Latency: 2 * time.Millisecond})
	st.Script(
		botixtest.On("webhooksCreate").Do(st.remember()),
		botixtest.On("*").WithProbability(0.05).Do(botixtest.CutAfter()),
		botixtest.On("*").WithProbability(0.05).Do(botixtest.CutBefore()),
		botixtest.On("*").WithProbability(0.05).Do(botixtest.RateLimited("0")),
		botixtest.On("*").WithProbability(0.05).Do(botixtest.Status(502)),
	)
	const span = 24
	total := scale(*kills)
	var killed atomic.Int64
	var slots sync.WaitGroup
	for range 3 {
		slots.Go(func() {
			for {
				n := killed.Add(1)
				if n > int64(total) || t.Failed() {
					return
				}
				o := st.load(int(n), span)
				h := startHelper(t)
				_, reports := h.order(o)
				// One in eight dies on its way to the ledger.
				within := 25 * time.Millisecond
				if n%8 != 0 {
					if r, ok := <-reports; !ok || r.Err != "" {
						t.Errorf("a process did not begin: %+v", r)
					}
					within = 60 * time.Millisecond
				}
				time.Sleep(rand.N(within)) // the moment of the kill, which is what is random here
				h.kill()
				if !h.killed() {
					t.Error("a process ended by itself")
				}
				for _, err := range h.loose {
					t.Errorf("a caller got %s", err)
				}
			}
		})
	}
	slots.Wait()
	if t.Failed() {
		return
	}
	st.ClearScript()
	o := st.order("", 0)
	o.Do, o.Span, o.ServerTime = "resume", total+span, time.Second
	r, err := startHelper(t).do(o)
	if err != nil {
		t.Fatal(err)
	}
	verify(t, st, r.Rows)
	before := len(st.Journal().Calls())
	again, err := startHelper(t).do(o)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(st.Journal().Calls()); n != before || !reflect.DeepEqual(again.Rows, r.Rows) {
		t.Errorf("calling for everything once more made %d requests, or changed the ledger", n-before)
	}
	t.Logf("%d kills, %d intents, %d requests", total, len(r.Rows), before)
}

// load is the order to call for intents from one on.
func (s *stage) load(from, span int) order {
	o := s.order("", from)
	o.Do, o.Span = "load", span
	o.ServerTime = time.Second
	return o
}

// verify compares the ledger with what really happened, intent by intent.
func verify(t *testing.T, st *stage, done []*row) {
	t.Helper()
	j := st.Journal()
	effects := make(map[string][]botixtest.Effect)
	for _, e := range j.Effects() {
		effects[e.IdempotencyKey] = append(effects[e.IdempotencyKey], e)
	}
	calls := make(map[string][]botixtest.Call)
	for _, c := range mutations(j.Calls()) {
		calls[c.IdempotencyKey] = append(calls[c.IdempotencyKey], c)
	}
	open := 0
	for i, r := range done {
		operation := mixture[i%len(mixture)]
		if r == nil {
			t.Errorf("intent %d of %s has no row", i, operation)
			continue
		}
		key := r.Operation.Key
		var p problems
		p = append(p, r.agrees(operation, calls[key], effects[key])...)
		made := len(effects[key])
		switch {
		case operation == "contactsUpdate" && r.superseded(): // all are of one contact
			p.that(r.Operation.Status != string(ledger.StatusSucceeded), "superseded, and status %s", r.Operation.Status)
			open++
		case operation == "contactsUpdate":
			p.that(made >= 1, "the contact was not updated")
		case operation == "webhooksCreate" && r.Operation.NextStep == string(ledger.NextPerson):
			p.that(made <= 1, "%d effects", made)
			open++
		default:
			p.that(made == 1, "%d effects, want 1", made)
			p.that(r.Operation.Status == string(ledger.StatusSucceeded), "status %s", r.Operation.Status)
		}
		if len(p) > 0 {
			t.Errorf("intent %d of %s: %s\n%s", i, operation, strings.Join(p, "; "), r)
		}
		delete(calls, key)
		delete(effects, key)
	}
	for key := range calls {
		t.Errorf("requests under a key that no intent has: %q", key)
	}
	t.Logf("%d of %d wait for a person", open, len(done))
	sound(t, st.file())
}

// superseded: a newer operation on the same target was sent.
func (r *row) superseded() bool {
	return slices.ContainsFunc(r.History, func(e store.Event) bool { return e.What == string(ledger.CauseSuperseded) })
}

// sound has SQLite check the whole file.
func sound(t *testing.T, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, pragma := range []string{"integrity_check", "foreign_key_check"} {
		rows, err := db.Query("PRAGMA " + pragma)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var said string
			if err := rows.Scan(&said); err != nil || said != "ok" {
				t.Errorf("%s: %s, %v", pragma, said, err)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestSoak has three processes work on one ledger at full speed, three calls of
// four of intents of their own, the fourth of intents that they share. Leases that
// have to be renewed meanwhile are, in time.
func TestSoak(t *testing.T) {
	const lease = 3 * time.Second
	st := newStage(t, botixtest.Config{})
	st.Script(botixtest.On(lasting).Do(botixtest.DelayAfter(lease * 3 / 2)))
	length := *soak
	if brief() {
		length /= 4
	}
	var helpers [3]*helper
	var ids [3]int
	var reports [3]<-chan report
	for i := range helpers {
		o := st.order("messagesSend", 0)
		o.Do, o.Span, o.Callers, o.ServerTime, o.Lease = "load", 1, i+1, time.Second, lease
		helpers[i] = startHelper(t)
		ids[i], reports[i] = helpers[i].order(o)
	}
	for i := range helpers {
		if r := <-reports[i]; r.At == "" {
			t.Fatalf("process %d: %+v", i, r)
		}
	}
	late := watchRenewals(t, st.file(), lease, length)
	var done [3]int
	for i := range helpers {
		helpers[i].goOn(ids[i])
	}
	sum := 0
	for i := range helpers {
		r := <-reports[i]
		if r.Err != "" {
			t.Errorf("process %d: %s", i, r.Err)
		}
		done[i] = r.Done
		sum += r.Done
	}
	for i, h := range helpers {
		_ = h.in.Close()
		<-h.gone
		for _, err := range h.loose {
			t.Errorf("a caller of process %d got %s", i, err)
		}
		if !brief() && done[i] < sum/6 { // in a second, one wait for a lease is no fair share
			t.Errorf("process %d made %d of %d calls: below half of its fair share", i, done[i], sum)
		}
	}
	made := make(map[string]int)
	for _, e := range st.Journal().Effects() {
		made[cmp.Or(e.Content, e.IdempotencyKey)]++ // the messages differ, the contacts are alike
	}
	for what, n := range made {
		if n != 1 {
			t.Errorf("%s was sent %d times", what, n)
		}
	}
	statuses := standings(t, st.file())
	if len(statuses) != 1 || statuses["succeeded"] != len(made) {
		t.Errorf("the ledger has %v, the sandbox %d effects", statuses, len(made))
	}
	sound(t, st.file())
	if late > lease/4 {
		t.Errorf("a lease was renewed %v too late, a quarter of one is %v", late, lease/4)
	}
	t.Logf("%v calls in %v, %d effects, renewals at most %v late", done, length, len(made), late)
}

// watchRenewals looks on for a while, and returns how far the time that was left
// of a lease of a call that lasts came below the third that renewing leaves.
func watchRenewals(t *testing.T, file string, lease, length time.Duration) (late time.Duration) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	seen := 0
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		now := time.Now() // before the read: what is renewed while it waits is not late
		var until sql.NullInt64
		err := db.QueryRow("SELECT MIN(locked_until_ms) FROM ledger_operations WHERE action = ? AND locked_until_ms > 0", lasting).Scan(&until)
		if err != nil {
			t.Fatal(err)
		}
		if until.Valid {
			seen++
			late = max(late, lease/3-time.UnixMilli(until.Int64).Sub(now))
		}
	}
	if seen == 0 {
		t.Error("no call outlasted its lease")
	}
	return late
}

// standings counts the operations of a ledger by status.
func standings(t *testing.T, file string) map[string]int {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	rows, err := db.Query("SELECT status, count(*) FROM ledger_operations GROUP BY status")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]int)
	for rows.Next() {
		var status string
		var n int
		if err := rows.Scan(&status, &n); err != nil {
			t.Fatal(err)
		}
		found[status] = n
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	return found
}
