// Provision signs a customer up at the Partner API: a group, a key with its secret in
// a store, a spend limit. The process that does it is killed while the key is being
// made; a worker in a second process goes on. Since the secret of the first key died
// with the process, the worker revokes that key and makes another, and then credits a
// payment whose event comes three times.
//
//	go run ./examples/provision
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
	case len(args) == 5 && args[0] == "signup":
		err = signup(ctx, os.Stdout, place{args[1], args[2], args[3], args[4]})
	case len(args) == 5 && args[0] == "worker":
		err = worker(ctx, os.Stdout, place{args[1], args[2], args[3], args[4]})
	default:
		err = errors.New("it starts its parts by itself: call it without arguments")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// place is what the processes have in common.
type place struct{ file, secrets, url, key string }

// run plays the whole story: it is the world in which the two processes live.
func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "provision")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	sandbox, err := botixtest.Start(botixtest.Config{})
	if err != nil {
		return err
	}
	defer sandbox.Close()
	p := place{filepath.Join(dir, "ops.db"), filepath.Join(dir, "secrets"), sandbox.URL(), sandbox.PartnerKey()}
	if err := os.Mkdir(p.secrets, 0o700); err != nil {
		return err
	}

	// The first key is made, but the answer with its secret takes long.
	making := make(chan struct{}, 1)
	sandbox.Script(botixtest.On("keysCreate").Nth(1).When(func(botixtest.Call) bool {
		select {
		case making <- struct{}{}:
		default: // the world knows
		}
		return true
	}).Do(botixtest.DelayAfter(time.Second)))
	first, err := start(ctx, out, "signup", p)
	if err != nil {
		return err
	}
	select {
	case <-making:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("no key was made"), first.Process.Kill(), first.Wait())
	}
	if err := first.Process.Kill(); err != nil {
		return err
	}
	if err := first.Wait(); err == nil {
		return errors.New("the sign-up was to be killed, and has ended by itself")
	}
	fmt.Fprintf(out, "[world]  the process was killed: the key is there, its secret went nowhere\n")

	second, err := start(ctx, out, "worker", p)
	if err != nil {
		return err
	}
	if err := second.Wait(); err != nil {
		return fmt.Errorf("the worker: %w", err)
	}
	return check(out, sandbox.Partner(1), p.secrets)
}

// check looks at what there is at the server, and in the store of secrets.
func check(out io.Writer, account botixtest.Partner, secrets string) error {
	groups := account.GroupsOf("cust_42")
	if len(groups) != 1 {
		return fmt.Errorf("the customer has %d groups", len(groups))
	}
	g := groups[0]
	all, live := account.Keys(g.ID), account.LiveKeys(g.ID, "bot")
	fmt.Fprintf(out, "[world]  %d group, %d keys made, %d of them live, limit %s, balance %s\n",
		len(groups), len(all), len(live), *g.SpendLimit, g.Balance)
	if len(live) != 1 || g.Balance != "50.00" {
		return errors.New("the customer is not what it should be")
	}
	files, err := filepath.Glob(filepath.Join(secrets, "*"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("%d secrets are stored, %w", len(files), err)
	}
	stored, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	if string(stored) != account.Secret(live[0].ID) {
		return errors.New("the stored secret is not that of the live key")
	}
	fmt.Fprintf(out, "[world]  the stored secret is that of the live key\n")
	return nil
}

// start begins a part in a process of its own, whose words are told with its name.
func start(ctx context.Context, out io.Writer, part string, p place) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, part, p.file, p.secrets, p.url, p.key)
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
