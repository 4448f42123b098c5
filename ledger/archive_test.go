package ledger_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

const quarter = 91 * 24 * time.Hour

var owner = ledger.Decision{Who: "dpo@shop", Why: "quarterly, ticket 31"}

// oldShop makes operations of every kind that is old, and returns those whose
// details can go and those whose details cannot.
func (d *desk) oldShop() (gone, stay []string) {
	d.Helper()
	given := ledger.Verdict{Kind: ledger.VerdictGiveUp, Evidence: []ledger.Look{{What: "GET /messages", At: time.Now(), Read: 3, Complete: true}}}
	decide := func(id string, v ledger.Verdict) string {
		d.Helper()
		if _, err := d.Decide(d.Context(), id, v, ann); err != nil {
			d.Fatal(err)
		}
		return id
	}
	retried := d.begin(of("old", 1, body))
	now := time.Now()
	err := retried.End(ledger.Ending{Attempt: retry.Attempt{Number: 1, Outcome: unknown, Rule: "staged", Started: now, Ended: now}, More: true, Resend: true,
		ServerOffset: new(1500 * time.Millisecond)})
	if err := errors.Join(err, retried.Begin(d.Context(), open)); err != nil {
		d.Fatal(err)
	}
	gone = append(gone,
		d.end(retried, retry.Succeeded, result, ""),
		d.done(of("old", 2, body), result),
		d.end(d.begin(of("old", 3, body)), retry.Rejected, "", "the phone is blocked"),
		decide(d.lost(of("old", 4, body)), given),
		decide(d.enqueued(of("old", 5, body)), giveUp), // without an attempt
	)
	stay = append(stay,
		d.lost(of("old", 6, body)), // reconciling
		d.enqueued(of("old", 7, body)),
		decide(d.cutOff(of("old", 8, body)), giveUp), // its attempt may still tell of a success
	)
	time.Sleep(quarter)
	return gone, append(stay, d.done(of("new", 1, body), result))
}

// stories tells the stories of operations as they are now.
func (d *desk) stories(ids []string) map[string]*ledger.Story {
	d.Helper()
	all := make(map[string]*ledger.Story)
	for _, id := range ids {
		story, err := d.Story(d.Context(), id)
		if err != nil {
			d.Fatal(err)
		}
		all[id] = story
	}
	return all
}

// details counts the attempts and events of an operation in the database.
func (d *desk) details(id string) (n int) {
	d.Helper()
	err := d.db.QueryRowContext(d.Context(), `SELECT (SELECT count(*) FROM ledger_attempts WHERE operation_id = ?1)
		+ (SELECT count(*) FROM ledger_history WHERE operation_id = ?1)`, id).Scan(&n)
	if err != nil {
		d.Fatal(err)
	}
	return n
}

// archivedIn reads an archive whole.
func archivedIn(t *testing.T, file string) map[string]*ledger.Story {
	t.Helper()
	all := make(map[string]*ledger.Story)
	for story, err := range ledger.ReadArchive(file) {
		if err != nil {
			t.Fatal(err)
		}
		if all[story.Operation.ID] != nil {
			t.Errorf("%s is in %s twice", story.Operation.ID, filepath.Base(file))
		}
		all[story.Operation.ID] = story
	}
	return all
}

