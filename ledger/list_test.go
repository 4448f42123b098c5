package ledger_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// record carries an operation through one attempt that ended with a status.
func record(led *ledger.Ledger, n int, intent ledger.Intent, status int) error {
	id := fmt.Sprintf("01980000-0000-7000-8000-%012d", n)
	d, err := led.Open(context.Background(), &ledger.Draft{
		ID: id, Intent: intent, Action: "messagesSend", Key: "key-" + id,
		API: "botix", Origin: "https://api.example", Credential: "c", Driver: ledger.DriverCaller,
		Payload: ledger.Payload{Method: "POST", Path: fmt.Sprintf("/public/v1/contacts/%d/messages", n), Body: []byte(`{}`)},
	})
	if err != nil {
		return err
	}
	defer d.Close()
	allowed := func() error { return nil }
	if err := d.Begin(context.Background(), allowed); err != nil {
		return err
	}
	now := time.Now()
	a := retry.Attempt{Number: 1, Started: now, Ended: now, Outcome: retry.Succeeded, Status: status, RequestID: "req-" + id}
	if status >= 500 {
		a.Outcome = retry.Unknown
	}
	return d.End(ledger.Ending{Attempt: a, ReadBack: true})
}

func openLedger(t *testing.T, opts ...ledger.Option) *ledger.Ledger {
	t.Helper()
	opts = append([]ledger.Option{ledger.Namespace("shop-test")}, opts...)
	led, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ops.db"), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := led.Close(); err != nil {
			t.Error(err)
		}
	})
	return led
}

func TestList(t *testing.T) {
	t.Parallel()
	led := openLedger(t)
	before := time.Now().Add(-time.Hour)
	for n := 1; n <= 120; n++ {
		intent := ledger.Intent{Customer: fmt.Sprint("customer-", n%3), Action: "order-confirmed", Version: fmt.Sprint("order-", n)}
		status := 200
		switch {
		case n%10 == 0:
			status = 503
		case n%10 == 1:
			intent = ledger.Intent{}
		}
		if err := record(led, n, intent, status); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name        string
		f           ledger.Filter
		first, size int // the newest operation, and how many there are
	}{
		{"all", ledger.Filter{}, 120, 120},
		{"an id", ledger.Filter{ID: "01980000-0000-7000-8000-000000000077"}, 77, 1},
		{"a customer", ledger.Filter{Customer: "customer-1"}, 118, 36},
		{"an intent", ledger.Filter{Customer: "customer-2", Action: "order-confirmed", Version: "order-5"}, 5, 1},
		{"calls without an intent", ledger.Filter{Customer: "-", Action: "messagesSend"}, 111, 12},
		{"a key", ledger.Filter{Key: "key-01980000-0000-7000-8000-000000000009"}, 9, 1},
		{"a request", ledger.Filter{RequestID: "req-01980000-0000-7000-8000-000000000008"}, 8, 1},
		{"a path", ledger.Filter{Path: "/public/v1/contacts/11*"}, 119, 11},
		{"statuses", ledger.Filter{Statuses: []ledger.Status{ledger.StatusReconciling, ledger.StatusFailedFinal}}, 120, 12},
		{"an answer", ledger.Filter{Answered: 5}, 120, 12},
		{"no such answer", ledger.Filter{Answered: 4}, 0, 0},
		{"in time", ledger.Filter{From: before, Until: time.Now().Add(time.Hour)}, 120, 120},
		{"too early", ledger.Filter{Until: before}, 0, 0},
	} {
		var got []*ledger.Operation
		for op, err := range led.All(t.Context(), c.f) {
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			got = append(got, op)
		}
		if len(got) != c.size || len(got) > 0 && got[0].ID != fmt.Sprintf("01980000-0000-7000-8000-%012d", c.first) {
			t.Errorf("%s: %d operations, want %d from %d", c.name, len(got), c.size, c.first)
		}
		if !slices.IsSortedFunc(got, func(a, b *ledger.Operation) int { return cmp.Compare(b.ID, a.ID) }) {
			t.Errorf("%s: not the newest first", c.name)
		}
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	led := openLedger(t)
	add := func(n int) {
		t.Helper()
		if err := record(led, n, ledger.Intent{}, 200); err != nil {
			t.Fatal(err)
		}
	}
	for n := 1; n <= 5; n++ {
		add(n)
	}
	var sizes []int
	seen := make(map[string]bool)
	f := ledger.Filter{Limit: 2}
	for {
		page, err := led.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page.Operations))
		for _, op := range page.Operations {
			seen[op.ID] = true
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			break
		}
		add(5 + len(sizes)) // comes before the first page, and moves none
	}
	if !slices.Equal(sizes, []int{2, 2, 1}) || len(seen) != 5 {
		t.Errorf("pages of %v with %d operations, want 2, 2, 1 with 5", sizes, len(seen))
	}
	page, err := led.List(t.Context(), ledger.Filter{Limit: 7})
	if err != nil || len(page.Operations) != 7 || page.Next != "" {
		t.Errorf("a page that takes all: %+v, %v", page, err)
	}
}

