package retry_test

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/botix-pro/sdk-go/retry"
)

// With everything failing, a dead server sees at most 1.2 times the first
// attempts once the budget is spent.
func TestBudgetBoundsAmplification(t *testing.T) {
	t.Parallel()
	b := retry.NewBudget(retry.BudgetConfig{})
	resend := func(calls int) (resends int) {
		for range calls {
			b.First()
			for range 4 { // the policy allows four resends of each
				if b.Spend() {
					resends++
				}
			}
		}
		return resends
	}
	if n := resend(50); n < 100 {
		t.Errorf("a full budget gave %d resends, want the 100 it holds", n)
	}
	const calls = 10_000
	if n := resend(calls); n > calls/5+1 || n < calls/5-1 {
		t.Errorf("a spent budget gave %d resends to %d calls, want a fifth", n, calls)
	}
}

func TestBudgetIsPaidBackBySuccess(t *testing.T) {
	t.Parallel()
	b := retry.NewBudget(retry.BudgetConfig{Size: 2})
	for i, want := range []bool{true, true, false} {
		if got := b.Spend(); got != want {
			t.Errorf("Spend %d = %v", i+1, got)
		}
	}
	b.Success()
	if !b.Spend() || b.Spend() {
		t.Error("one success must pay for exactly one resend")
	}
	for range 10 {
		b.Success()
	}
	n := 0
	for b.Spend() {
		n++
	}
	if n != 2 {
		t.Errorf("the budget grew to %d, above its size of 2", n)
	}
}

func TestBudgetIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	b := retry.NewBudget(retry.BudgetConfig{Size: 1000})
	var spent atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				if b.Spend() {
					spent.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := spent.Load(); n != 1000 {
		t.Errorf("%d resends out of a budget of 1000", n)
	}
}

func TestBudgetWithoutSenseTakesDefaults(t *testing.T) {
	t.Parallel()
	b := retry.NewBudget(retry.BudgetConfig{Size: -1, PerFirst: math.NaN(), PerSuccess: math.Inf(1)})
	if !b.Spend() {
		t.Error("a new budget is full")
	}
	b.First()
	b.Success()
	var unlimited *retry.Budget
	unlimited.First()
	unlimited.Success()
	if !unlimited.Spend() {
		t.Error("a nil budget has no limit")
	}
}