// Old details move to a file, and nothing else changes: the stories in the file are
// those from before, the operations stay, and so does what is open, new or unclear.
func TestArchive(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		gone, stay := d.oldShop()
		before, kept, operations := d.stories(gone), d.stories(stay), d.times()
		file := filepath.Join(d.TempDir(), "2026-05.jsonl.gz")
		a, err := d.Archive(d.Context(), file, owner)
		if err != nil {
			d.Fatal(err)
		}
		if a.Operations != len(gone) || a.Number != 1 || a.File != file || a.By != owner || a.MovedAt.IsZero() || a.Attempts != 5 {
			d.Errorf("Archive = %+v", a)
		}
		content := read(d.T, file)
		if sum := sha256.Sum256([]byte(content)); a.SHA256 != hex.EncodeToString(sum[:]) {
			d.Errorf("its checksum is %s, that of the file %x", a.SHA256, sum)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			d.Errorf("its mode is %v, %v", info.Mode(), err)
		}
		alone(d.T, file)

		stories := archivedIn(d.T, file)
		if len(stories) != len(gone) {
			d.Errorf("%d operations in the file, want %d", len(stories), len(gone))
		}
		for _, id := range gone {
			if n := d.details(id); n != 0 {
				d.Errorf("%s has %d details in the ledger", id, n)
			}
			there := stories[id]
			if there == nil {
				d.Errorf("%s is not in the file", id)
				continue
			}
			if was := before[id]; !reflect.DeepEqual(there.Events, was.Events) || there.Operation.Status != was.Operation.Status {
				d.Errorf("the story in the file:\n%s\nand it was:\n%s", there, was)
			}
			if here := d.stories([]string{id})[id].String(); !strings.Contains(here, "archive 1: "+file) || !strings.Contains(here, owner.Who) {
				d.Errorf("the story does not tell where its details are:\n%s", here)
			}
		}
		for id, story := range d.stories(stay) {
			if !slices.EqualFunc(story.Events, kept[id].Events, func(a, b ledger.StoryEvent) bool { return reflect.DeepEqual(a, b) }) {
				d.Errorf("a story that stays is now:\n%s", story)
			}
		}
		if now := d.times(); now != operations {
			d.Errorf("the operations were\n%s\nand are\n%s", operations, now)
		}
		repeat := d.operation(of("old", 1, body))
		if repeat.Status != ledger.StatusSucceeded || string(repeat.Result) != result {
			d.Errorf("a repeat: %v, %q", repeat, repeat.Result)
		}
		for _, words := range []string{"order-1\"", "входа 4711", "79001234567", "customer"} {
			for _, story := range stories {
				if strings.Contains(story.String(), words) {
					d.Errorf("%q is in the archive:\n%s", words, story)
				}
			}
		}
		if again, err := d.Archive(d.Context(), filepath.Join(d.TempDir(), "b.gz"), owner); again != nil || err != nil {
			d.Errorf("when nothing is old: %+v, %v", again, err)
		}
		if all, err := d.Archives(d.Context()); err != nil || len(all) != 1 || *all[0] != *a {
			d.Errorf("Archives = %+v, %v; want %+v", all, err, a)
		}
		// What is left goes on, and its details go later.
		for _, id := range stay[:2] {
			if _, err := d.Decide(d.Context(), id, giveUp, ann); err != nil {
				d.Error(err)
			}
		}
		time.Sleep(quarter)
		second := filepath.Join(d.TempDir(), "2026-08.jsonl.gz")
		if a, err = d.Archive(d.Context(), second, owner); err != nil || a.Operations != 3 || a.Number != 2 {
			d.Fatalf("the next: %+v, %v", a, err)
		}
	})
}

// What is asked of an archive, and what is refused.
func TestArchiveIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := ledger.New(mustStoreAt(t, filepath.Join(t.TempDir(), "ops.db")), ledger.Namespace("x"), ledger.DetailsFor(7*24*time.Hour)); err == nil {
		t.Error("details are kept no longer than servers remember keys")
	}
	atDesk(t, func(d *desk) {
		d.done(of("old", 1, body), result)
		time.Sleep(30 * 24 * time.Hour)
		file := filepath.Join(d.TempDir(), "a.gz")
		write(d.T, file, "somebody else's")
		for name, tt := range map[string]struct {
			ctx  context.Context
			to   string
			by   ledger.Decision
			want error
		}{
			"nobody":           {d.Context(), file + "2", ledger.Decision{Why: "x"}, ledger.ErrDecision},
			"no reason":        {d.Context(), file + "2", ledger.Decision{Who: "x"}, ledger.ErrDecision},
			"a file is there":  {d.Context(), file, owner, fs.ErrExist},
			"no folder":        {d.Context(), filepath.Join(file+"3", "a.gz"), owner, fs.ErrNotExist},
			"in a transaction": {d.InsideTx(d.Context()), file + "2", owner, ledger.ErrInTx},
		} {
			if a, err := d.Archive(tt.ctx, tt.to, tt.by); !errors.Is(err, tt.want) {
				d.Errorf("%s: %+v, %v; want %v", name, a, err, tt.want)
			}
		}
		if got := read(d.T, file); got != "somebody else's" {
			d.Errorf("the file is now %q", got)
		}
		alone(d.T, file)
		if a, err := d.Archive(d.Context(), file+"2", owner); err != nil || a.Operations != 1 {
			d.Errorf("and then: %+v, %v", a, err)
		}
	}, ledger.DetailsFor(10*24*time.Hour))
}

