// Receiver takes payment webhooks as a shop would: each is verified, stored once
// before it is acknowledged, and worked later into one credit at the Partner API.
// The sandbox delivers for real, over HTTP on loopback, and the world is unkind:
// answers are lost, events come twice, in the wrong order, forged and in a form that
// nobody knows, and for nine hours nothing gets through. The program prints what
// arrived, what was refused and why, and the one effect of each event; it fails when
// one has none, or two.
//
//	go run ./examples/receiver
//
// It needs no network and no account. shop.go and events.go are what a program of
// your own would have; the rest is the world around it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // it takes some seconds
	defer cancel()
	dir, err := os.MkdirTemp("", "receiver")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w, err := openWorld(ctx, filepath.Join(dir, "shop.db"), out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.end()) }()

	for _, chapter := range []struct {
		title string
		play  func(context.Context) error
	}{
		{"A payment", w.plain},
		{"The shop's answer is lost: the platform delivers again, under another request id", w.answerLost},
		{"Somebody who saw a delivery repeats it, and makes one up", w.stranger},
		{"An amount is changed on the way", w.tampered},
		{"Two limits arrive in the wrong order", w.disorder},
		{"The answer of the Partner API is lost after the work", w.creditLost},
		{"Nothing gets through for nine hours", w.outage},
		{"A payment comes in a form that the shop does not know", w.otherForm},
	} {
		w.say("\n%s", chapter.title)
		if err := chapter.play(ctx); err != nil {
			return fmt.Errorf("%s: %w", chapter.title, err)
		}
		w.say("  balance    %s, limit %s", w.balance(), w.limit())
	}
	return w.account(ctx)
}
