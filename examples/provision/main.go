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
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/examples/internal/process"
)

func main() { process.Main(run, process.Parts[place]{"signup": signup, "worker": worker}) }

// place is what the two processes have in common.
type place struct{ File, Secrets, URL, Key string }

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
	if err := os.Mkdir(p.Secrets, 0o700); err != nil {
		return err
	}

	// The first key is made, but the answer with its secret takes long.
	making := process.AnswersLate(sandbox, "keysCreate")
	first, err := process.Start(ctx, out, "signup", p)
	if err != nil {
		return err
	}
	if err := first.KillWhen(ctx, making); err != nil {
		return err
	}
	fmt.Fprintf(out, "[world]  the process was killed: the key is there, its secret went nowhere\n")
	if err := process.Run(ctx, out, "worker", p); err != nil {
		return err
	}
	return check(out, sandbox.Partner(1), p.Secrets)
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