// A file that was cut off, changed or added to is refused before anything of it is
// told.
func TestArchiveThatIsDamaged(t *testing.T) {
	t.Parallel()
	var content []byte
	var text string
	atDesk(t, func(d *desk) {
		d.oldShop()
		file := filepath.Join(d.TempDir(), "a.gz")
		if _, err := d.Archive(d.Context(), file, owner); err != nil {
			d.Fatal(err)
		}
		content, text = []byte(read(d.T, file)), d.unpacked(file)
	})
	changed := func(at int) []byte {
		other := bytes.Clone(content)
		other[at] ^= 0x20
		return other
	}
	// What was packed anew is in order for gzip.
	packed := func(edit func(string) string) []byte {
		var to bytes.Buffer
		zip := gzip.NewWriter(&to)
		_, err := io.WriteString(zip, edit(text))
		if err := errors.Join(err, zip.Close()); err != nil {
			t.Fatal(err)
		}
		return to.Bytes()
	}
	lines := strings.SplitAfter(text, "\n")
	for name, other := range map[string][]byte{
		"a word changed":     packed(func(s string) string { return strings.Replace(s, "staged", "nobody", 1) }),
		"a line less":        packed(func(string) string { return strings.Join(slices.Delete(slices.Clone(lines), 1, 2), "") }),
		"a line twice":       packed(func(string) string { return strings.Join(slices.Insert(slices.Clone(lines), 1, lines[1]), "") }),
		"without an end":     packed(func(string) string { return strings.Join(lines[:len(lines)-2], "") }),
		"a line after it":    packed(func(s string) string { return s + lines[1] }),
		"without its head":   packed(func(string) string { return strings.Join(lines[1:], "") }),
		"of another version": packed(func(s string) string { return strings.Replace(s, "archive/1", "archive/2", 1) }),
		"nothing":            {}, "a text": []byte("{}"), "cut off": content[:len(content)-1], "half": content[:len(content)/2],
		"changed": changed(len(content) / 2), "a changed checksum": changed(len(content) - 6),
		"added to": append(bytes.Clone(content), 'x'), "twice": append(bytes.Clone(content), content...),
	} {
		file := filepath.Join(t.TempDir(), "a.gz")
		if err := os.WriteFile(file, other, 0o600); err != nil {
			t.Fatal(err)
		}
		n := 0
		for story, err := range ledger.ReadArchive(file) {
			if n++; story != nil || !errors.Is(err, ledger.ErrArchive) {
				t.Errorf("%s: %v, %v; want ErrArchive and no story", name, story, err)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d elements", name, n)
		}
	}
	for _, err := range ledger.ReadArchive(filepath.Join(t.TempDir(), "none")) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no file: %v", err)
		}
	}
}

// stepping is a store in which something happens before a commit of a call.
type stepping struct {
	store.Store
	n  int
	do map[int]func()
}

func (s *stepping) Write(ctx context.Context, unit func(store.Tx) error) error {
	if _, background := ctx.Deadline(); !background { // as marks are
		s.n++
		if do := s.do[s.n]; do != nil {
			do()
		}
	}
	return s.Store.Write(ctx, unit)
}

// step opens the ledger of a desk a second time, over such a store.
func (d *desk) step(s *stepping) *desk {
	d.Helper()
	s.Store = mustStoreAt(d.T, d.file)
	led, err := ledger.New(s, ledger.Namespace("shop-test"))
	if err != nil {
		d.Fatal(err)
	}
	other := &desk{d.T, led, s.Handle(), d.file}
	d.Cleanup(other.close)
	return other
}

// The commits of an archive of one operation.
const (
	commitBegin = iota + 1
	commitWhole
	commitMove
	commitEnd
)

