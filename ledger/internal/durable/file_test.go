package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/durable"
)

// A file is in its place as a whole, or what was there before is.
func TestAFileIsWholeOrNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	holds := func(when, want string) {
		t.Helper()
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("%s: it holds %q, want %q", when, got, want)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 1 {
			t.Errorf("%s: %v, %v", when, entries, err)
		}
	}
	begin := func(text string) *durable.File {
		t.Helper()
		f, err := durable.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, text := range []string{"one", "two"} {
		f := begin(text)
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		holds("committed", text)
		if err := f.Abort(); err != nil {
			t.Errorf("Abort after Commit: %v", err)
		}
		holds("aborted when it was committed", text)
	}
	if err := begin("three").Abort(); err != nil {
		t.Error(err)
	}
	holds("aborted", "two")
	f := begin("four")
	if err := f.Close(); err != nil { // as a full disk would at the end
		t.Fatal(err)
	}
	if err := f.Commit(); err == nil {
		t.Error("what could not be synced was committed")
	}
	holds("failed", "two")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
}

// What was left on the way to one path is gone, and what is of others is not.
func TestClear(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a", "a.1.part", "a.2.part", "ab.1.part", "a.txt", "a.b.1.part", "b.1.part"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(durable.Clear(filepath.Join(dir, "a")), durable.Clear(filepath.Join(dir, "none", "a"))); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"a", "a.b.1.part", "a.txt", "ab.1.part", "b.1.part"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("%v are left, %v; want %v", left, err, want)
	}
}
