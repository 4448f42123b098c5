package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// copyOf copies a closed database to where nothing is yet, or over what there is.
func copyOf(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// reason is why a ledger is in doubt, "" when it is not.
func reason(t *testing.T, led *ledger.Ledger) string {
	t.Helper()
	err := led.Doubt(t.Context())
	if doubt, ok := errors.AsType[*ledger.DoubtError](err); ok {
		return doubt.Reason
	}
	if err != nil {
		t.Fatal(err)
	}
	return ""
}

var checked = ledger.Decision{Who: "ann", Why: "compared with the platform's list, ticket 17"}

// A copy of yesterday is put back. What was sent since it does not know: without
// the guard the same order would be confirmed a second time.
func TestAnOlderCopySendsNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	clock := botixtest.NewClock(nil)
	srv, err := botixtest.Start(botixtest.Config{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	contact := botix.ContactID(srv.AddContact(botixtest.Contact{FirstName: "Анна", LastChannel: "telegram"}))
	file := filepath.Join(t.TempDir(), "ops.db")
	var led *ledger.Ledger
	send := func(order int) error {
		client, err := botix.New(srv.APIKey(), botix.WithBaseURL(srv.URL()), botix.WithLedger(led))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		_, err = client.Messages.Send(ctx, botix.SendMessage{ContactID: contact, Content: fmt.Sprint("order ", order)},
			botix.WithIntent(ledger.Intent{Customer: "anna", Action: "order-confirmed", Version: fmt.Sprint("order-", order)}))
		return err
	}
	session := func(work func()) {
		if led, err = sqlite.Open(ctx, file, ledger.Namespace("shop")); err != nil {
			t.Fatal(err)
		}
		work()
		if err := led.Close(); err != nil {
			t.Fatal(err)
		}
	}
	sends := func(orders ...int) {
		for _, n := range orders {
			if err := send(n); err != nil {
				t.Errorf("order %d: %v", n, err)
			}
		}
	}
	session(func() { sends(1, 2, 3) })
	copyOf(t, file, file+".yesterday")
	session(func() { sends(4, 5, 6) })
	copyOf(t, file+".yesterday", file)
	clock.Advance(25 * time.Hour) // the platform has forgotten the keys

	session(func() {
		if got := reason(t, led); got != "older copy" {
			t.Errorf("the doubt is %q, want that it is an older copy", got)
		}
		sends(1) // is answered from what the copy has
		for _, n := range []int{4, 7} {
			err := send(n)
			if !errors.Is(err, ledger.ErrInDoubt) || retry.OutcomeOf(err) != retry.Unknown {
				t.Errorf("order %d: %v, outcome %v; want a doubt and an unknown outcome", n, err, retry.OutcomeOf(err))
			}
			if failed, ok := errors.AsType[*botix.Error](err); ok && !strings.Contains(failed.Next(), "vouch for the ledger") {
				t.Errorf("order %d: what to do is %q", n, failed.Next())
			}
		}
	})
	if n := len(srv.Messages()); n != 6 {
		t.Errorf("%d messages, want the 6 from before", n)
	}
}

// inDesk runs a session on a file.
func inDesk(t *testing.T, file string, work func(d *desk), opts ...ledger.Option) {
	t.Helper()
	d := openDeskAt(t, file, opts...)
	work(d)
	if err := d.Ledger.Close(); err != nil {
		t.Fatal(err)
	}
}

// refused fails unless an attempt of a draft is refused because of a doubt.
func (d *desk) refused(draft *ledger.Draft) {
	d.Helper()
	drive, err := d.Open(d.Context(), draft)
	if err != nil {
		d.Fatal(err)
	}
	defer drive.Close()
	if err := drive.Begin(d.Context(), open); !errors.Is(err, ledger.ErrInDoubt) {
		d.Errorf("Begin = %v, want a doubt", err)
	}
}

// What speaks against a ledger, and what somebody's word does about it.
func TestDoubt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(t *testing.T, file string) // between the first session and the second
		want   string
	}{
		"it was closed":        {func(*testing.T, string) {}, ""},
		"the witness is gone":  {func(t *testing.T, file string) { remove(t, file+".witness") }, "no witness"},
		"the witness was hurt": {func(t *testing.T, file string) { write(t, file+".witness", "{") }, "witness unreadable"},
		"it moved with its witness": {func(t *testing.T, file string) {
			write(t, file+".witness", read(t, file+".witness"))
			write(t, file, read(t, file))
		}, ""},
		"it was deleted and made anew": {func(t *testing.T, file string) { remove(t, file) }, "another ledger's witness"},
		"another was put in its place": {func(t *testing.T, file string) {
			other := filepath.Join(t.TempDir(), "other.db")
			inDesk(t, other, func(d *desk) { d.done(draft("boris", body), result) })
			copyOf(t, other, file)
		}, "another ledger's witness"},
		"an older copy was put back": {func(t *testing.T, file string) {
			copyOf(t, file, file+".old")
			inDesk(t, file, func(d *desk) { d.done(of("anna", 2, body), result) })
			copyOf(t, file+".old", file)
		}, "older copy"},
		"a copy was put back that lacks nothing": {func(t *testing.T, file string) {
			copyOf(t, file, file+".old")
			inDesk(t, file, func(d *desk) { d.operation(draft("anna", body)) })
			copyOf(t, file+".old", file)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "ops.db")
			inDesk(t, file, func(d *desk) { d.done(draft("anna", body), result) })
			tt.change(t, file)
			for range 2 { // opening it again does not help, nor does what is recorded meanwhile
				inDesk(t, file, func(d *desk) {
					if got := reason(t, d.Ledger); got != tt.want {
						t.Fatalf("the doubt is %q, want %q: %v", got, tt.want, d.Doubt(t.Context()))
					}
					if tt.want == "" {
						d.done(of("anna", 9, body), result)
						return
					}
					d.refused(of("anna", 9, body))
					for n := range 5 {
						d.enqueue(t, n)
					}
				})
				if tt.want == "" {
					return
				}
			}
			inDesk(t, file, func(d *desk) {
				for _, by := range []ledger.Decision{{}, {Who: "ann"}, {Why: "checked"}} {
					if err := d.Vouch(t.Context(), by); !errors.Is(err, ledger.ErrDecision) {
						t.Errorf("Vouch(%+v) = %v, want ErrDecision", by, err)
					}
				}
				d.refused(of("anna", 9, body))
				for range 2 { // the second changes nothing
					if err := d.Vouch(t.Context(), checked); err != nil {
						t.Fatal(err)
					}
				}
				d.done(of("anna", 9, body), result)
				d.decided("vouched", tt.want, checked)
			})
			inDesk(t, file, func(d *desk) {
				if got := reason(t, d.Ledger); got != "" {
					t.Errorf("after somebody vouched for it, it is in doubt: %s", got)
				}
			})
		})
	}
}