// What changes after the file was written stays in the ledger, and is not lost.
func TestArchiveLeavesWhatHasChangedSince(t *testing.T) {
	t.Parallel()
	for _, at := range []int{commitWhole, commitMove} {
		atDesk(t, func(d *desk) {
			id := d.end(d.begin(of("old", 1, body)), retry.Rejected, "", "the phone +79001234567 is blocked")
			time.Sleep(quarter)
			var report *ledger.Erasure
			other := d.step(&stepping{do: map[int]func(){at: func() {
				var err error
				if report, err = d.Erase(d.Context(), "old", dpo); err != nil {
					d.Error(err)
				}
			}}})
			a, err := other.Archive(d.Context(), filepath.Join(d.TempDir(), "a.gz"), owner)
			if err != nil || a.Operations != 1 {
				d.Fatalf("Archive = %+v, %v", a, err)
			}
			if events := d.history(id); len(events) != 2 || events[1].what != "erased" || d.details(id) != 3 {
				d.Errorf("erased before commit %d: its history is %q, with %d details", at, events, d.details(id))
			}
			// Who erases is told of the file in which the words still are.
			if len(report.Archives) != 1 || report.Archives[0].Number != a.Number {
				d.Errorf("the erasure does not tell of the archive: %+v", report)
			}
			if story := d.stories([]string{id})[id].String(); !strings.Contains(story, a.File) {
				d.Errorf("the story does not tell of the archive:\n%s", story)
			}
		})
	}
}

// One archives at a time. Who was overtaken moves nothing.
func TestTwoArchive(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		id := d.done(of("old", 1, body), result)
		time.Sleep(quarter)
		file := filepath.Join(d.TempDir(), "a.gz")
		first := d.step(&stepping{do: map[int]func(){
			commitWhole: func() {
				if a, err := d.Archive(d.Context(), file+"2", owner); !errors.Is(err, ledger.ErrInProgress) {
					d.Errorf("a second one meanwhile: %+v, %v; want ErrInProgress", a, err)
				}
			},
			commitMove: func() { // it stood still for longer than its lease
				time.Sleep(time.Minute)
				if a, err := d.Archive(d.Context(), file, owner); err != nil || a.Operations != 1 {
					d.Errorf("the one that takes over: %+v, %v", a, err)
				}
				d.store("error_code", id, "changed") // nobody may move it twice
			},
		}})
		if a, err := first.Archive(d.Context(), file, owner); !errors.Is(err, ledger.ErrLeaseLost) {
			d.Errorf("the one that was overtaken: %+v, %v; want ErrLeaseLost", a, err)
		}
		if all, err := d.Archives(d.Context()); err != nil || len(all) != 1 || all[0].MovedAt.IsZero() {
			d.Errorf("archives: %+v, %v", all, err)
		}
	})
}

// A process that was stopped tells of a success when its operation was given up and
// everything around it has been archived: it is recorded, and put before a person.
func TestALateSuccessAfterAnArchive(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		drive := d.begin(of("old", 1, body))
		id := drive.Operation().ID
		drive.Close() // its lease is not renewed any more
		time.Sleep(time.Minute)
		if _, err := d.Decide(d.Context(), id, giveUp, ann); err != nil {
			d.Fatal(err)
		}
		d.done(of("old", 2, body), result)
		time.Sleep(quarter)
		if a, err := d.Archive(d.Context(), filepath.Join(d.TempDir(), "a.gz"), owner); err != nil || a.Operations != 1 {
			d.Fatalf("Archive = %+v, %v", a, err)
		}
		d.end(drive, retry.Succeeded, result, "")
		if op := d.op(id); op.Status != ledger.StatusReconciling || op.Next != ledger.NextPerson {
			d.Errorf("it stands at %s, next %s; want reconciling, a person's", op.Status, op.Next)
		}
	})
}

// The file of an archive that was not moved to its end is lost or changed: nothing
// more leaves the ledger. It goes on when the file is back, or somebody names another.
func TestArchiveWhoseFileIsLost(t *testing.T) {
	t.Parallel()
	for _, back := range []bool{true, false} {
		archiveWhoseFileIsLost(t, back)
	}
}

