package retry

import (
	"errors"
	"sync/atomic"
)

// ErrBudget says that the budget of resends, not the server, ended the tries.
var ErrBudget = errors.New("the budget of resends is spent")

// BudgetConfig sets the sizes of a [Budget]; zero fields take the defaults.
type BudgetConfig struct {
	// Size is how many resends a full budget allows in a row. Default 100.
	Size int

	// PerFirst is what each first attempt earns, in resends: the most by which
	// a dead server's load can grow once the budget is spent. Default 0.2.
	PerFirst float64

	// PerSuccess is what each success pays back. Default 1: a resend that
	// helped costs nothing.
	PerSuccess float64
}

// Budget keeps an outage from being amplified: a token bucket that every resend
// of a client draws from, and every look-up made because an outcome is unknown.
// It starts full. While everything fails and the bucket is spent, the server
// sees at most 1 + PerFirst times the first attempts.
//
// Make one for each client. It is safe for concurrent use and takes no lock. A
// nil *Budget has no limit.
type Budget struct {
	tokens                     atomic.Int64 // in units of 1/token resends
	size, perFirst, perSuccess int64
}

// token is the price of one resend in the unit of the bucket.
const token = 1 << 20

// NewBudget makes a full budget. Values that are not above zero take their
// defaults.
func NewBudget(c BudgetConfig) *Budget {
	if c.Size <= 0 {
		c.Size = 100
	}
	if !(c.PerFirst > 0) {
		c.PerFirst = 0.2
	}
	if !(c.PerSuccess > 0) {
		c.PerSuccess = 1
	}
	b := &Budget{size: int64(c.Size) * token}
	b.perFirst = int64(min(c.PerFirst*token, float64(b.size)))
	b.perSuccess = int64(min(c.PerSuccess*token, float64(b.size)))
	b.tokens.Store(b.size)
	return b
}

// First notes the first attempt of a call.
func (b *Budget) First() {
	if b != nil {
		b.earn(b.perFirst)
	}
}

// Success notes a try that the server answered well.
func (b *Budget) Success() {
	if b != nil {
		b.earn(b.perSuccess)
	}
}

// Spend takes the price of one resend or look-up. It reports false, and takes
// nothing, when the budget does not hold that much: give up with [ErrBudget].
func (b *Budget) Spend() bool {
	if b == nil {
		return true
	}
	for {
		have := b.tokens.Load()
		if have < token {
			return false
		}
		if b.tokens.CompareAndSwap(have, have-token) {
			return true
		}
	}
}

func (b *Budget) earn(n int64) {
	for {
		have := b.tokens.Load()
		if have >= b.size || b.tokens.CompareAndSwap(have, min(have+n, b.size)) {
			return
		}
	}
}