func (d *desk) enqueue(t *testing.T, n int) {
	t.Helper()
	recorded := of("later", n, body)
	if _, err := d.Enqueue(t.Context(), *recorded); err != nil {
		t.Fatal(err)
	}
}

// decided fails unless the last decision about the ledger is this one, and the only
// one.
func (d *desk) decided(what, detail string, by ledger.Decision) {
	d.Helper()
	var n int
	var gotWhat, gotDetail, who, why string
	err := d.db.QueryRowContext(d.Context(), "SELECT count(*), what, detail, who, why FROM ledger_decisions").Scan(&n, &gotWhat, &gotDetail, &who, &why)
	if err != nil || n != 1 || gotWhat != what || !strings.HasPrefix(gotDetail, detail) || who != by.Who || why != by.Why {
		d.Errorf("%d decisions, the last %q of %q by %q because of %q, %v", n, gotWhat, gotDetail, who, why, err)
	}
	for _, statement := range []string{"UPDATE ledger_decisions SET who = 'x'", "DELETE FROM ledger_decisions",
		"REPLACE INTO ledger_decisions SELECT seq, at_ms, what, detail, 'x', why FROM ledger_decisions"} {
		if _, err := d.db.ExecContext(d.Context(), statement); err == nil {
			d.Errorf("%s was done", statement)
		}
	}
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A folder is put back with the file beside the database. A witness elsewhere
// remembers.
func TestAWitnessElsewhereSeesWhatTheFileBesideCannot(t *testing.T) {
	t.Parallel()
	for _, with := range []bool{false, true} {
		elsewhere := filepath.Join(t.TempDir(), "witness")
		file := filepath.Join(t.TempDir(), "ops.db")
		var opts []ledger.Option
		want := ""
		if with {
			opts, want = []ledger.Option{ledger.WithWitness(ledger.WitnessFile(elsewhere))}, "older copy"
		}
		inDesk(t, file, func(d *desk) { d.done(draft("anna", body), result) }) // not yet with it: it is told at the next mark
		inDesk(t, file, func(d *desk) { d.done(of("anna", 2, body), result) }, opts...)
		for _, suffix := range []string{"", ".witness"} {
			copyOf(t, file+suffix, file+suffix+".old")
		}
		inDesk(t, file, func(d *desk) { d.done(of("anna", 3, body), result) }, opts...)
		for _, suffix := range []string{"", ".witness"} {
			copyOf(t, file+suffix+".old", file+suffix)
		}
		inDesk(t, file, func(d *desk) {
			if got := reason(t, d.Ledger); got != want {
				t.Errorf("with a witness elsewhere %t: the doubt is %q, want %q", with, got, want)
			}
		}, opts...)
	}
	if _, err := ledger.New(mustStoreAt(t, filepath.Join(t.TempDir(), "ops.db")), ledger.Namespace("x"), ledger.WithWitness(nil)); err == nil {
		t.Error("no witness at all was taken for one")
	}
}

func mustStoreAt(t *testing.T, file string) store.Store {
	t.Helper()
	s, err := sqlite.OpenStore(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// spy is a witness that looks into the database when it is told of a mark.
type spy struct {
	ledger.Witness
	look func() int64 // the number of the mark that is in the database
	told []ledger.Mark
	late []string // marks that were told before they were there
	fail error
}

func (s *spy) Tell(ctx context.Context, m ledger.Mark) error {
	if s.fail != nil {
		return s.fail
	}
	s.told = append(s.told, m)
	if is := s.look(); is < m.Number {
		s.late = append(s.late, fmt.Sprintf("told of mark %d when the database had %d", m.Number, is))
	}
	return s.Witness.Tell(ctx, m)
}

// A witness is never ahead of what a crash leaves, and what is written is marked
// once a second, after those who write.
func TestMarksAreALowerBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "ops.db")
		w := &spy{Witness: ledger.WitnessFile(filepath.Join(t.TempDir(), "witness"))}
		d := openDeskAt(t, file, ledger.WithWitness(w))
		w.look = func() (n int64) {
			if err := d.db.QueryRow("SELECT number FROM ledger_mark").Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		}
		if len(w.told) != 0 {
			t.Errorf("told %v before anything was written", w.told)
		}
		for n := range 50 { // ten seconds
			d.done(of("anna", n, body), result)
			time.Sleep(200 * time.Millisecond)
		}
		synctest.Wait()
		// The first says that there is a line, before the database says that it has a witness.
		if n := len(w.told); n < 10 || n > 12 || w.told[0].Number != 0 || w.told[1].Number != 1 {
			t.Errorf("in ten seconds it was told %d times: %+v", n, w.told)
		}
		before := len(w.told)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(w.told) - before; n > 1 {
			t.Errorf("in an hour without work it was told %d times", n)
		}
		d.close()
		if n := len(w.told); w.told[n-1].Number != int64(n-1) {
			t.Errorf("told %+v, want each mark once", w.told)
		}
		for _, late := range w.late {
			t.Error(late)
		}
	})
}