func archiveWhoseFileIsLost(t *testing.T, back bool) {
	atDesk(t, func(d *desk) {
		id := d.done(of("old", 1, body), result)
		time.Sleep(quarter)
		folder := d.TempDir()
		file := filepath.Join(folder, "a.gz")
		var whole string
		crashed := errors.New("crashed")
		other := d.step(&stepping{do: map[int]func(){commitMove: func() { whole = read(d.T, file); panic(crashed) }}})
		func() {
			defer func() {
				if p := recover(); p != crashed {
					panic(p)
				}
			}()
			_, _ = other.Archive(d.Context(), file, owner) // it does not return
		}()
		time.Sleep(time.Minute)
		for name, change := range map[string]func(){
			"lost":    func() { remove(d.T, file) },
			"another": func() { write(d.T, file, strings.Replace(whole, "\x00", "\x01", 1)) },
		} {
			change()
			if a, err := d.Archive(d.Context(), file, owner); err == nil || !strings.Contains(err.Error(), "bring its file back") {
				d.Fatalf("%s: %+v, %v; %d details are left", name, a, err, d.details(id))
			}
			if n := d.details(id); n != 2 {
				d.Errorf("%s: %d details are left, want both", name, n)
			}
			write(d.T, file, whole)
		}
		if back {
			if a, err := d.Archive(d.Context(), file, owner); err != nil || a.Operations != 1 || d.details(id) != 0 {
				d.Errorf("when it is back: %+v, %v, %d details", a, err, d.details(id))
			}
			return
		}
		remove(d.T, file)
		a, err := d.Archive(d.Context(), filepath.Join(folder, "b.gz"), owner)
		if err != nil || a.Operations != 1 || a.Number != 2 || d.details(id) != 0 {
			d.Errorf("to another file: %+v, %v, %d details", a, err, d.details(id))
		}
		d.decided("archive given up", "archive 1: ", owner)
	})
}

// after is a store in which something is looked at after each commit.
type after struct {
	store.Store
	look func()
}

func (s *after) Write(ctx context.Context, unit func(store.Tx) error) error {
	err := s.Store.Write(ctx, unit)
	s.look()
	return err
}

// What a crash left of an archive that is begun anew elsewhere is named by the ledger
// for as long as it is there.
func TestArchiveBegunAnewLeavesNoFile(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		id := d.done(of("old", 1, body), result)
		time.Sleep(quarter)
		folder := d.TempDir()
		first, second := filepath.Join(folder, "a.gz"), filepath.Join(folder, "b.gz")
		crashed := errors.New("crashed")
		crashing := d.step(&stepping{do: map[int]func(){commitWhole: func() { panic(crashed) }}})
		func() {
			defer func() {
				if p := recover(); p != crashed {
					panic(p)
				}
			}()
			_, _ = crashing.Archive(d.Context(), first, owner) // it does not return
		}()
		write(d.T, first+".123.part", "the beginning of it")
		time.Sleep(time.Minute)

		s := &after{Store: mustStoreAt(d.T, d.file), look: func() {}}
		led, err := ledger.New(s, ledger.Namespace("shop-test"))
		if err != nil {
			d.Fatal(err)
		}
		other := &desk{d.T, led, s.Handle(), d.file}
		d.Cleanup(other.close)
		looks := 0
		s.look = func() {
			files, err := filepath.Glob(first + "*")
			if err != nil || len(files) == 0 {
				return
			}
			looks++
			if all, err := d.Archives(d.Context()); err != nil || len(all) != 1 || all[0].File != first {
				d.Errorf("%v is there, and the archives are %+v, %v", files, all, err)
			}
		}
		a, err := other.Archive(d.Context(), second, owner)
		if err != nil || a.File != second || a.Number != 1 || a.Operations != 1 || d.details(id) != 0 || looks == 0 {
			d.Errorf("Archive = %+v, %v after %d looks", a, err, looks)
		}
		alone(d.T, second)
	})
}

