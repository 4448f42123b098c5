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
	readAt   time.Time
	currency string
	credits  []*credit
	topUps   []*Transaction // in the order listed
	other    money.Amount   // of everything else
	chain    chain
	balance  money.Amount // unset: the group is gone
	moving   bool
}

// credit is a top-up as the ledger has it.
type credit struct {
	op        *ledger.Operation
	amount    money.Amount // unset: not kept
	reference string       // "": not kept
	listed    *Transaction
	// asked reports whether a transaction is what the operation asked for.
	asked func(*Transaction) bool
}

// enter takes a transaction from the list.
func (b *book) enter(tx *Transaction) error {
	b.currency = cmp.Or(b.currency, tx.Currency)
	if tx.Currency != "" && tx.Currency != b.currency {
		return fmt.Errorf("the wallet of group %s has transactions in %s and in %s, which cannot be added", b.group, b.currency, tx.Currency)
	}
	b.chain.enter(tx)
	if tx.Type == TransactionTopUp {
		b.topUps = append(b.topUps, tx)
		return nil
	}
	var err error
	b.other, err = sum(b.other, tx.Amount)
	return err
}

// credit reads what the ledger kept of a top-up: the answer of one that succeeded,
// the request of one that is open. Where neither was kept, its fingerprint still
// tells whether a transaction is what was asked for.
func (a *Auditor) credit(ctx context.Context, op *ledger.Operation) *credit {
	ep := a.rows["topUpsCreate"]
	c := &credit{op: op, asked: func(tx *Transaction) bool { return a.asked(op, CreateTopUp{tx.Amount, orZero(tx.Reference)}) }}
	if result, err := a.records.Result(op); err == nil {
		var env answer.Envelope[Transaction, listMeta]
		if env.Read(200, a.names.answer(result, ep.gives), false).Success {
			c.amount, c.reference = env.Data.Amount, orZero(env.Data.Reference)
		}
	}
	if body, err := a.records.Body(ctx, op, ep.Significance); err == nil {
		var req CreateTopUp
		if json.Unmarshal(a.names.stored(body, ep.takes), &req) == nil {
			c.amount, c.reference = req.Amount, req.Reference
		}
	}
	return c
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
		GroupID: b.group, ReadAt: b.readAt.UTC(), Currency: b.currency,
		Other: zeroed(b.other), Balance: zeroed(b.balance), Moving: b.moving, Gone: !b.balance.IsSet(),
	}
	slices.SortStableFunc(b.credits, func(x, y *credit) int { return x.op.CreatedAt.Compare(y.op.CreatedAt) })
	recent := func(op *ledger.Operation) bool {
		return op.LockedUntil.After(b.readAt) || op.UpdatedAt.After(b.readAt.Add(-a.settle))
	}
	lines, err := match(b.credits, b.topUps, recent)
	if err != nil {
		return nil, err
	}
	w.Lines = lines
	if err := w.add(b); err != nil || w.Moving {
		return w, err
	}
	total, err := w.Listed.Add(w.Other)
	if err != nil {
		return nil, err
	}
	gaps, err := b.chain.gaps(total, w.Balance)
	for _, g := range gaps {
		w.Lines = append(w.Lines, WalletLine{Finding: WalletDrift, Transaction: g.after, Difference: g.amount})
	}
	slices.SortStableFunc(w.Lines, func(x, y WalletLine) int { return x.at().Compare(y.at()) })
	return w, err
}

// add fills in the sums.
func (w *Wallet) add(b *book) (err error) {
	w.Credited, w.Listed = zeroed(w.Credited), zeroed(w.Listed)
	for _, l := range w.Lines {
		if l.Operation != nil && l.Operation.Status == ledger.StatusSucceeded && l.Amount.IsSet() {
			if w.Credited, err = w.Credited.Add(l.Amount); err != nil {
				return err
			}
		}
	}
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
