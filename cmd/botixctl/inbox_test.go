package main

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// shop is the inbox of a program, with events in every state.
type shop struct {
	t      *testing.T
	file   string
	led    *ledger.Ledger
	inbox  *ledger.Inbox
	broken map[string]bool // objects whose events cannot be worked now
}

const namespace = "shop-test"

// openShop opens an inbox in a bubble, so that all of its times are known.
func openShop(t *testing.T, opts ...ledger.InboxOption) *shop {
	t.Helper()
	return openShopOf(t, nil, opts...)
}

// openShopOf is openShop with options of the ledger's.
func openShopOf(t *testing.T, of []ledger.Option, opts ...ledger.InboxOption) *shop {
	t.Helper()
	s := &shop{t: t, file: filepath.Join(t.TempDir(), "ops.db"), broken: map[string]bool{}}
	var err error
	if s.led, err = sqlite.Open(t.Context(), s.file, append(of, ledger.Namespace(namespace))...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.led.Close(); err != nil {
			t.Error(err)
		}
	})
	if s.inbox, err = s.led.Inbox(opts...); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shop) receive(e ledger.Event) ledger.Receipt {
	s.t.Helper()
	r, err := s.inbox.Receive(s.t.Context(), e)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// work works events for some time.
func (s *shop) work(d time.Duration) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), d)
	defer cancel()
	err := s.inbox.Work(ctx, ledger.InboxWork{
		Retry:       retry.Policy{MaxAttempts: 2, Base: time.Second, Cap: time.Second, Rand: func() float64 { return 0 }},
		Concurrency: 1,
		Handle: func(_ context.Context, h *ledger.Handling) error {
			if s.broken[h.ObjectID] {
				return errors.New("the CRM is down")
			}
			return h.Record(ledger.Draft{
				ID:     fmt.Sprintf("019e0000-0000-7000-8000-%012d", h.Number),
				Intent: h.Intent("shop-customer-7", ledger.ActionTopUpCredit), API: "partner", Origin: "https://partner.example",
				Credential: "0123456789abcdef", Payload: ledger.Payload{Method: "POST", Path: "/groups/7/top-ups", Body: []byte(`{"amount":"100.00"}`)},
			})
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func payment(n int) ledger.Event {
	return ledger.Event{
		Provider: "stripe-eu", Subscription: "we_1", ID: fmt.Sprintf("evt_%d", n), Type: "payment.succeeded",
		ObjectKind: "payment", ObjectID: fmt.Sprintf("pay_%d", n), Version: "1",
		Headers: map[string]string{"Request-Id": fmt.Sprintf("req_%d", n)},
		Payload: fmt.Appendf(nil, `{"id":"evt_%d","type":"payment.succeeded","created":1780000000,"data":{"object":{"id":"pay_%d","amount":"100.00","receipt_email":"anna.petrova@mail.example","phone":"+79161234567"}}}`, n, n),
	}
}

// busy fills the inbox: 1 handled, delivered twice and attacked; 4 failed; 6 a
// duplicate of 1; 7 waits. A delivery that is no event takes a number, too.
func (s *shop) busy() {
	s.receive(payment(1))
	time.Sleep(time.Second)
	s.receive(payment(1))
	forged := payment(1)
	forged.Payload = []byte(`{"id":"evt_1","amount":"9900.00"}`)
	s.receive(forged)
	s.broken["pay_2"] = true
	s.receive(payment(2))
	same := payment(1)
	same.Subscription, same.ID = "we_2", ""
	s.receive(same)
	s.work(10 * time.Second)
	time.Sleep(time.Hour)
	s.receive(ledger.Event{
		Provider: "botix", Type: "message.received", ObjectKind: "message", ObjectID: "77", OccurredAt: time.Now(),
		Payload: []byte("{\"event\":\"message.received\",\"evil\":\"\x1b[2J\"}"),
	})
}

// do runs a command of the tool on the shop's ledger.
func (s *shop) do(args string) ran {
	s.t.Helper()
	tool := testTool("")
	tool.now = time.Now
	words := strings.Fields(args)
	return execute(s.t, tool, "inbox "+words[0], append([]string{"-ledger", s.file, "-namespace", namespace}, words[1:]...)...)
}

func TestInboxTellsAndReplays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openShop(t)
		s.busy()
		var report strings.Builder
		expect := func(args string, code int) {
			t.Helper()
			r := s.do(args)
			if r.code != code || r.stderr != "" {
				t.Errorf("%s: code %d, want %d: %s", args, r.code, code, r.stderr)
			}
			if strings.Contains(r.stdout, "\x1b") {
				t.Errorf("%s steers the terminal", args)
			}
			// What the ledger tells of an operation is its own, and tested there.
			event, story, linked := strings.Cut(r.stdout, "\ncall ")
			if linked {
				id, _, _ := strings.Cut(story, "\n")
				if told, err := s.led.Story(t.Context(), id); err != nil || told.String() != "call "+story {
					t.Errorf("%s: the story of %s is %v, %v; it printed %s", args, id, told, err, story)
				}
				event += "\n(the story of " + id + ")\n"
			}
			fmt.Fprintf(&report, "$ botixctl inbox %s\n%s\n", args, event)
		}
		expect("ls", exitOK)
		expect("ls -limit 2", exitOK)
		expect("ls -limit 2 -before 6", exitOK)
		expect("ls -status failed -provider stripe-eu -type payment.succeeded -object payment:pay_2", exitOK)
		expect("ls -since 30m", exitOK)
		expect("ls -until 30m -subscription we_2", exitOK)
		expect("ls -type no.such", exitOK)
		expect("ls -json -object message:77", exitOK)
		expect("show 1", exitOK)
		expect("show 4 -body", exitOK)
		expect("show 6", exitOK)
		expect("show 7 -body", exitOK)
		expect("show -json 4", exitOK)
		for _, args := range []string{"show 9", "show -json 9", "fixture 9"} {
			s.do(args).check(t, args, exitNo, "", "there is no event 9 in namespace shop-test")
		}
		expect("replay -dry-run -provider stripe-eu", exitOK)
		expect("replay -dry-run 7", exitNo)
		expect("replay -dry-run -failed", exitOK)
		expect("replay 4 -who anna -why the-CRM-is-back", exitOK)
		expect("replay -failed -who anna -why once-more", exitNo)
		s.broken = map[string]bool{}
		time.Sleep(time.Minute)
		s.work(10 * time.Second)
		expect("show 4", exitOK)
		expect("replay -status handled -every 1s -who boris -why drill", exitOK)
		time.Sleep(time.Minute)
		s.work(10 * time.Second)
		expect("show 1", exitOK)
		golden(t, "inbox.txt", report.String())
	})
}

