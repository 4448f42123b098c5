package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/webhookverify"
)

// The program checks by itself that each payment was credited once. Here it is
// checked that it says so, and that everything that should happen has happened.
func TestReceiver(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for what, want := range map[string]struct {
		pattern string
		times   int
	}{
		"a delivery that is stored":   {`arrived .*: stored`, 7},
		"a repeat":                    {`arrived .* pay_2: repeat, event 2`, 2},
		"a forgery":                   {`refused    401, .*does not match`, 2},
		"what was given up":           {`gave up on pay_5 and pay_6`, 1},
		"a backfill":                  {`not here yet: 3`, 1},
		"what was filled in before":   {`arrived .* pay_7: same effect`, 1},
		"an older limit":              {`limit.changed .* superseded → nothing to do`, 1},
		"a credit whose answer lost":  {`pay_4 .* top_up_credit succeeded, attempts: 2`, 1},
		"what cannot be read":         {`ALARM .* waits for a person: .* of another form`, 1},
		"what was filled in for it":   {`not here yet: 1`, 1},
		"its end":                     {`unreadable .* discarded`, 1},
		"a payment that was credited": {`credited once`, 8},
		"the sum":                     {`balance 166.00 of 166.00 paid, limit 200.00`, 1},
	} {
		if n := len(regexp.MustCompile(want.pattern).FindAllString(out.String(), -1)); n != want.times {
			t.Errorf("%s: %d times, want %d", what, n, want.times)
		}
	}
	if t.Failed() || strings.Contains(out.String(), "pay_666: stored") {
		t.Errorf("it printed\n%s", &out)
	}
}

// What was signed and cannot be read is stored before it is acknowledged, waits
// for a person, and shows nothing of itself.
func TestNothingSignedIsLost(t *testing.T) {
	t.Parallel()
	s, err := openShop(t.Context(), filepath.Join(t.TempDir(), "shop.db"), "http://127.0.0.1:1", "pk_test", t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	secret := webhookverify.NewSecret("a secret")
	hook, err := s.endpoint(secret)
	if err != nil {
		t.Fatal(err)
	}
	bodies := []string{
		`no JSON of Anna`, `{}`, `[]`, "{\"event\":\"\xff\"}", `{"event":"payment.succeeded"}`,
		`{"event":"payment.succeeded","created_at":"yesterday","data":{"id":"p","customer":"Anna","group_id":"g","amount":"1"}}`,
		`{"event":"payment.succeeded","data":{"id":8,"customer":"Anna","group_id":"g","amount":"1"}}`,
		`{"event":"payment.succeeded","data":{"customer":"Anna","group_id":"g","amount":"1"}}`,
		`{"event":"payment.succeeded","data":{"id":"p","customer":"Anna","group_id":"g","amount":1.5}}`,
		`{"event":"payment.succeeded","data":{"id":"p","customer":"Anna","group_id":"g","amount":"-1"}}`,
		`{"event":"limit.changed","data":{"group_id":"g"}}`,
		`{"event":"` + strings.Repeat("Anna", 300) + `"}`, // longer than the inbox takes a type
	}
	for _, body := range bodies {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		if r.Header, err = webhookverify.BOTIX().Sign(secret, "", time.Now(), []byte(body)); err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		hook.ServeHTTP(w, r)
		if w.Code != http.StatusNoContent {
			t.Errorf("%.60s: answered %d", body, w.Code)
		}
	}
	stored, err := s.inbox.List(t.Context(), ledger.EventFilter{Type: unreadable})
	if err != nil || len(stored) != len(bodies) {
		t.Fatalf("%d of %d are stored as unreadable, %v", len(stored), len(bodies), err)
	}
	for i, e := range stored {
		kept, err := s.inbox.Event(t.Context(), e.Number)
		if err != nil || string(kept.Payload) != bodies[i] {
			t.Errorf("event %d: %q, %v, want %q", e.Number, kept.Payload, err, bodies[i])
			continue
		}
		if _, problem := read(kept.Event); problem == nil || strings.Contains(problem.Error(), "Anna") {
			t.Errorf("event %d: the problem is %v", e.Number, problem)
		}
		if err := s.handle(t.Context(), &ledger.Handling{InboxEvent: kept.InboxEvent}); !errors.Is(err, ledger.ErrPoison) {
			t.Errorf("event %d: handled with %v, want ErrPoison", e.Number, err)
		}
	}
}