// Erased before, an operation has no words in the file. Erased after, its archives
// are told. A backup from before has all of it again, and archives nothing on its
// own word.
func TestErasingArchivesAndBackups(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		words := "the phone +79001234567 is blocked"
		first := d.end(d.begin(of("anna", 1, body)), retry.Rejected, "", words)
		second := d.end(d.begin(of("boris", 1, body)), retry.Rejected, "", words)
		if report, err := d.Erase(d.Context(), "anna", dpo); err != nil || report.Archives != nil {
			d.Fatalf("Erase = %+v, %v", report, err)
		}
		time.Sleep(quarter)
		folder := d.TempDir()
		backup, file := filepath.Join(folder, "backup.db"), filepath.Join(folder, "a.gz")
		if err := d.Backup(d.Context(), backup); err != nil {
			d.Fatal(err)
		}
		a, err := d.Archive(d.Context(), file, owner)
		if err != nil || a.Operations != 2 {
			d.Fatalf("Archive = %+v, %v", a, err)
		}
		content := d.unpacked(file)
		if n := strings.Count(content, words); n != 1 || !strings.Contains(content, dpo.Who) {
			d.Errorf("the words are in the file %d times, want boris's only:\n%s", n, content)
		}
		for _, private := range []string{"anna", "boris", "order-1", "4711"} {
			if strings.Contains(content, private) {
				d.Errorf("%q is in the file", private)
			}
		}
		report, err := d.Erase(d.Context(), "boris", dpo)
		if err != nil || report.Erased != 1 || len(report.Archives) != 1 || report.Archives[0].File != file {
			d.Errorf("Erase = %+v, %v; want to be told of the archive", report, err)
		}
		d.gone(words)

		copyOf(d.T, backup, filepath.Join(folder, "restored.db"))
		inDesk(d.T, filepath.Join(folder, "restored.db"), func(c *desk) {
			again := filepath.Join(folder, "b.gz")
			if a, err := c.Archive(c.Context(), again, owner); !errors.Is(err, ledger.ErrInDoubt) {
				c.Fatalf("a backup archives: %+v, %v", a, err)
			}
			for reason(d.T, c.Ledger) != "" {
				if err := c.Vouch(c.Context(), checked); err != nil && !errors.Is(err, ledger.ErrInDoubt) {
					c.Fatal(err)
				}
			}
			if a, err := c.Archive(c.Context(), again, owner); err != nil || a.Operations != 2 || c.details(first)+c.details(second) != 0 {
				c.Errorf("once somebody vouched for it: %+v, %v", a, err)
			}
		})
	})
}

// unpacked is what is in an archive.
func (d *desk) unpacked(file string) string {
	d.Helper()
	f, err := os.Open(file)
	if err != nil {
		d.Fatal(err)
	}
	zip, err := gzip.NewReader(f)
	if err != nil {
		d.Fatal(err)
	}
	content, err := io.ReadAll(zip)
	if err := errors.Join(err, f.Close()); err != nil {
		d.Fatal(err)
	}
	return string(content)
}

// Programs that share a database archive their own only.
func TestArchiveOfANamespace(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		d.done(of("old", 1, body), result)
		led, err := ledger.New(mustStoreAt(d.T, d.file), ledger.Namespace("another"))
		if err != nil {
			d.Fatal(err)
		}
		another := &desk{d.T, led, d.db, d.file}
		d.Cleanup(another.close)
		id := another.done(of("old", 1, body), result)
		time.Sleep(quarter)
		if a, err := d.Archive(d.Context(), filepath.Join(d.TempDir(), "a.gz"), owner); err != nil || a.Operations != 1 || d.details(id) != 2 {
			d.Errorf("Archive = %+v, %v; %d details of the other are left", a, err, d.details(id))
		}
		if all, err := another.Archives(d.Context()); err != nil || len(all) != 0 {
			d.Errorf("the other's archives: %+v, %v", all, err)
		}
	})
}

// FuzzReadArchive: whatever a file holds, reading it ends in order.
func FuzzReadArchive(f *testing.F) {
	pack := func(lines ...string) []byte {
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		for _, line := range lines {
			_, _ = io.WriteString(zip, line+"\n") // into memory
		}
		_ = zip.Close()
		return packed.Bytes()
	}
	const head = `{"format":"botix-ledger-archive/1"}`
	f.Add([]byte("text"))
	f.Add(pack(head))
	f.Add(pack(head, `{"id":"a","attempts":[{"number":1}],"history":[{"from_status":"pending","looks":"["}]}`))
	f.Add(pack(head, `{"end":{"operations":0,"attempts":0,"events":0,"sha256":"`+strings.Repeat("0", 64)+`"}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		file := filepath.Join(t.TempDir(), "a.gz")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		for story, err := range ledger.ReadArchive(file) {
			if (story == nil) == (err == nil) {
				t.Errorf("%v, %v", story, err)
			}
		}
	})
}