// A witness that cannot be told stops nobody, and Close says so. One that cannot be
// told of the line leaves the database without a mark: it would look as if it had
// lost its witness.
func TestAWitnessThatCannotBeTold(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ops.db")
	broken := errors.New("no route to the witness")
	w := &spy{Witness: ledger.WitnessFile(filepath.Join(t.TempDir(), "witness")), fail: broken}
	led, err := sqlite.Open(t.Context(), file, ledger.Namespace("shop-test"), ledger.WithWitness(w))
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{T: t, Ledger: led}
	d.done(draft("anna", body), result)
	if err := led.Close(); !errors.Is(err, broken) {
		t.Errorf("Close = %v, want that the witness could not be told", err)
	}
	remove(t, file+".witness") // which was told of the line
	inDesk(t, file, func(d *desk) {
		if got := reason(t, d.Ledger); got != "" {
			t.Errorf("the doubt is %q, want none", got)
		}
	})
}

// Who else has the file open, and where.
func TestAliveElsewhere(t *testing.T) {
	t.Parallel()
	type site = store.Site
	for name, tt := range map[string]struct {
		other func(is site) site
		ago   time.Duration
		want  string
	}{
		"another process here":                     {func(is site) site { return is }, 0, ""},
		"another container here":                   {func(is site) site { is.Host = "9f2c"; return is }, 0, ""},
		"before a restart of this host":            {func(is site) site { is.Boot, is.Device = "earlier", "9"; return is }, 0, ""},
		"a new name of the host alone":             {func(is site) site { is.Host, is.Boot = "old-name", "earlier"; return is }, time.Hour, ""},
		"another host, just now":                   {func(is site) site { is.Host, is.Boot = "two", "other"; return is }, 0, "alive elsewhere"},
		"another host, a lease and a half ago":     {func(is site) site { is.Host, is.Boot = "two", "other"; return is }, 22 * time.Second, "alive elsewhere"},
		"another host, more than two leases ago":   {func(is site) site { is.Host, is.Boot = "two", "other"; return is }, 31 * time.Second, ""},
		"another host whose clock is ahead":        {func(is site) site { is.Host, is.Boot = "two", "other"; return is }, -time.Minute, "alive elsewhere"},
		"another file on this host":                {func(is site) site { is.File = "77"; return is }, 0, "alive elsewhere"},
		"the same number on another device":        {func(is site) site { is.Device = "77"; return is }, 0, "alive elsewhere"},
		"hosts without a name, boots without one":  {func(is site) site { is.Host, is.Boot = "", ""; return is }, 0, "alive elsewhere"},
		"another host, where boots have no number": {func(is site) site { is.Host, is.Boot = "two", ""; return is }, 0, "alive elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "ops.db")
			s, err := sqlite.OpenStore(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			other := store.Instance{ID: "two/7/abc", Site: tt.other(s.Site()), Seen: s.Now() - tt.ago.Milliseconds(), Lease: 15_000}
			err = s.Write(t.Context(), func(tx store.Tx) error { return tx.NoteInstance(t.Context(), &other) })
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
			inDesk(t, file, func(d *desk) {
				if got := reason(t, d.Ledger); got != tt.want {
					t.Fatalf("the doubt is %q, want %q: %v", got, tt.want, d.Doubt(t.Context()))
				}
				if tt.want == "" {
					d.done(draft("anna", body), result)
					return
				}
				d.refused(draft("anna", body))
				// That time passes says nothing about the other.
				later := other
				later.Seen, later.Doubted = s.Now()-time.Hour.Milliseconds(), true
				if _, err := d.db.ExecContext(t.Context(), "UPDATE ledger_instances SET seen_ms = ? WHERE doubted = 1", later.Seen); err != nil {
					t.Fatal(err)
				}
			})
			if tt.want == "" {
				return
			}
			inDesk(t, file, func(d *desk) {
				if got := reason(t, d.Ledger); got != tt.want {
					t.Errorf("an hour later the doubt is %q, want %q", got, tt.want)
				}
				if err := d.Vouch(t.Context(), checked); err != nil {
					t.Fatal(err)
				}
				d.done(draft("anna", body), result)
				d.decided("vouched", tt.want, checked)
			})
		})
	}
}