func TestInboxCommandsAreRefused(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.receive(payment(1))
	dir := t.TempDir()
	for _, test := range []struct {
		args   string
		code   int
		stderr string
	}{
		{"show", exitUsage, "which event?"},
		{"show one", exitUsage, `"one" is not the number of an event`},
		{"show 0", exitUsage, "is not the number"},
		{"show 1 2", exitUsage, `unexpected argument "2"`},
		{"replay", exitUsage, "which events?"},
		{"replay -who anna -why test", exitUsage, "which events?"},
		{"replay 1", exitUsage, "-who decides it and -why"},
		{"replay -failed -who anna", exitUsage, "-who decides it and -why"},
		{"replay -failed -every -1s -dry-run", exitUsage, "-every is negative"},
		{"ls -status happy", exitUsage, "no such status"},
		{"ls -since yesterday", exitUsage, "neither a time"},
		{"ls -object 77", exitUsage, "a kind, a colon and an id"},
		{"ls -limit 0", exitUsage, "-limit is from"},
		{"fixture", exitUsage, "which event?"},
		{"fixture -go 1 1", exitUsage, "names of Go"},
		{"fixture 9", exitNo, "no event 9"},
		{"ls -ledger " + filepath.Join(dir, "none.db"), exitFailed, "no such file"},
	} {
		s.do(test.args).check(t, test.args, test.code, "", test.stderr)
	}
	tool := testTool("")
	execute(t, tool, "inbox ls").check(t, "no ledger", exitUsage, "", "-ledger is missing, and the environment has no BOTIX_LEDGER")
	tool.lookup = func(name string) (string, bool) {
		value, set := map[string]string{"BOTIX_LEDGER": s.file, "BOTIX_NAMESPACE": "shop-prod"}[name]
		return value, set
	}
	execute(t, tool, "inbox ls").check(t, "another namespace", exitOK, "no such events in namespace shop-prod", "")
	execute(t, tool, "inbox show", "1").check(t, "another namespace", exitNo, "", "no event 1 in namespace shop-prod")
}

func TestInboxWithSealedPayloads(t *testing.T) {
	t.Parallel()
	block, err := aes.NewCipher(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	key, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	s := openShopOf(t, []ledger.Option{ledger.SealWith(ledger.SealKey{ID: "2026-05", AEAD: key})}, ledger.SealPayloads())
	s.receive(payment(1))
	s.do("ls").check(t, "ls", exitOK, "payment:pay_1", "")
	s.do("show 1 -body").check(t, "show", exitOK, "sealed with a key that this tool does not have", "")
	s.do("show 1 -json").check(t, "show -json", exitOK, `"sealed": true`, "")
	s.do("fixture 1").check(t, "fixture", exitFailed, "", "its key was not given")
	s.do("replay -dry-run 1").check(t, "replay", exitNo, "it waits to be worked", "")
}
