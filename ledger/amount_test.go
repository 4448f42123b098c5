package ledger_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/retry"
)

// moving is a draft that moves money.
func moving(customer, text string) *ledger.Draft {
	d := draft(customer, `{"amount":"`+text+`"}`)
	d.Amount = &ledger.Amount{Kind: ledger.AmountMoved, Text: text, Currency: "RUB"}
	return d
}

// What fits is exactly what package money would make a whole number of, and has at
// most ten digits before the point.
func TestAmountsThatCanBeKept(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0", "0.00", "-0", "0.00000001", "-0.00000001", "0.000000001", "0.000000010", "0.000000000000000000", "1", "1.5", "1.50000000", "1.500000000", "1.123456789",
		"9999999999", "9999999999.99999999", "9999999999.999999999", "10000000000", "-9999999999.99999999", "-10000000000", "92233720368.54775807",
		"", "-", ".", "5.", ".5", "05", "-05", "00", "00.5", "+5", " 5", "5 ", "1e3", "1E2000000", "0x5", "1,000.00", "--5", "5-", "5.0.0", "５", "NaN", "-Infinity",
		"1." + strings.Repeat("0", 18), "1." + strings.Repeat("0", 19), strings.Repeat("9", 1<<20), "0." + strings.Repeat("0", 1<<20),
	} {
		keeps(t, text)
	}
}

// keeps checks a text against package money, which the ledger does not use.
func keeps(t *testing.T, text string) {
	t.Helper()
	a, err := money.Parse(text)
	if err == nil {
		_, err = a.Minor(ledger.AmountScale)
	}
	digits, _, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	want := err == nil && len(digits) <= 10
	got := ledger.Amount{Kind: ledger.AmountMoved, Text: text}.Check()
	if want != (got == nil) || got != nil && (!errors.Is(got, ledger.ErrAmount) || len(got.Error()) > 200) {
		t.Errorf("Check of %.40q = %v, want it kept: %t", text, got, want)
	}
}

func FuzzAmount(f *testing.F) {
	for _, text := range []string{"0", "-0.1", "9999999999.99999999", "1.000000000", "05", "5.", "1e3"} {
		f.Add(text)
	}
	f.Fuzz(keeps)
}

// What does not fit is refused before anything is recorded.
func TestAnAmountThatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	for name, a := range map[string]ledger.Amount{
		"too many digits":     {Kind: ledger.AmountMoved, Text: "0.000000001"},
		"too much":            {Kind: ledger.AmountMoved, Text: "10000000000"},
		"no number":           {Kind: ledger.AmountMoved, Text: "five"},
		"no kind":             {Text: "5"},
		"an unknown kind":     {Kind: "lent", Text: "5"},
		"a blank in currency": {Kind: ledger.AmountSet, Text: "5", Currency: "R UB "},
		"a story for one":     {Kind: ledger.AmountSet, Text: "5", Currency: strings.Repeat("R", 17)},
	} {
		bad := moving("anna", "5")
		bad.Amount = &a
		if _, err := d.Open(t.Context(), bad); !errors.Is(err, ledger.ErrAmount) {
			t.Errorf("%s: Open = %v", name, err)
		}
		if _, err := d.Enqueue(t.Context(), *bad); !errors.Is(err, ledger.ErrAmount) {
			t.Errorf("%s: Enqueue = %v", name, err)
		}
	}
	if page, err := d.List(t.Context(), ledger.Filter{}); err != nil || len(page.Operations) != 0 {
		t.Errorf("recorded: %v, %v", page, err)
	}
}

