package ledger_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/ledger"
)

// aead is a key of AES-256-GCM.
func aead(t testing.TB, secret string) cipher.AEAD {
	t.Helper()
	key := sha256.Sum256([]byte(secret))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	return gcm
}

// Sealed payloads are in no file of the ledger, and are what was received.
func TestSealedPayloads(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ops.db")
	sealedUnder := func(current ledger.SealKey, older ...ledger.SealKey) *box {
		return openBoxOf(t, path, []ledger.Option{ledger.SealWith(current, older...)}, ledger.SealPayloads())
	}
	right, wrong, fresh := ledger.SealKey{ID: "1", AEAD: aead(t, "right")}, ledger.SealKey{ID: "1", AEAD: aead(t, "wrong")}, ledger.SealKey{ID: "2", AEAD: aead(t, "new")}
	b := sealedUnder(right)
	e, forged := payment(1), payment(1)
	e.Payload = []byte(`{"id":"evt_1","phone":"+70000000042"}`)
	forged.Payload = []byte(`{"id":"evt_1","phone":"+70000000099"}`)
	r := b.receive(t, e)
	b.receive(t, forged)
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"+70000000042", "+70000000099"} {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s holds %s in clear", filepath.Base(file), secret)
			}
		}
	}
	details := b.event(t, r.Number)
	if string(details.Payload) != string(e.Payload) || len(details.Conflicts) != 1 || string(details.Conflicts[0].Payload) != string(forged.Payload) {
		t.Errorf("opened: %s, %+v", details.Payload, details.Conflicts)
	}
	sum := sha256.Sum256(e.Payload)
	if n := b.query(t, "SELECT COUNT(*) FROM payment_webhook_events WHERE payload_hash = ?", "sha256:"+hex.EncodeToString(sum[:])); n != 1 {
		t.Error("the hash is not that of the payload")
	}
	for name, other := range map[string]*box{
		"without a key": openBox(t, path), "with another key": sealedUnder(wrong), "with the key of another id": sealedUnder(fresh),
	} {
		got, err := other.Event(t.Context(), r.Number)
		if !errors.Is(err, ledger.ErrSealed) || got == nil {
			t.Fatalf("%s: %v, %v, want ErrSealed and what is in clear", name, got, err)
		}
		if got.ID != e.ID || got.Payload != nil || len(got.Conflicts) != 1 || got.Conflicts[0].Payload != nil {
			t.Errorf("%s: %+v, want all but the payloads", name, got)
		}
	}
	rotated, third := sealedUnder(fresh, right), payment(3)
	third.Payload = []byte(`{"id":"evt_3","phone":"+70000000042"}`)
	stored := rotated.receive(t, third)
	for n, want := range map[ledger.EventNumber]string{r.Number: string(e.Payload), stored.Number: string(third.Payload)} {
		if got, err := rotated.Event(t.Context(), n); err != nil || string(got.Payload) != want {
			t.Errorf("event %d after the key was changed: %v", n, err)
		}
	}
	if _, err := b.Event(t.Context(), stored.Number); !errors.Is(err, ledger.ErrSealKey) {
		t.Errorf("with the old key only: %v, want ErrSealKey", err)
	}
	// Put into another row it does not open.
	second := b.receive(t, payment(2))
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := db.Exec("UPDATE ledger_inbox SET payload = (SELECT payload FROM ledger_inbox WHERE seq = ?) WHERE seq = ?", r.Number, second.Number); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Event(t.Context(), second.Number); !errors.Is(err, ledger.ErrSealed) {
		t.Errorf("the payload of another event: %v, want ErrSealed", err)
	}
}

// A customer who is erased is in no event that led to an operation of theirs.
func TestEraseReachesEvents(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	e, other := payment(1), payment(2)
	e.Payload, other.Payload = []byte(`{"id":"evt_1","phone":"+70000000042"}`), []byte(`{"id":"evt_2","phone":"+70000000043"}`)
	erased, kept := b.receive(t, e), b.receive(t, other)
	stop := b.work(t, ledger.InboxWork{Handle: func(_ context.Context, h *ledger.Handling) error {
		return h.Record(credit(h.Intent("customer-"+h.ID, ledger.ActionTopUpCredit), "100.00"))
	}})
	b.settled(t, erased.Number)
	b.settled(t, kept.Number)
	stop()
	if _, err := b.led.Erase(t.Context(), "customer-evt_1", ledger.Decision{Who: "ann", Why: "asked for in ticket 17"}); err != nil {
		t.Fatal(err)
	}
	if got := b.event(t, erased.Number); got.Payload != nil || got.Status != ledger.EventHandled || len(got.Operations) != 1 {
		t.Errorf("the event of who was erased: %+v", got)
	}
	if got := b.event(t, kept.Number); string(got.Payload) != string(other.Payload) {
		t.Errorf("the event of another: %+v", got)
	}
	files, err := filepath.Glob(b.path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "+70000000042") {
			t.Errorf("%s still holds it", filepath.Base(file))
		}
	}
	if r := b.receive(t, e); r.Kind != ledger.ReceiptRepeat {
		t.Errorf("the event once more is %q", r.Kind)
	}
}
