package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/ledger/internal/storetest"
)

// Tests that need other processes start this test binary again, with the name
// of a helper in the environment and its arguments as they are.
const helperVariable = "LEDGER_SQLITE_HELPER"

var helpers = map[string]func(args []string) error{
	"open":    helpOpen,
	"attempt": helpAttempt,
	"write":   helpWrite,
	"share":   helpShare,
	"archive": helpArchive,
}

func TestMain(m *testing.M) {
	name := os.Getenv(helperVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := helpers[name](os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// helper is a process that runs until it ends or is killed.
type helper struct {
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	stderr strings.Builder
}

func startHelper(t testing.TB, name string, args ...string) *helper {
	t.Helper()
	h := prepareHelper(t, name, args...)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return h
}

func prepareHelper(t testing.TB, name string, args ...string) *helper {
	t.Helper()
	h := &helper{cmd: exec.Command(os.Args[0], args...)}
	h.cmd.Env = append(os.Environ(), helperVariable+"="+name)
	h.cmd.Stderr = &h.stderr
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.lines = bufio.NewScanner(out)
	t.Cleanup(func() {
		if h.cmd.Process != nil && h.cmd.ProcessState == nil { // the test ended early
			_ = h.cmd.Process.Kill()
			_ = h.cmd.Wait()
		}
	})
	return h
}

// line returns the next line of output, "" at its end.
func (h *helper) line() string {
	if h.lines.Scan() {
		return h.lines.Text()
	}
	return ""
}

// end waits for the helper and fails the test if it failed.
func (h *helper) end(t testing.TB) (output []string) {
	t.Helper()
	for h.lines.Scan() {
		output = append(output, h.lines.Text())
	}
	if err := h.cmd.Wait(); err != nil {
		t.Errorf("helper: %v\n%s", err, h.stderr.String())
	}
	return output
}

// kill ends the helper as a power switch would, and returns what it had said.
func (h *helper) kill(t testing.TB) (output []string) {
	t.Helper()
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for h.lines.Scan() {
		output = append(output, h.lines.Text())
	}
	_ = h.cmd.Wait() // it was killed
	return output
}

// helpOpen opens the ledger, says so, and closes it when its input ends.
func helpOpen(args []string) error {
	s, err := OpenStore(context.Background(), args[0])
	if err != nil {
		return err
	}
	fmt.Println("open")
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, s.Close())
}

// helpAttempt has 4 goroutines read an operation and record an attempt of it,
// 100 times each.
func helpAttempt(args []string) error {
	ctx := context.Background()
	s, err := OpenStore(ctx, args[0])
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	failures := make(chan error, 4)
	for range 4 {
		wg.Go(func() {
			for range 100 {
				if err := s.Write(ctx, nextAttempt(ctx, args[1])); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		return err
	}
	return s.Close()
}

func nextAttempt(ctx context.Context, id string) func(store.Tx) error {
	return func(tx store.Tx) error {
		op, err := tx.Operation(ctx, id)
		if err != nil {
			return err
		}
		op.AttemptCount++
		if err := tx.InsertAttempt(ctx, storetest.NewAttempt(op, op.AttemptCount)); err != nil {
			return err
		}
		return tx.Update(ctx, op, store.Lease{Token: op.Lease.Token + 1})
	}
}

// ownOperation is an operation that no other process makes.
func ownOperation() *store.Operation {
	op := storetest.NewOperation()
	suffix := fmt.Sprintf("-%d", os.Getpid())
	op.ID, op.Key, op.Intent.Customer = op.ID+suffix, op.Key+suffix, op.Intent.Customer+suffix
	return op
}

// helpWrite begins operations with 8 goroutines until it is killed, and prints
// the id of each that is durable.
func helpWrite(args []string) error {
	ctx := context.Background()
	s, err := OpenStore(ctx, args[0])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	failures := make(chan error)
	for range 8 {
		go func() {
			for {
				op := ownOperation()
				if err := s.Write(ctx, wholeUnit(op)); err != nil {
					failures <- err
					return
				}
				if _, err := os.Stdout.WriteString(op.ID + "\n"); err != nil {
					failures <- err
					return
				}
			}
		}()
	}
	return <-failures
}

// helpShare begins operations with 8 goroutines for a while and prints how many.
func helpShare(args []string) error {
	ctx := context.Background()
	d, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	s, err := OpenStore(ctx, args[0])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	begin := time.Now()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	total := 0
	for range 8 {
		wg.Go(func() {
			n := 0
			var err error
			for err == nil && time.Since(begin) < d {
				op := ownOperation()
				if err = s.Write(ctx, wholeUnit(op)); err == nil {
					n++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total += n
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	fmt.Println(total, s.(*database).writer.commits.Load())
	return errors.Join(failed, s.Close())
}

// wholeUnit writes to every table.
func wholeUnit(op *store.Operation) func(store.Tx) error {
	begin := beginUnit(op, storetest.NewAttempt(op, 1))
	return func(tx store.Tx) error {
		if err := begin(tx); err != nil {
			return err
		}
		return tx.Append(context.Background(), &store.Event{OperationID: op.ID, At: op.CreatedAt, To: op.Status, What: "recorded", Attempt: 1})
	}
}
