package webhookverify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/webhookverify"
)

// deliver posts a body as BOTIX would, and returns the status of the answer.
func deliver(h http.Handler, secret, body string) int {
	header, err := webhookverify.BOTIX().Sign(webhookverify.NewSecret(secret), "", time.Now(), []byte(body))
	if err != nil {
		return 0
	}
	r := httptest.NewRequest(http.MethodPost, "/webhooks/botix", strings.NewReader(body))
	r.Header = header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// An endpoint for BOTIX: what reaches the receiver is verified, and read from
// the bytes that were signed. A real one stores them first, whatever they say: what
// it refuses because it cannot read it, the sender repeats some times and never
// again.
func ExampleNewHandler() {
	verifier, err := webhookverify.New(webhookverify.BOTIX(), webhookverify.NewSecret("0f1e2d3c"))
	if err != nil {
		fmt.Println(err)
		return
	}
	hook, err := webhookverify.NewHandler(verifier, func(_ context.Context, d *webhookverify.Delivery) error {
		event, err := d.Event()
		if err != nil {
			fmt.Println("for a person:", err)
			return nil
		}
		payload, err := event.Payload()
		if err != nil {
			fmt.Println("for a person:", err)
			return nil
		}
		switch p := payload.(type) {
		case *webhookverify.Message:
			fmt.Println(event.Type, "from contact", p.ContactID, "under", d.Match.Secret)
		default: // the set of events is open
			fmt.Println(event.Type)
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	const body = `{"event":"message.received","project_id":1,"data":{"id":9,"contact_id":42,"content":"Привет"}}`
	fmt.Println(deliver(hook, "0f1e2d3c", body))
	fmt.Println(deliver(hook, "0f1e2d3c", `{"event":"message.received","data":{"id":"nine"}}`))
	fmt.Println(deliver(hook, "a guess", body))
	// Output:
	// message.received from contact 42 under secret 1
	// 204
	// for a person: the event cannot be read: field "id" is of another type
	// 204
	// 401
}

// A secret is changed while deliveries come in: both hold until the old one is
// used no more.
func ExampleVerifier_Rotate() {
	april, may := webhookverify.NewSecret("april's").Named("april"), webhookverify.NewSecret("may's").Named("may")
	verifier, err := webhookverify.New(webhookverify.BOTIX(), april)
	if err != nil {
		fmt.Println(err)
		return
	}
	hook, err := webhookverify.NewHandler(verifier, func(context.Context, *webhookverify.Delivery) error { return nil })
	if err != nil {
		fmt.Println(err)
		return
	}

	if err := verifier.Rotate(may, april); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(deliver(hook, "april's", `{"event":"test"}`), deliver(hook, "may's", `{"event":"test"}`))
	for _, use := range verifier.Uses() {
		fmt.Println(use.Secret, use.Matches)
	}

	if err := verifier.Rotate(may); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(deliver(hook, "april's", `{"event":"test"}`), deliver(hook, "may's", `{"event":"test"}`))
	// Output:
	// 204 204
	// may 1
	// april 1
	// 401 204
}

// What a refusal says, without a handler.
func ExampleVerifier_Verify() {
	secret := webhookverify.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	verifier, err := webhookverify.New(webhookverify.StandardWebhooks(), secret)
	if err != nil {
		fmt.Println(err)
		return
	}
	body := []byte(`{"type":"invoice.paid"}`)
	for _, age := range []time.Duration{0, time.Hour} {
		header, err := verifier.Scheme().Sign(secret, "msg_1", time.Now().Add(-age), body)
		if err != nil {
			fmt.Println(err)
			return
		}
		match, err := verifier.Verify(header, body)
		switch {
		case errors.Is(err, webhookverify.ErrTooOld):
			fmt.Println("too old")
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println(verifier.Identity(match, body), "is genuine")
		}
	}
	// Output:
	// id:msg_1 is genuine
	// too old
}

// A body that is too large for memory goes through the check on its way to where
// it is kept.
func ExampleVerifier_Begin() {
	secret := webhookverify.NewSecret("It's a Secret to Everybody")
	verifier, err := webhookverify.New(webhookverify.GitHub(), secret)
	if err != nil {
		fmt.Println(err)
		return
	}
	header, err := webhookverify.GitHub().Sign(secret, "", time.Time{}, []byte("Hello, World!"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(header.Get("X-Hub-Signature-256"))

	stream, err := verifier.Begin(header)
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if _, err := io.Copy(io.MultiWriter(&file, stream), strings.NewReader("Hello, World!")); err != nil {
		fmt.Println(err)
		return
	}
	match, err := stream.Verify() // before this nothing of the file is to be believed
	fmt.Println(match.Secret, err)
	// Output:
	// sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17
	// secret 1 <nil>
}

// A sender that has no scheme here is declared: Slack signs a version, the time
// and the body.
func ExampleScheme() {
	verifier, err := webhookverify.New(webhookverify.Scheme{
		Name:            "Slack",
		SignatureHeader: "X-Slack-Signature",
		Prefix:          "v0=",
		Signed:          "v0:{timestamp}:{body}",
		TimestampHeader: "X-Slack-Request-Timestamp",
	}, webhookverify.NewSecret("8f742231b10e8888abcd99yyyzzz85a5"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = verifier.Verify(http.Header{
		"X-Slack-Signature":         {"v0=" + strings.Repeat("0", 64)},
		"X-Slack-Request-Timestamp": {fmt.Sprint(time.Now().Unix())},
	}, []byte("token=1"))
	fmt.Println(err)
	// Output:
	// webhookverify: Slack: the signature does not match: X-Slack-Signature
}
