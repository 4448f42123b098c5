package partner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/botix-pro/sdk-go/internal/answer"
	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
)

// book gathers what is known of one wallet.
type book struct {
	group    GroupID
	readAt   time.Time // when the reading began
	currency unit
	credits  []*credit
	topUps   []*Transaction         // in the order listed
	met      map[TransactionID]bool // of topUps
	other    money.Amount           // of everything else
	entries  int                    // of the list
	chain    chain
	balance  money.Amount // unset: the group is gone
	moving   bool
}

// credit is a top-up as the ledger has it.
type credit struct {
	op        *ledger.Operation
	amount    money.Amount // that was asked for; unset: recorded when the ledger kept none
	currency  string
	answered  money.Amount // unset: not kept
	reference string       // "": not kept
	listed    *Transaction
	// asked reports whether a transaction is what the operation asked for.
	asked func(*Transaction) bool
}

// enter takes a transaction from the list.
func (b *book) enter(tx *Transaction) error {
	if err := b.currency.is(tx.Currency); err != nil {
		return fmt.Errorf("the wallet of group %s: transaction %s: %w", b.group, tx.ID, err)
	}
	if b.met[tx.ID] {
		return nil // the list was shifted while it was read
	}
	b.chain.enter(tx)
	b.entries++
	if tx.Type == TransactionTopUp {
		if b.met == nil {
			b.met = map[TransactionID]bool{}
		}
		b.met[tx.ID] = true
		b.topUps = append(b.topUps, tx)
		return nil
	}
	var err error
	b.other, err = sum(b.other, tx.Amount)
	return err
}

// owes takes a top-up of the ledger.
func (a *Auditor) owes(ctx context.Context, b *book, op *ledger.Operation) error {
	c, err := a.credit(ctx, op)
	if err == nil {
		err = b.currency.is(c.currency)
	}
	if err != nil {
		return fmt.Errorf("the wallet of group %s: operation %s: %w", b.group, op.ID, err)
	}
	b.credits = append(b.credits, c)
	return nil
}

// unit is the one currency of amounts that are added; "" until one is told.
type unit string

// is refuses another currency. One that is not told is taken for the same.
func (u *unit) is(told string) error {
	if *u != "" && told != "" && told != string(*u) {
		return fmt.Errorf("amounts in %s and in %s cannot be added; Contract.Currency says what the ledger's are in", *u, told)
	}
	*u = unit(cmp.Or(string(*u), told))
	return nil
}

// credit reads what the ledger has of a top-up: the amount of each; the reference
// where its answer is kept, or its request still. The fingerprint tells whether a
// transaction is what was asked for.
func (a *Auditor) credit(ctx context.Context, op *ledger.Operation) (*credit, error) {
	ep := a.rows["topUpsCreate"]
	c := &credit{op: op, asked: func(tx *Transaction) bool { return a.asked(op, CreateTopUp{tx.Amount, orZero(tx.Reference)}) }}
	if op.Amount != nil {
		var err error
		if c.amount, err = money.Parse(op.Amount.Text); err != nil {
			return nil, err
		}
		c.currency = op.Amount.Currency
	}
	if result, err := a.records.Result(op); err == nil {
		var env answer.Envelope[Transaction, listMeta]
		if env.Read(200, a.names.answer(result, ep.gives), false).Success {
			c.answered, c.reference = env.Data.Amount, orZero(env.Data.Reference)
		}
	}
	if body, err := a.records.Body(ctx, op, ep.Significance); err == nil {
		var req CreateTopUp
		if json.Unmarshal(a.names.stored(body, ep.takes), &req) == nil {
			c.reference = req.Reference
		}
	}
	return c, nil
}

// asked reports whether req is what an operation was recorded with.
func (a *Auditor) asked(op *ledger.Operation, req CreateTopUp) bool {
	ep := a.rows["topUpsCreate"]
	body, err := rest.Encode(req)
	if err == nil {
		body, err = a.names.request(body, ep.takes)
	}
	if err != nil {
		return false
	}
	same, err := ledger.Fingerprint(op.Fingerprint).Matches(ledger.Payload{Method: op.Method, Path: op.Path, Body: body}, ep.Significance)
	return same && err == nil
}

// close compares what was gathered.
func (a *Auditor) close(b *book) (*Wallet, error) {
	w := &Wallet{
		GroupID: b.group, ReadAt: b.readAt.UTC(), Currency: string(b.currency),
		Other: zeroed(b.other), Balance: zeroed(b.balance), Moving: b.moving, Gone: !b.balance.IsSet(), entries: b.entries,
	}
	var err error
	if w.Lines, err = a.lines(b, b.readAt); err != nil {
		return nil, err
	}
	if err := w.add(b); err != nil || w.Moving {
		return w, err
	}
	total, err := w.Listed.Add(w.Other)
	if err != nil {
		return nil, err
	}
	gaps, err := b.chain.gaps(total, w.Balance)
	for _, g := range gaps {
		w.Lines = append(w.Lines, WalletLine{Finding: WalletDrift, Transaction: g.after, Difference: g.amount, last: g.last})
	}
	slices.SortStableFunc(w.Lines, func(x, y WalletLine) int { return x.at().Compare(y.at()) })
	return w, err
}

// lines are what the ledger and the list make of the top-ups together.
func (a *Auditor) lines(b *book, readAt time.Time) ([]WalletLine, error) {
	slices.SortStableFunc(b.credits, func(x, y *credit) int { return x.op.CreatedAt.Compare(y.op.CreatedAt) })
	return match(b.credits, b.topUps, func(op *ledger.Operation) bool {
		return op.LockedUntil.After(readAt) || op.UpdatedAt.After(readAt.Add(-a.settle))
	})
}

// credited is the ledger's own sum.
func credited(lines []WalletLine) (sum money.Amount, err error) {
	sum = zeroed(sum)
	for _, l := range lines {
		if l.Operation != nil && l.Operation.Status == ledger.StatusSucceeded && l.Amount.IsSet() {
			if sum, err = sum.Add(l.Amount); err != nil {
				return sum, err
			}
		}
	}
	return sum, nil
}

// add fills in the sums.
func (w *Wallet) add(b *book) (err error) {
	if w.Credited, err = credited(w.Lines); err != nil {
		return err
	}
	w.Listed = zeroed(w.Listed)
	for _, tx := range b.topUps {
		if w.Listed, err = w.Listed.Add(tx.Amount); err != nil {
			return err
		}
	}
	return nil
}

// at is when the line came to be.
func (l WalletLine) at() time.Time {
	if l.Transaction != nil {
		return l.Transaction.CreatedAt
	}
	if l.Operation != nil {
		return l.Operation.CreatedAt
	}
	if l.Event != nil {
		return l.Event.CreatedAt
	}
	return time.Time{}
}

// zeroed is an amount that is 0 where nothing was added to it.
func zeroed(a money.Amount) money.Amount {
	if !a.IsSet() {
		return money.MustParse("0")
	}
	return a
}

func sum(a, b money.Amount) (money.Amount, error) { return zeroed(a).Add(zeroed(b)) }