func TestAllStopsAndStartsAfresh(t *testing.T) {
	t.Parallel()
	led := openLedger(t)
	for n := 1; n <= 3; n++ {
		if err := record(led, n, ledger.Intent{}, 200); err != nil {
			t.Fatal(err)
		}
	}
	all := led.All(t.Context(), ledger.Filter{Limit: 1})
	for range 2 {
		n := 0
		for op, err := range all {
			if err != nil || op.ID != fmt.Sprintf("01980000-0000-7000-8000-%012d", 3-n) {
				t.Fatalf("operation %d: %v, %v", n, op, err)
			}
			if n++; n == 2 {
				break
			}
		}
	}
}

func TestListRefuses(t *testing.T) {
	t.Parallel()
	led := openLedger(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		f    ledger.Filter
		want error
	}{
		"a negative page":      {t.Context(), ledger.Filter{Limit: -1}, ledger.ErrFilter},
		"too big a page":       {t.Context(), ledger.Filter{Limit: 501}, ledger.ErrFilter},
		"a status for a digit": {t.Context(), ledger.Filter{Answered: 503}, ledger.ErrFilter},
		"a foreign cursor":     {t.Context(), ledger.Filter{Cursor: "x"}, ledger.ErrFilter},
		"a context that ended": {cancelled, ledger.Filter{}, context.Canceled},
	} {
		if page, err := led.List(c.ctx, c.f); page != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, page, err, c.want)
		}
		n := 0
		for op, err := range led.All(c.ctx, c.f) {
			if n++; op != nil || !errors.Is(err, c.want) {
				t.Errorf("%s: All gives %v, %v; want %v", name, op, err, c.want)
			}
		}
		if n != 1 {
			t.Errorf("%s: All gives %d times", name, n)
		}
	}
	if err := led.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := led.List(t.Context(), ledger.Filter{}); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("List after Close = %v", err)
	}
}

func ExampleLedger_All() {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }() // of the example only
	ctx := context.Background()
	led, err := sqlite.Open(ctx, filepath.Join(dir, "ops.db"), ledger.Namespace("shop-prod"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer led.Close()

	// As clients with botix.WithLedger do.
	for n, status := range []int{200, 503, 200} {
		intent := ledger.Intent{Customer: "shop-customer-7", Action: "order-confirmed", Version: fmt.Sprint("order-", 1024+n)}
		if err := record(led, n, intent, status); err != nil {
			fmt.Println(err)
			return
		}
	}

	// Which of this customer's operations nobody knows the end of?
	f := ledger.Filter{Customer: "shop-customer-7", Statuses: []ledger.Status{ledger.StatusReconciling}}
	for op, err := range led.All(ctx, f) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(op.Intent.Version, op.Status, "next:", op.Next)
	}
	// Output:
	// order-1025 reconciling next: look
}
