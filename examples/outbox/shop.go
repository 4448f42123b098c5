package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
)

// open is how both processes begin: one database for the orders and the ledger.
func open(ctx context.Context, p place) (*ledger.Ledger, *botix.Client, error) {
	led, err := sqlite.Open(ctx, p.File,
		ledger.Namespace("shop-example"),
		ledger.LeaseFor(2*time.Second), // how long a killed process keeps its work from others
	)
	if err != nil {
		return nil, nil, err
	}
	client, err := botix.New(p.APIKey, botix.WithLedger(led), botix.WithBaseURL(p.URL),
		botix.WithServerTime(time.Second)) // the sandbox is never busy longer
	if err != nil {
		return nil, nil, errors.Join(err, led.Close())
	}
	return led, client, nil
}

const order = 1024

// confirmation is the message about the order, and what the business wants once.
func confirmation(to botix.ContactID) (botix.SendMessage, ledger.Intent) {
	return botix.SendMessage{ContactID: to, Content: fmt.Sprintf("Заказ %d подтверждён", order)},
		ledger.Intent{Customer: "shop-customer-7", Action: "order-confirmed", Version: fmt.Sprintf("order-%d", order)}
}

// shop saves an order and records the message about it, in one transaction; then
// it works until it is killed.
func shop(ctx context.Context, out io.Writer, p place) (err error) {
	led, client, err := open(ctx, p)
	if err != nil {
		return err
	}
	defer func() { client.Close(); err = errors.Join(err, led.Close()) }()

	err = led.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, total TEXT NOT NULL)`); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO orders VALUES (?, ?)`, order, "1990.00"); err != nil {
			return err
		}
		message, once := confirmation(p.Contact)
		_, err := client.Record(ctx, tx, message, once)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "order %d and the message about it are saved, together\n", order)

	w, err := ledger.NewWorker(led, ledger.WorkerConfig{})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// worker drives what is left until the message of the order has ended.
func worker(ctx context.Context, out io.Writer, p place) (err error) {
	led, client, err := open(ctx, p)
	if err != nil {
		return err
	}
	defer func() { client.Close(); err = errors.Join(err, led.Close()) }()

	// The program finds its operation by asking for it again: nothing is recorded
	// twice, and what is there comes back.
	message, once := confirmation(p.Contact)
	op, err := client.Enqueue(ctx, message, once)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the message of order %d is %s after %d attempt\n", order, op.Status, op.Attempts)

	w, err := ledger.NewWorker(led, ledger.WorkerConfig{Poll: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	working, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(working) }()
	for tick := time.Tick(50 * time.Millisecond); err == nil && !op.Status.Final() && working.Err() == nil; <-tick {
		op, err = led.Operation(ctx, op.ID)
	}
	stop()
	if err := errors.Join(err, <-ended); err != nil {
		return err
	}
	if op.Status != ledger.StatusSucceeded {
		return fmt.Errorf("the message ends as %s", op.Status)
	}
	story, err := led.Story(ctx, op.ID)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, story)
	return nil
}
