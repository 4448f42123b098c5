package sqlite

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestProcessesShareFairly(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	path := filepath.Join(t.TempDir(), "ops.db")
	const processes = 3
	var all []*helper
	var starts []io.WriteCloser
	for range processes {
		h := prepareHelper(t, "share", path, "3s")
		start, err := h.cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := h.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line := h.line(); line != "ready" {
			t.Fatalf("a process said %q: %s", line, h.stderr.String())
		}
		all, starts = append(all, h), append(starts, start)
	}
	for _, start := range starts {
		if _, err := io.WriteString(start, "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	total, least := 0, 0
	var shares []string
	for i, h := range all {
		var operations, commits int
		output := h.end(t) // fails the test if any call failed
		if len(output) != 1 {
			t.Fatalf("process %d said %q", i, output)
		}
		if _, err := fmt.Sscan(output[0], &operations, &commits); err != nil {
			t.Fatal(err)
		}
		total += commits
		if i == 0 || commits < least {
			least = commits
		}
		shares = append(shares, output[0])
	}
	t.Logf("operations and commits: %q", shares)
	if least < total/processes/2 {
		t.Errorf("one process had %d of %d commits, less than half its fair share: %q", least, total, shares)
	}
	checkIntegrity(t, openAt(t, path))
}

func TestContentionIsRememberedForASecond(t *testing.T) {
	t.Parallel()
	f := fairness{mark: filepath.Join(t.TempDir(), "ops.db.contended")}
	now := time.Now()
	if f.contended(now) {
		t.Error("contended without a mark")
	}
	f.waiting(now)
	for after, want := range map[time.Duration]bool{0: true, 900 * time.Millisecond: true, 2 * time.Second: false, -2 * time.Second: false} {
		if got := f.contended(now.Add(after)); got != want {
			t.Errorf("contended %v after somebody waited = %v, want %v", after, got, want)
		}
	}
	old := now.Add(-time.Hour)
	if err := os.Chtimes(f.mark, old, old); err != nil {
		t.Fatal(err)
	}
	f.waiting(now.Add(retouch / 2))
	if f.contended(now) {
		t.Error("the mark was renewed too soon")
	}
	f.waiting(now.Add(retouch))
	if !f.contended(now) {
		t.Error("the mark was not renewed")
	}
	lonely := openNew(t)
	put(t, lonely)
	if _, err := os.Stat(lonely.writer.fair.mark); err == nil {
		t.Error("a process alone left a mark")
	}
}