// The folder of a program that runs is copied, and the copy started.
func TestACopyOfALiveLedger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file, folder := filepath.Join(t.TempDir(), "ops.db"), t.TempDir()
		d := openDeskAt(t, file)
		d.done(draft("anna", body), result)
		time.Sleep(2 * time.Second) // it is marked
		synctest.Wait()
		if _, err := d.db.ExecContext(t.Context(), "VACUUM INTO ?", filepath.Join(folder, "ops.db")); err != nil {
			t.Fatal(err)
		}
		copyOf(t, file+".witness", filepath.Join(folder, "ops.db.witness"))
		inDesk(t, filepath.Join(folder, "ops.db"), func(c *desk) {
			if got := reason(t, c.Ledger); got != "alive elsewhere" {
				t.Errorf("the doubt is %q, want that it is alive elsewhere", got)
			}
		})
		// Whoever closes it is not alive any more.
		d.close()
		copyOf(t, file, filepath.Join(folder, "ops.db"))
		copyOf(t, file+".witness", filepath.Join(folder, "ops.db.witness"))
		inDesk(t, filepath.Join(folder, "ops.db"), func(c *desk) {
			if got := reason(t, c.Ledger); got != "" {
				t.Errorf("the doubt is %q, want none", got)
			}
		})
	})
}

