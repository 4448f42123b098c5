package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/money"
)

// customer is what both processes ask for.
var customer = partner.Customer{
	ID: "cust_42", SignupVersion: "v1", Name: "Кофейня",
	SpendLimit: money.MustParse("100.00"), KeyFunctions: []partner.KeyFunction{"bot"},
}

// open is how both processes begin.
func open(ctx context.Context, p place, opts ...partner.Option) (*ledger.Ledger, *partner.Client, error) {
	led, err := sqlite.Open(ctx, p.File,
		ledger.Namespace("shop-example"),
		ledger.LeaseFor(2*time.Second), // how long a killed process keeps its work from others
	)
	if err != nil {
		return nil, nil, err
	}
	client, err := partner.New(p.Key, append(opts, partner.WithBaseURL(p.URL), partner.WithLedger(led),
		botix.WithSecretStore(folder(p.Secrets)), partner.WithLostKeysReplaced())...)
	if err != nil {
		return nil, nil, errors.Join(err, led.Close())
	}
	return led, client, nil
}

// signup begins the customer, and is killed in the middle.
func signup(ctx context.Context, out io.Writer, p place) (err error) {
	led, client, err := open(ctx, p)
	if err != nil {
		return err
	}
	defer func() { client.Close(); err = errors.Join(err, led.Close()) }()
	fmt.Fprintln(out, "customer cust_42 signs up")
	made, err := client.Provision(ctx, customer)
	if err == nil {
		fmt.Fprintln(out, "the customer is", made.State)
	}
	return err
}

// worker goes on with whatever is left, until the customer is ready.
func worker(ctx context.Context, out io.Writer, p place) (err error) {
	ready := make(chan *partner.Provisioning, 1)
	led, client, err := open(ctx, p, partner.OnProvisioned(func(_ context.Context, made *partner.Provisioning) error {
		select {
		case ready <- made:
		default: // it may be told more than once
		}
		return nil
	}))
	if err != nil {
		return err
	}
	defer func() { client.Close(); err = errors.Join(err, led.Close()) }()
	w, err := ledger.NewWorker(led, ledger.WorkerConfig{Poll: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	working, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(working) }()
	var made *partner.Provisioning
	select {
	case made = <-ready:
	case <-working.Done():
		return errors.Join(errors.New("the customer is not ready after 30 s"), <-ended)
	}
	fmt.Fprintln(out, "told that the customer is", made.State)

	for range 3 { // the event of one payment, delivered three times
		credit, err := client.TopUp(ctx, partner.Payment{
			Customer: customer.ID, GroupID: made.GroupID, Amount: money.MustParse("50.00"), EventID: "evt_8812", EntryID: "entry_551",
		})
		if err != nil {
			return err
		}
		fmt.Fprintln(out, "evt_8812: credited", credit.Amount, "by", credit.ID)
	}
	stop()
	story, err := led.Story(ctx, made.OperationID)
	if err := errors.Join(err, <-ended); err != nil {
		return err
	}
	fmt.Fprintln(out, story)
	return nil
}

// folder is a store of secrets: a file for each, readable by its owner only, which is
// on the disk when Put returns. Where a program has a vault, it uses that.
type folder string

// Probe writes as Put does, and so fails where that would.
func (f folder) Probe(context.Context) error {
	part, err := f.part("a secret goes here")
	if err != nil {
		return err
	}
	return os.Remove(part)
}

func (f folder) Put(_ context.Context, ref string, secret botix.Secret) error {
	part, err := f.part(secret.Reveal())
	if err != nil {
		return err
	}
	if err := os.Rename(part, filepath.Join(string(f), ref)); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	if runtime.GOOS == "windows" { // it has no way to sync a folder
		return nil
	}
	dir, err := os.Open(string(f))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close()) // or the file may have lost its name
}

// part writes a file that has no name yet. Each has its own: two processes may put the
// same secret.
func (f folder) part(text string) (string, error) {
	file, err := os.CreateTemp(string(f), ".part-*") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), err
}

func (f folder) Has(_ context.Context, ref string) (bool, error) {
	_, err := os.Stat(filepath.Join(string(f), ref))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