// An amount is what was sent, to the digit, wherever an operation is told, and
// whatever becomes of its body and its answer.
func TestAmountsStay(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		want := &ledger.Amount{Kind: ledger.AmountMoved, Text: "10.50", Currency: "RUB"}
		told := func(what string, op *ledger.Operation, err error) {
			d.Helper()
			if err != nil || !reflect.DeepEqual(op.Amount, want) {
				d.Errorf("%s: %v, %v; want %v", what, op.Amount, err, want)
			}
		}
		id := d.done(moving("anna", "10.50"), result)
		without := d.done(draft("boris", body), result)
		if op := d.op(without); op.Amount != nil {
			d.Errorf("an operation without one has %v", op.Amount)
		}
		told("Operation", d.op(id), nil)
		page, err := d.List(d.Context(), ledger.Filter{Customer: "anna"})
		told("List", page.Operations[0], err)
		story, err := d.Story(d.Context(), id)
		told("Story", story.Operation, err)
		if !strings.Contains(story.Redacted(), "\n  amount   10.50 RUB, moved\n") {
			d.Errorf("the story is\n%s", story)
		}
		queued, err := d.Enqueue(d.Context(), *moving("clara", "10.50"))
		told("Enqueue", queued, err)
		again, err := d.Enqueue(d.Context(), *moving("clara", "10.50"))
		told("Enqueue again", again, err)
		inquiry, err := d.Inquire(d.Context(), queued.ID)
		told("Inquire", inquiry.Operation, err)

		lost := d.lost(moving("dora", "10.50"))
		closing, err := d.Closing(d.Context(), ledger.Forecast{Within: 48 * time.Hour})
		if err != nil || len(closing) != 1 {
			d.Fatalf("Closing = %v, %v", closing, err)
		}
		told("Closing", closing[0].Operation, nil)
		asked, err := d.Reconcile(d.Context(), lost, func(_ context.Context, op *ledger.Operation) (ledger.Verdict, ledger.Decision, error) {
			told("what is asked about", op, nil)
			return ledger.Verdict{}, ledger.Decision{}, nil
		})
		told("Reconcile", asked, err)
		if asked.LockedUntil.After(time.Now()) {
			d.Errorf("it is still driven: %v", asked.LockedUntil)
		}
		instead, err := d.Decide(d.Context(), lost, reissue, ann)
		told("what was issued again", instead, err)
		cancelled, err := d.Cancel(d.Context(), instead.ID, ann)
		told("Cancel", cancelled, err)
		cutOff := d.cutOff(func() *ledger.Draft { c := moving("", "10.50"); c.Intent, c.Key = ledger.Intent{}, "key-1"; return c }())
		for op, err := range d.Interrupted(d.Context()) {
			told("Interrupted", op, err)
		}
		if _, err := d.Decide(d.Context(), cutOff, giveUp, ann); err != nil {
			d.Fatal(err)
		}

		if _, err := d.Erase(d.Context(), "anna", dpo); err != nil {
			d.Fatal(err)
		}
		told("after an erasure", d.op(id), nil)
		time.Sleep(quarter)
		file := filepath.Join(d.TempDir(), "a.gz")
		if _, err := d.Archive(d.Context(), file, owner); err != nil {
			d.Fatal(err)
		}
		told("after an archive", d.op(id), nil)
		archived := archivedIn(d.T, file)
		told("in the archive", archived[id].Operation, nil)
		if archived[without].Operation.Amount != nil || !strings.Contains(d.unpacked(file), `"amount":{"kind":"moved","amount":"10.50","units":1050000000,"currency":"RUB"}`) {
			d.Errorf("the archive is\n%s", d.unpacked(file))
		}
	})
}

// What is restored has the money that its draft says.
func TestRestoredAmounts(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	all := []ledger.Restored{{Draft: *moving("anna", "7.25"), At: time.Now(), Target: ledger.Target{Kind: "transaction", ID: "1", Made: true}}}
	if n, err := d.Restore(t.Context(), all, ann); n != 1 || err != nil {
		t.Fatalf("Restore = %d, %v", n, err)
	}
	for op, err := range d.All(t.Context(), ledger.Filter{}) {
		if err != nil || op.Amount == nil || op.Amount.Text != "7.25" {
			t.Errorf("restored: %v, %v", op, err)
		}
	}
}

// F085: people with the sqlite3 shell see amounts as they were sent, and add them up
// without a rounding.
func TestF085AmountsInTheShell(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	for customer, text := range map[string]string{"anna": "0.10", "boris": "0.20", "clara": "100000000.00000001"} {
		d.done(moving(customer, text), result)
	}
	d.end(d.begin(moving("dora", "5")), retry.Rejected, "", "")
	limit := moving("emil", "1000.00")
	limit.Amount.Kind, limit.Amount.Currency = ledger.AmountSet, ""
	d.done(limit, result)
	d.done(draft("fedor", body), result)

	var text, currency, kind string
	err := d.db.QueryRowContext(t.Context(), "SELECT amount, currency, amount_kind FROM partner_operations WHERE external_customer_id = 'clara'").Scan(&text, &currency, &kind)
	if err != nil || text != "100000000.00000001" || currency != "RUB" || kind != "moved" {
		t.Errorf("the view has %q, %q, %q, %v", text, currency, kind, err)
	}
	var none, unnamed any
	err = d.db.QueryRowContext(t.Context(), `SELECT (SELECT amount FROM partner_operations WHERE external_customer_id = 'fedor'),
		(SELECT currency FROM partner_operations WHERE external_customer_id = 'emil')`).Scan(&none, &unnamed)
	if err != nil || none != nil || unnamed != nil {
		t.Errorf("the view has %v and %v, %v", none, unnamed, err)
	}
	var sum, types string
	err = d.db.QueryRowContext(t.Context(), `
		SELECT printf('%d.%08d', sum(amount_units) / 100000000, sum(amount_units) % 100000000),
		       max(typeof(amount)) || ', ' || max(typeof(amount_units)) || ', ' || typeof(sum(amount_units))
		  FROM partner_operations WHERE amount_kind = 'moved' AND status = 'succeeded'`).Scan(&sum, &types)
	if err != nil || sum != "100000000.30000001" || types != "text, integer, integer" {
		t.Errorf("they add up to %s, of types %s, %v", sum, types, err)
	}
}

