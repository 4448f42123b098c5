package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/botix-pro/sdk-go/webhookverify"
)

// sign prints headers in the form that curl -H @- reads.
func (t tool) sign(flags *flag.FlagSet) action {
	s, at := declareSigning(flags), t.declareTime(flags, "`time` of signing")
	file := flags.String("body", "-", "`file` with the body, byte for byte; - is standard input")
	id := flags.String("id", "", "of the message, for schemes that sign one (default a new one)")
	return func(context.Context, []string) error {
		secret, err := t.oneSecret(s)
		if err != nil {
			return err
		}
		body, err := t.readInput(*file, maxInput)
		if err != nil {
			return err
		}
		if len(body) == 0 {
			return errors.New("the body is empty, and no receiver takes an empty one")
		}
		header, err := s.sign(secret, cmp.Or(*id, fmt.Sprintf("msg_%d", at.UnixNano())), *at, body)
		if err != nil {
			return err
		}
		_, err = io.WriteString(t.stdout, headerText(header))
		return err
	}
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
