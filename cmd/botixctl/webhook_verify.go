package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"time"

	"github.com/botix-pro/sdk-go/webhookverify"
)

// verify checks a captured delivery. That it is refused is an answer, not a failure.
func (t tool) verify(flags *flag.FlagSet) action {
	s, c, at := declareSigning(flags), declareCapture(flags), t.declareTime(flags, "`time` at which it came")
	return func(context.Context, []string) error {
		verifier, err := t.verifier(s)
		if err != nil {
			return err
		}
		header, body, declared, err := c.read(t)
		if err != nil {
			return err
		}
		match, err := verifier.VerifyAt(header, body, *at)
		if err != nil {
			fmt.Fprintf(t.stdout, "refused: %s: %s, a body of %d bytes\n", verifier.Scheme().Name, reason(err), len(body))
			for _, hint := range hints(verifier, err, header, body, declared, *at) {
				fmt.Fprintf(t.stdout, "  hint      %s\n", hint)
			}
			return errNo
		}
		fmt.Fprintf(t.stdout, "verified: %s, under %s\n", verifier.Scheme().Name, plain(match.Secret))
		if event, err := webhookverify.ParseEvent(header, body); err != nil {
			fmt.Fprintf(t.stdout, "  event     none: %s\n", unread(err))
		} else {
			fmt.Fprintf(t.stdout, "  event     %s\n", plain(event.String()))
			for _, note := range notes(event, *at) {
				fmt.Fprintf(t.stdout, "  note      %s\n", note)
			}
		}
		fmt.Fprintf(t.stdout, "  identity  %s\n", plain(verifier.Identity(match, body)))
		if !match.Signed.IsZero() {
			fmt.Fprintf(t.stdout, "  signed    %s\n", match.Signed.Format(time.RFC3339))
		}
		return nil
	}
}

// hints are what can be told about a delivery that was refused, and no ground to
// accept it.
func hints(v *webhookverify.Verifier, refusal error, header http.Header, body []byte, declared int64, at time.Time) []string {
	if !errors.Is(refusal, webhookverify.ErrMismatch) && !errors.Is(refusal, webhookverify.ErrEmptyBody) {
		return nil
	}
	if trimmed := bytes.TrimRight(body, "\r\n"); len(trimmed) < len(body) {
		if _, err := v.VerifyAt(header, trimmed, at); err == nil {
			return []string{"it holds without the last line break, which an editor or echo may have added"}
		}
	}
	if d := v.Diagnose(header, body, declared); d != webhookverify.NotKnown {
		return []string{string(d)}
	}
	return nil
}
