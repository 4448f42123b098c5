package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
)

// writerFile is set in the process that plays the program whose inbox it is.
const writerFile = "BOTIXCTL_TEST_WRITER"

func TestMain(m *testing.M) {
	if file := os.Getenv(writerFile); file != "" {
		if err := write(file, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// write receives and works events until its input ends, and prints the number of
// each that was acknowledged. One of five fails.
func write(file string, in io.Reader, out io.Writer) (err error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	led, err := sqlite.Open(ctx, file, ledger.Namespace(namespace))
	if err != nil {
		return err
	}
	inbox, err := led.Inbox()
	if err != nil {
		return err
	}
	worked := make(chan error, 1)
	go func() {
		worked <- inbox.Work(ctx, ledger.InboxWork{Poll: 10 * time.Millisecond, Handle: func(_ context.Context, h *ledger.Handling) error {
			if h.Number%5 == 1 {
				return fmt.Errorf("%w: for the tool to replay", ledger.ErrPoison)
			}
			return nil
		}})
	}()
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in)
		close(ended)
	}()
	for n := 1; ; n++ {
		select {
		case <-ended:
			stop()
			if err := <-worked; err != nil {
				return err
			}
			return led.Close()
		default:
		}
		e := payment(n)
		begin := time.Now()
		if _, err := inbox.Receive(ctx, e); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s %d\n", e.ID, time.Since(begin).Milliseconds())
	}
}

// While another process receives and works events, the tool looks at them and has
// some replayed: no delivery of the other fails or is lost.
func TestALiveInboxIsNotDisturbed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ops.db")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), writerFile+"="+file)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged, slowest, begun, heard := []string(nil), 0, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(heard)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			id, took, _ := strings.Cut(lines.Text(), " ")
			ms, err := strconv.Atoi(took)
			if err != nil {
				t.Error(err)
			}
			acknowledged, slowest = append(acknowledged, id), max(slowest, ms)
			if len(acknowledged) == 20 {
				close(begun)
			}
		}
	}()
	select {
	case <-begun:
	case <-heard:
		t.Fatal("the other process ended")
	}
	place := []string{"-ledger", file, "-namespace", namespace}
	for range 10 {
		for _, args := range [][]string{
			{"ls"}, {"ls", "-json", "-limit", "1000"}, {"show", "1"}, {"fixture", "2"},
			{"replay", "-failed", "-who", "anna", "-why", "the cause is gone"},
		} {
			if r := execute(t, testTool(""), "inbox", append(args, place...)...); r.code != exitOK && r.code != exitNo || strings.Contains(r.stderr, "botixctl") {
				t.Errorf("%q: code %d: %s", args, r.code, r.stderr)
			}
		}
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	<-heard
	if err := cmd.Wait(); err != nil {
		t.Errorf("the other process: %v", err)
	}
	led, err := sqlite.OpenExisting(t.Context(), file, ledger.Namespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := led.Close(); err != nil {
			t.Error(err)
		}
	}()
	inbox, err := led.Inbox()
	if err != nil {
		t.Fatal(err)
	}
	events, err := inbox.List(t.Context(), ledger.EventFilter{Limit: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]bool{}
	for _, e := range events {
		stored[e.ID] = true
	}
	for _, id := range acknowledged {
		if !stored[id] {
			t.Errorf("%s was acknowledged and is not there", id)
		}
	}
	if first, err := inbox.Event(t.Context(), 1); err != nil || len(first.History) < 2 || first.History[1].Who != "anna" {
		t.Errorf("the first event was not replayed: %+v, %v", first, err)
	}
	t.Logf("%d deliveries beside 50 runs of the tool, the slowest %d ms", len(acknowledged), slowest)
}
