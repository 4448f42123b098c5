package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/botix-pro/sdk-go/webhookverify"
)

// sign prints headers in the form that curl -H @- reads.
func (t tool) sign(_ context.Context, args []string, stdout, stderr io.Writer) error {
	var s signing
	flags := newFlags(stderr, "webhook sign [FLAGS]",
		"Prints the headers that a sender would deliver a body with:\n\n"+
			"  botixctl webhook sign -body event.json | curl -H @- --data-binary @event.json http://127.0.0.1:8080/hook")
	s.declare(flags)
	file := flags.String("body", "-", "`file` with the body, byte for byte; - is standard input")
	id := flags.String("id", "", "of the message, for schemes that sign one (default a new one)")
	at := t.now()
	flags.Func("at", "`time` of signing, as 2026-05-28T20:26:40Z, for schemes that sign it (default now)", func(text string) (err error) {
		at, err = time.Parse(time.RFC3339, text)
		return err
	})
	if _, err := parse(flags, args, 0); err != nil {
		return err
	}
	secret, err := t.oneSecret(s)
	if err != nil {
		return err
	}
	body, err := t.readInput(*file, maxInput)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		return fmt.Errorf("the body is empty, and no receiver takes an empty one")
	}
	if *id == "" {
		*id = fmt.Sprintf("msg_%d", at.UnixNano())
	}
	header, err := s.sign(secret, *id, at, body)
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, headerText(header))
	return err
}

// sign makes the headers of a delivery: those that are signed, and those that the
// sender adds.
func (s signer) sign(secret webhookverify.Secret, id string, at time.Time, body []byte) (http.Header, error) {
	header, err := s.scheme().Sign(secret, id, at, body)
	if err != nil {
		return nil, err
	}
	header.Set("Content-Type", "application/json")
	if event, err := webhookverify.ParseEvent(nil, body); err == nil && s.name == "botix" {
		header.Set("X-Botix-Event", plain(string(event.Type)))
	}
	return header, nil
}

// headerText is a header in each line, in the order of their names.
func headerText(header http.Header) (text string) {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			text += name + ": " + value + "\n"
		}
	}
	return text
}
