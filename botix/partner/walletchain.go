package partner

import (
	"slices"

	"github.com/botix-pro/sdk-go/money"
)

// chain follows the balance from one transaction to the next, to find where it left
// the sum of them. It keeps no transactions but those beside a gap.
type chain struct {
	first, last *Transaction
	untold      bool // a transaction does not tell the balance after it
	// Lists are in the order of time or against it. Which is not promised: in the
	// wrong one every place is a gap.
	up, down gaps
}

// gap is an amount by which the balance changed and that no transaction tells.
type gap struct {
	after  *Transaction // nil: before the first, or where is not known
	amount money.Amount
	last   bool // nothing that is listed comes after it, as far as that is known
}

// gaps are some, of which only so many are kept.
type gaps struct {
	all  []gap
	many bool
}

const mostGaps = 1000

func (g *gaps) note(after *Transaction, is, should money.Amount) {
	amount, err := is.Sub(should)
	switch {
	case err != nil || len(g.all) == mostGaps:
		g.many = true
	case amount.Sign() != 0:
		g.all = append(g.all, gap{after: after, amount: amount})
	}
}

// enter goes on to the next transaction of the list.
func (c *chain) enter(tx *Transaction) {
	before := c.last
	c.last = tx
	switch {
	case !tx.BalanceAfter.IsSet():
		c.untold = true
	case c.untold:
	case before == nil:
		c.first = tx
	default:
		c.up.follow(before, tx)
		c.down.follow(tx, before)
	}
}

// follow notes a gap between two transactions, one of which came next.
func (g *gaps) follow(before, tx *Transaction) {
	should, err := before.BalanceAfter.Add(tx.Amount)
	if err != nil {
		g.many = true
		return
	}
	g.note(before, tx.BalanceAfter, should)
}

// gaps are where the balance left the sum of all transactions; none when they
// agree. Together they are the whole difference.
func (c *chain) gaps(sum, balance money.Amount) ([]gap, error) {
	off, err := balance.Sub(sum)
	if err != nil || off.Sign() == 0 {
		return nil, err
	}
	unplaced := []gap{{amount: off, last: true}}
	if c.last == nil || c.untold {
		return unplaced, nil
	}
	slices.Reverse(c.down.all) // it was met the newest first
	found := c.up.between(c.first, c.last, balance)
	down := c.down.between(c.last, c.first, balance)
	switch {
	case found.many && down.many:
		return unplaced, nil
	case found.many || !down.many && len(down.all) < len(found.all):
		found = down
	}
	return settled(found.all), nil
}

// between adds what is before the oldest transaction and after the newest.
func (g gaps) between(oldest, newest *Transaction, balance money.Amount) gaps {
	all := gaps{many: g.many}
	all.note(nil, oldest.BalanceAfter, oldest.Amount)
	all.all = append(all.all, g.all...)
	n := len(all.all)
	all.note(newest, balance, newest.BalanceAfter)
	for i := range all.all[n:] {
		all.all[n+i].last = true
	}
	return all
}

// settled leaves out gaps that later ones undo, down to where the balance was right
// or off by as much as before: transactions of one moment, listed in another order
// than they were booked in.
func settled(all []gap) (left []gap) {
	offsets := []money.Amount{money.MustParse("0")} // before each of left, and after the last
	for _, g := range all {
		offset, err := offsets[len(offsets)-1].Add(g.amount)
		if err != nil {
			return all
		}
		left, offsets = append(left, g), append(offsets, offset)
		n := slices.IndexFunc(offsets, offset.Equal)
		left, offsets = left[:n], offsets[:n+1]
	}
	return left
}