// A worker leaves a ledger that is in doubt as it is, and goes on when somebody
// vouched for it in another process.
func TestWorkersWaitForSomebodysWord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "ops.db")
		led, _ := openShop(t, file, nil)
		op := enqueue(t, led, 1)
		if err := led.Close(); err != nil {
			t.Fatal(err)
		}
		remove(t, file+".witness")

		e := &executor{}
		led, _ = openShop(t, file, e)
		w, err := ledger.NewWorker(led, ledger.WorkerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		now, err := led.Operation(t.Context(), op.ID)
		if err != nil || e.n.Load() != 0 || !now.UpdatedAt.Equal(op.UpdatedAt) || !now.NotBefore.Equal(op.NotBefore) {
			t.Errorf("after a minute in doubt: %d attempts, %v not before %v, %v", e.n.Load(), now, now.NotBefore, err)
		}
		another, _ := openShop(t, file, nil)
		if err := another.Vouch(t.Context(), checked); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if now, err = led.Operation(t.Context(), op.ID); err != nil || now.Status != ledger.StatusSucceeded || e.n.Load() != 1 {
			t.Errorf("after somebody vouched for it: %v after %d attempts, %v", now.Status, e.n.Load(), err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// An idle worker says that it is alive, and little else.
func TestAnIdleWorkerIsSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "ops.db")
		d := openDeskAt(t, file)
		w, err := ledger.NewWorker(d.Ledger, ledger.WorkerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		const hour = time.Hour
		time.Sleep(hour)
		synctest.Wait()
		var seen, marks int64
		err = d.db.QueryRowContext(t.Context(), "SELECT seen_ms, number FROM ledger_instances, ledger_mark").Scan(&seen, &marks)
		if most := int64(hour / (15 * time.Second)); err != nil || time.Since(time.UnixMilli(seen)) > 30*time.Second || marks > most {
			t.Errorf("after an hour: seen %v ago, %d marks, %v; want within two leases and at most %d", time.Since(time.UnixMilli(seen)), marks, err, most)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Somebody vouched for an older copy, and it went on. The file from before is
// found and put back, which is as far as the copy by now.
func TestCopiesPartWhenSomebodyVouchesForOne(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ops.db")
	order := func(n int) func(d *desk) { return func(d *desk) { d.done(of("anna", n, body), result) } }
	inDesk(t, file, order(1))
	copyOf(t, file, file+".old")
	inDesk(t, file, order(2))
	copyOf(t, file, file+".found")
	copyOf(t, file+".old", file)
	inDesk(t, file, func(d *desk) {
		if err := d.Vouch(t.Context(), checked); err != nil {
			t.Fatal(err)
		}
	})
	copyOf(t, file+".found", file)
	for range 3 { // marks
		inDesk(t, file, func(d *desk) {
			if got := reason(t, d.Ledger); got != "another ledger's witness" {
				t.Errorf("the doubt is %q, want that the witness has seen another copy", got)
			}
		})
	}
}

// busyWitness is asked while others write.
type busyWitness struct {
	ledger.Witness
	meanwhile func()
}

func (w *busyWitness) Recall(ctx context.Context) (ledger.Mark, error) {
	w.meanwhile()
	return w.Witness.Recall(ctx)
}

// A ledger that is opened while another process goes on is not taken for an older
// copy: the witness is asked before the database.
func TestOpeningBesideAnotherThatWrites(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ops.db")
	elsewhere := ledger.WitnessFile(filepath.Join(t.TempDir(), "witness"))
	n := 0
	write := func() {
		n++
		inDesk(t, file, func(d *desk) { d.done(of("anna", n, body), result) }, ledger.WithWitness(elsewhere))
	}
	write()
	inDesk(t, file, func(d *desk) {
		if got := reason(t, d.Ledger); got != "" {
			t.Errorf("the doubt is %q, want none: %v", got, d.Doubt(t.Context()))
		}
	}, ledger.WithWitness(&busyWitness{elsewhere, write}))
}