// The statements of docs/partner.md run, and say what they are said to.
func TestTheShellOfTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "partner.md"))
	if err != nil {
		t.Fatal(err)
	}
	d := openDesk(t)
	for customer, text := range map[string]string{"anna": "0.10", "boris": "0.20", "clara": "-0.05", "dora": "-1.25"} {
		move := moving(customer, text)
		if strings.HasPrefix(text, "-") {
			move.Amount.Currency = "KZT"
		}
		d.done(move, result)
	}
	var rows [][]string
	for _, block := range strings.Split(string(page), "```sql\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for query := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(block), ";"), ";") {
			answer, err := d.db.QueryContext(t.Context(), query)
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			var all []string
			for answer.Next() {
				if columns, _ := answer.Columns(); len(columns) != 2 {
					all = append(all, "")
					continue
				}
				var currency, credited string // the sum
				if err := answer.Scan(&currency, &credited); err != nil {
					t.Error(err)
				}
				all = append(all, credited+" "+currency)
			}
			if err := errors.Join(answer.Err(), answer.Close()); err != nil {
				t.Error(err)
			}
			slices.Sort(all)
			rows = append(rows, all)
		}
	}
	if want := [][]string{nil, {"", "", "", ""}, {"-1.30000000 KZT", "0.30000000 RUB"}}; !reflect.DeepEqual(rows, want) {
		t.Errorf("the rows are %q, want %q", rows, want)
	}
}

// Nothing changes an amount, not even by the database's own shell; and a file that
// was made to say two things is not believed.
func TestAmountsDoNotChange(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.done(moving("anna", "10.50"), result)
	run := func(query string) error {
		_, err := d.db.ExecContext(t.Context(), query)
		return err
	}
	for _, query := range []string{
		"UPDATE ledger_amounts SET amount = '10.51', units = 1051000000",
		"UPDATE ledger_amounts SET currency = 'USD'",
		"DELETE FROM ledger_amounts",
		"INSERT OR REPLACE INTO ledger_amounts SELECT operation_id, kind, '10.51', 1051000000, currency FROM ledger_amounts",
	} {
		if err := run(query); err == nil {
			t.Errorf("%s was done", query)
		}
	}
	if got := d.op(id).Amount.Text; got != "10.50" {
		t.Errorf("the amount is %s", got)
	}
	conn, err := d.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"PRAGMA ignore_check_constraints = ON", "DROP TRIGGER ledger_amounts_update", "UPDATE ledger_amounts SET units = units + 1"} {
		if _, err := conn.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if op, err := d.Operation(t.Context(), id); !errors.Is(err, ledger.ErrAmount) || !strings.Contains(err.Error(), id) {
		t.Errorf("Operation = %v, %v; want an error that names it", op, err)
	}
	if _, err := d.List(t.Context(), ledger.Filter{}); !errors.Is(err, ledger.ErrAmount) {
		t.Errorf("List = %v", err)
	}
}

// Calls that are about no money pay nothing for those that are: neither a direct call
// nor its repeat, nor what is recorded for a worker, touches the amounts.
func TestCallsWithoutAnAmountDoNotTouchThem(t *testing.T) {
	t.Parallel()
	s := &counting{Store: mustStoreAt(t, filepath.Join(t.TempDir(), "ops.db"))}
	led, err := ledger.New(s, ledger.Namespace("shop-test"))
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t, led, s.Handle(), ""}
	t.Cleanup(d.close)
	d.done(draft("anna", body), result)
	repeat, err := d.Open(t.Context(), draft("anna", body))
	if err != nil {
		t.Fatal(err)
	}
	repeat.Close()
	d.lost(draft("boris", body))
	d.enqueued(draft("clara", body))
	if n := s.touched.Load(); n != 0 {
		t.Errorf("amounts were touched %d times", n)
	}
	d.done(moving("dora", "5"), result)
	d.enqueued(moving("emil", "5"))
	if n := s.touched.Load(); n != 2 {
		t.Errorf("amounts were touched %d times for two of them", n)
	}
}

// counting counts how often a ledger looks at amounts, or adds one.
type counting struct {
	store.Store
	touched atomic.Int32
}

type countingTx struct {
	store.Tx
	touched *atomic.Int32
}

func (s *counting) Write(ctx context.Context, unit func(store.Tx) error) error {
	return s.Store.Write(ctx, func(tx store.Tx) error { return unit(countingTx{tx, &s.touched}) })
}

func (s *counting) Read(ctx context.Context, unit func(store.Tx) error) error {
	return s.Store.Read(ctx, func(tx store.Tx) error { return unit(countingTx{tx, &s.touched}) })
}

func (t countingTx) InsertAmount(ctx context.Context, a *store.Amount) error {
	t.touched.Add(1)
	return t.Tx.InsertAmount(ctx, a)
}

func (t countingTx) Amounts(ctx context.Context, ids []string) (map[string]store.Amount, error) {
	t.touched.Add(1)
	return t.Tx.Amounts(ctx, ids)
}
