package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

// later is a store whose clock is ahead.
type later struct {
	store.Store
	by time.Duration
}

func (l later) Now() int64 { return l.Store.Now() + l.by.Milliseconds() }

// ending is a store that ends its process before one of its commits.
type ending struct {
	store.Store
	n, at int
}

func (e *ending) Write(ctx context.Context, unit func(store.Tx) error) error {
	if _, background := ctx.Deadline(); background { // a mark
		return e.Store.Write(ctx, unit)
	}
	if e.n++; e.n == e.at {
		killSelf()
	}
	return e.Store.Write(ctx, unit)
}

func killSelf() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // the other threads are on their way out
}

const season = 100 * 24 * time.Hour

var ann = ledger.Decision{Who: "ann", Why: "quarterly"}

// helpArchive archives what is in a ledger, a season later, and is killed before a
// commit. If it is not, it says "through".
func helpArchive(args []string) error {
	ctx := context.Background()
	s, err := OpenStore(ctx, args[0])
	if err != nil {
		return err
	}
	at, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	led, err := ledger.New(&ending{Store: later{s, season}, at: at}, ledger.Namespace("shop-test"))
	if err != nil {
		return err
	}
	if _, err := led.Archive(ctx, args[1], ann); err != nil {
		return err
	}
	fmt.Println("through")
	return led.Close()
}

// A kill between any two commits of an archive loses nothing and puts nothing into two
// files, whether the next call names the same file or another.
func TestKillsInAnArchive(t *testing.T) {
	t.Parallel()
	const operations = 70 // two commits of moving
	base := filepath.Join(t.TempDir(), "ops.db")
	before := make(map[string]*ledger.Story)
	withLedger(t, base, 0, func(led *ledger.Ledger) {
		for n := range operations {
			story, err := led.Story(t.Context(), rejected(t, led, n))
			if err != nil {
				t.Fatal(err)
			}
			before[story.Operation.ID] = story
		}
	})
	for _, again := range []string{"the same file", "another"} {
		for at := 1; ; at++ {
			name := fmt.Sprintf("killed before commit %d, then %s", at, again)
			file := filepath.Join(t.TempDir(), "ops.db")
			for _, suffix := range []string{"", ".witness"} {
				writeFile(t, file+suffix, readFile(t, base+suffix))
			}
			folder := t.TempDir()
			first, second := filepath.Join(folder, "first.gz"), filepath.Join(folder, "second.gz")
			if again == "the same file" {
				second = first
			}
			h := startHelper(t, "archive", file, first, strconv.Itoa(at))
			through := h.line() == "through"
			if through {
				h.end(t)
			} else {
				h.kill(t)
			}
			withLedger(t, file, season+time.Hour, func(led *ledger.Ledger) { archiveAgain(t, name, led, second, before) })
			if through {
				if at != 6 {
					t.Errorf("an archive takes %d commits, want 5", at-1)
				}
				break
			}
		}
	}
}

// withLedger runs a session on a file, as if some time had passed.
func withLedger(t *testing.T, file string, by time.Duration, work func(*ledger.Ledger)) {
	t.Helper()
	s, err := OpenStore(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	led, err := ledger.New(later{s, by}, ledger.Namespace("shop-test"))
	if err != nil {
		t.Fatal(err)
	}
	work(led)
	if err := led.Close(); err != nil {
		t.Fatal(err)
	}
}

// rejected is an operation that ended.
func rejected(t *testing.T, led *ledger.Ledger, n int) (id string) {
	t.Helper()
	drive, err := led.Open(t.Context(), &ledger.Draft{
		ID:     fmt.Sprintf("0190a1b2-0000-7000-8000-%012d", n),
		Intent: ledger.Intent{Customer: "anna", Action: "order-confirmed", Version: fmt.Sprint("order-", n)},
		API:    "botix", Origin: "https://api.example", Credential: "0123456789abcdef",
		Payload: ledger.Payload{Method: "POST", Path: "/messages", Body: []byte("{}")}, Driver: ledger.DriverCaller,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer drive.Close()
	now := time.Now()
	err = drive.Begin(t.Context(), func() error { return nil })
	if err == nil {
		err = drive.End(ledger.Ending{Attempt: retry.Attempt{Number: 1, Outcome: retry.Rejected, Rule: "staged", Started: now, Ended: now}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return drive.Operation().ID
}

// archiveAgain ends what was begun, and finds each operation's details in one file
// and not in the ledger.
func archiveAgain(t *testing.T, name string, led *ledger.Ledger, to string, before map[string]*ledger.Story) {
	if _, err := led.Archive(t.Context(), to, ann); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatalf("%s: again: %v", name, err)
	}
	all, err := led.Archives(t.Context())
	if err != nil || len(all) != 1 || all[0].Operations != len(before) || all[0].MovedAt.IsZero() {
		t.Errorf("%s: archives %+v, %v", name, all, err)
	}
	there := make(map[string]bool)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(to), "*.gz"))
	if err != nil || len(files) != 1 {
		t.Errorf("%s: files %v, %v", name, files, err)
	}
	for _, file := range files {
		for story, err := range ledger.ReadArchive(file) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			id := story.Operation.ID
			if there[id] || !reflect.DeepEqual(story.Events, before[id].Events) {
				t.Errorf("%s: %s is there twice (%t) or otherwise:\n%s", name, id, there[id], story)
			}
			there[id] = true
		}
	}
	for id := range before {
		story, err := led.Story(t.Context(), id)
		if err != nil || len(story.Events) != 2 || !there[id] { // recorded, and archived
			t.Errorf("%s: in a file %t, %v:\n%s", name, there[id], err, story)
		}
	}
}
