// Outbox saves an order and the message about it in one transaction, kills the
// process in the middle of sending the message, and lets a worker in a second
// process bring it to its end: the contact gets one message, and the ledger tells
// what happened.
//
//	go run ./examples/outbox
//
// It needs no network and no account: the sandbox runs in the first process, on
// loopback, and so survives the kill with its memory of what really happened.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 0:
		err = run(ctx, os.Stdout)
	case args[0] == "shop":
		err = shop(ctx, os.Stdout, parse(args[1:]))
	case args[0] == "worker":
		err = worker(ctx, os.Stdout, parse(args[1:]))
	default:
		err = fmt.Errorf("unknown part %q", args[0])
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run plays the whole story: it is the world in which the two processes live.
func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "outbox")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	sandbox, err := botixtest.Start(botixtest.Config{})
	if err != nil {
		return err
	}
	defer sandbox.Close()
	p := place{
		file: filepath.Join(dir, "shop.db"), url: sandbox.URL(), apiKey: sandbox.APIKey(),
		contact: sandbox.AddContact(botixtest.Contact{FirstName: "Анна", LastChannel: "telegram"}),
	}

	// The first message is taken and delivered, but its answer takes long.
	working := make(chan struct{}, 1)
	sandbox.Script(botixtest.On("messagesSend").Nth(1).When(func(botixtest.Call) bool {
		select {
		case working <- struct{}{}:
		default: // the world knows
		}
		return true
	}).Do(botixtest.DelayAfter(time.Second)))
	first, err := start(ctx, out, "shop", p)
	if err != nil {
		return err
	}
	select {
	case <-working:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("the shop has sent nothing"), first.Process.Kill(), first.Wait())
	}
	if err := first.Process.Kill(); err != nil {
		return err
	}
	if err := first.Wait(); err == nil {
		return errors.New("the shop was to be killed, and has ended by itself")
	}
	fmt.Fprintf(out, "[world]  the shop was killed while the message was under way\n")

	second, err := start(ctx, out, "worker", p)
	if err != nil {
		return err
	}
	if err := second.Wait(); err != nil {
		return fmt.Errorf("the worker: %w", err)
	}
	journal := sandbox.Journal()
	requests, messages := len(journal.Calls("messagesSend")), len(journal.MessagesTo(p.contact))
	fmt.Fprintf(out, "[world]  %d requests to send, %d message with the contact\n", requests, messages)
	if messages != 1 {
		return fmt.Errorf("the contact got %d messages", messages)
	}
	return nil
}

// place is what the processes have in common.
type place struct {
	file, url, apiKey string
	contact           int64
}

func (p place) args() []string {
	return []string{p.file, p.url, p.apiKey, strconv.FormatInt(p.contact, 10)}
}

func parse(args []string) place {
	if len(args) != 4 {
		log.Fatal("it starts its parts by itself: call it without arguments")
	}
	contact, err := strconv.ParseInt(args[3], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	return place{args[0], args[1], args[2], contact}
}

// start begins a part in a process of its own, whose words are told with its name.
func start(ctx context.Context, out io.Writer, part string, p place) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append([]string{part}, p.args()...)...)
	cmd.Stdout, cmd.Stderr = &told{out: out, by: part}, os.Stderr
	return cmd, cmd.Start()
}

// told puts a name before each line.
type told struct {
	out io.Writer
	by  string
}

func (t *told) Write(p []byte) (int, error) {
	lines := bufio.NewScanner(strings.NewReader(string(p)))
	for lines.Scan() {
		if _, err := fmt.Fprintf(t.out, "%-8s %s\n", "["+t.by+"]", lines.Text()); err != nil {
			return 0, err
		}
	}
	return len(p), lines.Err()
}
