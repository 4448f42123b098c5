package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// writeVersion makes a file as a program of an earlier schema left it, with rows of
// every kind that it knew: testdata/rows has what each schema added.
func writeVersion(t *testing.T, path string, version int) {
	t.Helper()
	steps := migrations()
	c, err := connect(path, "", writing)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := c.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k := keep(conn)
	if err := migrate(k, steps[:version]); err != nil {
		t.Fatal(err)
	}
	for n := range version {
		file := filepath.Join("testdata", "rows", fmt.Sprintf("%04d.sql", n+1))
		rows, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s is missing: rows as %s has them", file, steps[n].name)
		}
		if err == nil {
			_, err = k.exec(t.Context(), string(rows), nil)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	if version >= 5 { // as 0005.sql says
		writeFile(t, path+".witness", []byte(`{"line":"a-line","number":7,"at":"2026-05-28T20:26:49Z"}`))
	}
}

// rowsIn counts what is in each of the ledger's tables.
func rowsIn(t *testing.T, path string) map[string]int {
	t.Helper()
	s, err := connect(path, "", writing)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := s.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k := keep(conn)
	defer func() { _ = k.close() }()
	counts := make(map[string]int)
	err = k.query(t.Context(), ledgerTables, nil, func(v []any) error { counts[v[0].(string)] = 0; return nil })
	for name := range counts {
		if err == nil {
			err = k.query(t.Context(), "SELECT COUNT(*) FROM "+name, nil, func(v []any) error { counts[name] = int(v[0].(int64)); return nil })
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

// F063: a file of every earlier schema is brought up to date by opening it. All its
// rows are there, its schema is that of a new file, and it goes on: it answers, sends,
// lists, decides, archives, erases and is backed up.
func TestF063FromEveryEarlierSchema(t *testing.T) {
	t.Parallel()
	golden := string(readFile(t, filepath.Join("testdata", "schema.sql")))
	for version := 1; version <= len(migrations()); version++ {
		t.Run(fmt.Sprint("schema ", version), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ops.db")
			writeVersion(t, path, version)
			before := rowsIn(t, path)
			for name, n := range before {
				if n == 0 {
					t.Errorf("no rows of %s: add some to testdata/rows", name)
				}
			}
			withLedger(t, path, 10*365*24*time.Hour, func(led *ledger.Ledger) { liveOn(t, led, version) })
			after := rowsIn(t, path)
			for name, n := range before {
				switch name {
				case "ledger_attempts", "ledger_history": // two operations were archived
					continue
				case "ledger_instances": // that one is long gone
					continue
				}
				if after[name] < n {
					t.Errorf("%s: %d rows, and there were %d", name, after[name], n)
				}
			}
			d := openAt(t, path)
			checkIntegrity(t, d)
			if got := schemaOf(t, d); got != golden {
				t.Errorf("its schema is not that of a new file:\n%s", got)
			}
		})
	}
}

// liveOn uses a ledger that was brought up to date.
func liveOn(t *testing.T, led *ledger.Ledger, version int) {
	ctx := t.Context()
	if err := led.Doubt(ctx); err != nil {
		t.Fatal(err)
	}
	operations := 13
	if version >= 5 {
		operations++
	}
	stories := make(map[string]*ledger.Story)
	for op, err := range led.All(ctx, ledger.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if stories[op.Intent.Version+" "+op.Intent.Action], err = led.Story(ctx, op.ID); err != nil {
			t.Errorf("the story of %s: %v", op.ID, err)
		}
	}
	if len(stories) != operations {
		t.Errorf("%d operations, want %d", len(stories), operations)
	}
	if s := stories["order-9 order-confirmed"].String(); !strings.Contains(s, "abandoned, by ann (nobody waits for it)") || !strings.Contains(s, "late") {
		t.Errorf("a story lost something:\n%s", s)
	}
	if version >= 4 {
		if s := stories["signup-1 create_key"].String(); !strings.Contains(s, "GET /partner/v1/groups/grp_1/keys") {
			t.Errorf("a story lost its evidence:\n%s", s)
		}
	}

	again := openOrder(t, led, 1)
	if got, ok := again.Repeat(); !ok || string(got) != `{"id":1}` {
		t.Errorf("a repeat is answered by %q, %t", got, ok)
	}
	again.Close()
	for _, n := range []int{3, 100} { // one that failed for now, and a new one
		succeed(t, openOrder(t, led, n))
	}
	happened := ledger.Verdict{Kind: ledger.VerdictHappened, Target: ledger.Target{Kind: "message", ID: "1009", Made: true}}
	if op, err := led.Decide(ctx, "019e6f00-0000-7000-8000-000000000009", happened, ann); err != nil || op.Status != ledger.StatusSucceeded {
		t.Errorf("a verdict: %v, %v", op, err)
	}
	inbox, err := led.Inbox()
	if err != nil {
		t.Fatal(err)
	}
	events, err := inbox.List(ctx, ledger.EventFilter{})
	gaps, e := inbox.Gaps(ctx)
	if err := errors.Join(err, e); err != nil || version >= 2 && (len(events) != 7 || len(gaps) != 1) {
		t.Errorf("%d events and %d gaps, %v", len(events), len(gaps), err)
	}

	// Of what ended long ago, the steps stay: their workflow goes on.
	folder := t.TempDir()
	a, err := led.Archive(ctx, filepath.Join(folder, "a.gz"), ann)
	if err != nil || a.Operations != 2 {
		t.Fatalf("Archive = %+v, %v", a, err)
	}
	for story, err := range ledger.ReadArchive(a.File) {
		if err != nil {
			t.Fatal(err)
		}
		for _, was := range stories {
			if was.Operation.ID == story.Operation.ID && !reflect.DeepEqual(was.Events, story.Events) {
				t.Errorf("the story in the archive:\n%s\nand it was:\n%s", story, was)
			}
		}
	}
	report, err := led.Erase(ctx, "anna", ann)
	archivedBefore := operations - 13
	if err != nil || report.Erased != 4+archivedBefore || len(report.Archives) != 1+archivedBefore {
		t.Errorf("Erase = %+v, %v", report, err)
	}
	backup := filepath.Join(folder, "backup.db")
	if err := led.Backup(ctx, backup); err != nil {
		t.Fatal(err)
	}
	checkIntegrity(t, openAt(t, backup))
}

// openOrder opens the draft of an order as the rows have it.
func openOrder(t *testing.T, led *ledger.Ledger, n int) *ledger.Drive {
	t.Helper()
	drive, err := led.Open(t.Context(), &ledger.Draft{
		ID:     fmt.Sprintf("019e6f01-0000-7000-8000-%012d", n),
		Intent: ledger.Intent{Customer: "anna", Action: "order-confirmed", Version: fmt.Sprint("order-", n)},
		API:    "botix", Origin: "https://api.example", Credential: "0123456789abcdef",
		Payload: ledger.Payload{Method: "POST", Path: "/public/v1/messages/send", Body: []byte(`{"contact_id":42,"content":"Заказ подтверждён"}`)},
		Driver:  ledger.DriverCaller,
	})
	if err != nil {
		t.Fatal(err)
	}
	return drive
}

func succeed(t *testing.T, drive *ledger.Drive) {
	t.Helper()
	defer drive.Close()
	now := time.Now()
	err := drive.Begin(t.Context(), func() error { return nil })
	if err == nil {
		err = drive.End(ledger.Ending{
			Attempt: retry.Attempt{Number: 1, Outcome: retry.Succeeded, Rule: "2xx", Started: now, Ended: now}, Result: []byte(`{"id":2}`),
		})
	}
	if err != nil {
		t.Error(err)
	}
}

// F063: of several processes that open a file of an earlier schema at once, and of
// which one is killed, one brings it up to date, and no row is lost.
func TestF063ManyStartOnAnEarlierSchema(t *testing.T) {
	t.Parallel()
	newest := len(migrations())
	for _, version := range []int{1, newest - 1} {
		for _, kill := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "ops.db")
			writeVersion(t, path, version)
			before := rowsIn(t, path)
			var all []*helper
			for range 4 {
				all = append(all, startHelper(t, "open", path))
			}
			if kill {
				all[0].kill(t) // perhaps in the middle of it
				all = all[1:]
			}
			for _, h := range all {
				if line := h.line(); line != "open" {
					t.Errorf("schema %d, killed %t: a process said %q: %s", version, kill, line, h.stderr.String())
				}
				h.end(t)
			}
			after := rowsIn(t, path)
			for name, n := range before {
				if after[name] != n {
					t.Errorf("schema %d, killed %t: %s has %d rows, and had %d", version, kill, name, after[name], n)
				}
			}
			checkIntegrity(t, openAt(t, path))
		}
	}
}

// Of what an earlier schema has in the outbox, what was told goes, and what was not
// stays to be told. Neither leaves another notice.
func TestUpgradeOfTheOutbox(t *testing.T) {
	t.Parallel()
	version := slices.IndexFunc(migrations(), func(m migration) bool { return strings.HasSuffix(m.name, "_outbox.sql") })
	for told, want := range []int{1, 0} {
		path := filepath.Join(t.TempDir(), "ops.db")
		writeVersion(t, path, version)
		runSQL(t, path, fmt.Sprint("UPDATE ledger_outbox SET told_at_ms = ", told))
		d := openAt(t, path)
		var left, tells int
		err := d.Handle().QueryRowContext(t.Context(), `
			SELECT (SELECT COUNT(*) FROM ledger_outbox), (SELECT MAX(tells) FROM ledger_workflows)`).Scan(&left, &tells)
		if err != nil || left != want || tells != 0 {
			t.Errorf("told %d: %d notices are left, and %d are to come, %v; want %d and none", told, left, tells, err, want)
		}
	}
}

// A newer schema is refused by whatever opens it, and stays as it is.
func TestNewerSchemaIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ops.db")
	writeVersion(t, path, len(migrations()))
	runSQL(t, path, fmt.Sprintf("UPDATE ledger_meta SET value = '%d' WHERE name = 'schema'; CREATE TABLE ledger_newer (a TEXT) STRICT", len(migrations())+1))
	before := readFile(t, path)
	for name, open := range map[string]func() error{
		"Open":         func() error { return closed(Open(t.Context(), path, ledger.Namespace("shop-test"))) },
		"OpenExisting": func() error { return closed(OpenExisting(t.Context(), path, ledger.Namespace("shop-test"))) },
		"OpenStore":    func() error { return closed(OpenStore(context.WithoutCancel(t.Context()), path)) },
	} {
		if err := open(); err == nil || !strings.Contains(err.Error(), "needs a newer release") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := readFile(t, path); string(after) != string(before) {
		t.Error("the file was changed")
	}
}

func closed[T interface{ Close() error }](opened T, err error) error {
	if err != nil {
		return err
	}
	return opened.Close()
}
