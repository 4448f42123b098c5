package partner

import (
	"slices"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
)

// match pairs top-ups of the ledger with listed ones, each with one at most: by the
// id of the transaction, which the answer told; else, where no answer came, by what
// was asked for. credits are the oldest first; they keep what they are paired with.
func match(credits []*credit, listed []*Transaction, recent func(*ledger.Operation) bool) (lines []WalletLine, err error) {
	left := slices.Clone(listed)
	take := func(which func(*Transaction) bool) *Transaction {
		i := slices.IndexFunc(left, which)
		if i < 0 {
			return nil
		}
		tx := left[i]
		left = slices.Delete(left, i, i+1)
		return tx
	}
	for _, c := range credits {
		if c.op.TargetID != "" {
			c.listed = take(func(tx *Transaction) bool { return string(tx.ID) == c.op.TargetID })
		}
	}
	// What may have been done takes before what is known not to have been.
	for _, unknown := range []bool{true, false} {
		for _, c := range credits {
			if c.listed == nil && c.op.Status != ledger.StatusSucceeded && c.op.PossiblySent == unknown {
				c.listed = take(c.asked)
			}
		}
	}
	paid := map[string]bool{} // references that were credited
	for _, c := range credits {
		if l, ok := c.line(recent(c.op), paid); ok {
			if l.Difference, err = difference(c.listed, c.counted()); err != nil {
				return nil, err
			}
			lines = append(lines, l)
		}
	}
	for _, tx := range left {
		l := WalletLine{Finding: WalletForeign, Transaction: tx, Reference: orZero(tx.Reference), Difference: tx.Amount}
		if l.Reference != "" && paid[l.Reference] {
			l.Finding = WalletDoubled
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// line is the finding about a top-up of the ledger; ok is false where there is
// nothing to tell, since nothing was done.
func (c *credit) line(recent bool, paid map[string]bool) (l WalletLine, ok bool) {
	if !c.amount.IsSet() && c.listed != nil && c.asked(c.listed) {
		c.amount = c.listed.Amount // the ledger kept none then; the fingerprint proves it
	}
	l = WalletLine{Operation: c.op, Transaction: c.listed, Reference: c.reference, Amount: c.amount}
	if c.listed != nil {
		l.Reference = orZero(c.listed.Reference)
	}
	done := c.op.Status == ledger.StatusSucceeded
	again := l.Reference != "" && paid[l.Reference]
	if c.listed != nil || done || c.op.PossiblySent {
		paid[l.Reference] = true
	}
	switch {
	case done && c.listed == nil && recent:
		l.Finding = WalletRecent
	case done && c.listed == nil:
		l.Finding = WalletMissing
	case done && (!c.asked(c.listed) || c.answered.IsSet() && !c.answered.Equal(c.amount)):
		l.Finding = WalletDiffers
	case done && again:
		l.Finding = WalletDoubled
	case done:
		l.Finding = WalletAgrees
	case c.op.PossiblySent && recent:
		l.Finding = WalletRecent
	case c.op.PossiblySent:
		l.Finding = WalletUnsettled
	case c.listed != nil:
		l.Finding = WalletContradicts
	default:
		return l, false
	}
	return l, true
}

// counted is what the ledger takes for credited by the operation.
func (c *credit) counted() money.Amount {
	if c.op.Status != ledger.StatusSucceeded {
		return money.Amount{}
	}
	return c.amount
}

// difference is what a line adds to the balance beyond what the ledger counts.
func difference(tx *Transaction, counted money.Amount) (money.Amount, error) {
	var is money.Amount
	if tx != nil {
		is = tx.Amount
	}
	return zeroed(is).Sub(zeroed(counted))
}
