package ledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// found says in which of the ledger's files a text stands. No other process has
// them open, whose locks reading could drop.
func (d *desk) found(text string) (where []string) {
	d.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		raw, err := os.ReadFile(d.file + suffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			d.Fatal(err)
		}
		if n := bytes.Count(raw, []byte(text)); n > 0 {
			where = append(where, fmt.Sprintf("%d× in ops.db%s", n, suffix))
		}
	}
	return where
}

// gone fails when a text is still in a file.
func (d *desk) gone(texts ...string) {
	d.Helper()
	for _, text := range texts {
		if where := d.found(text); where != nil {
			d.Errorf("%q is still there: %s", text, where)
		}
	}
}

// of makes the n-th draft of a customer.
func of(customer string, n int, body string) *ledger.Draft {
	draft := draft(customer, body)
	draft.Intent.Version = fmt.Sprintf("order-%d", n)
	return draft
}

// What is erased is in none of the files' bytes: small and large, in rows that
// were moved from page to page, and in the log.
func TestErasedBytesAreGone(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	const anna, boris = "annas-own-words", "boriss-own-words"
	text := func(whose string, n int) string {
		return fmt.Sprintf(`{"content":"%s %d %s"}`, whose, n, strings.Repeat(whose+" ", []int{1, 40, 600, 3000}[n%4]))
	}
	var drives []*ledger.Drive
	for n := range 120 {
		customer, whose := "anna", anna
		if n%3 == 0 {
			customer, whose = "boris", boris
		}
		drives = append(drives, d.begin(of(customer, n, text(whose, n))))
	}
	// They end in another order, and in all ways.
	for i := range drives {
		n := i * 49 % len(drives)
		whose := anna
		if n%3 == 0 {
			whose = boris
		}
		switch n % 5 {
		case 0:
			d.end(drives[n], retry.Rejected, "", "refused: "+whose)
		default:
			d.end(drives[n], retry.Succeeded, text(whose, n), "")
		}
	}
	if d.found(anna) == nil {
		t.Fatal("there is nothing to erase")
	}
	before := d.times()
	report, err := d.Erase(t.Context(), "anna", dpo)
	if err != nil || report.Erased != 80 || len(report.Open) != 0 {
		t.Fatalf("Erase = %+v, %v", report, err)
	}
	d.gone(anna)
	if d.found(boris) == nil {
		t.Error("another customer's results are gone, too")
	}
	if after := d.times(); after != before {
		t.Errorf("ids, statuses and times were\n%s\nand are\n%s", before, after)
	}
	// The whole of it is in order, and goes on.
	var ok string
	if err := d.db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
		t.Errorf("integrity: %s, %v", ok, err)
	}
	repeat, err := d.Open(t.Context(), of("boris", 3, text(boris, 3)))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := repeat.Repeat(); !ok || string(got) != text(boris, 3) {
		t.Errorf("another customer's repeat = %.40q, %t", got, ok)
	}
	repeat.Close()
	repeat, err = d.Open(t.Context(), of("anna", 1, text(anna, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := repeat.Repeat(); !ok || got != nil {
		t.Errorf("an erased repeat = %.40q, %t; want a success without a result", got, ok)
	}
	if _, err := d.Result(repeat.Operation()); !errors.Is(err, ledger.ErrResultNotKept) {
		t.Errorf("its result = %v", err)
	}
	repeat.Close()
}

// times is what Erase keeps of every operation.
func (d *desk) times() string {
	d.Helper()
	var all string
	err := d.db.QueryRowContext(d.Context(), `SELECT group_concat(concat_ws(' ', id, customer, action, version, idempotency_key, fingerprint, path,
		status, next_step, attempt_count, first_sent_at_ms, target_id, error_code, created_at_ms, updated_at_ms), char(10) ORDER BY seq) FROM ledger_operations`).Scan(&all)
	if err != nil {
		d.Fatal(err)
	}
	return all
}

// A body is overwritten as soon as its operation is final, whatever its size:
// nobody has to erase it. The log has it for as long as it has not been moved.
func TestBodiesGoWhenTheyAreDoneWith(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	const words = "what-was-said"
	for n, size := range []int{1, 100, 1000, 10000} {
		d.done(of("7", n, fmt.Sprintf(`{"content":%q}`, strings.Repeat(words, size))), `{"id":1}`)
	}
	if d.found(words) == nil {
		t.Fatal("there is nothing to overwrite")
	}
	if err := d.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.gone(words)
}
