package partner

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
)

// ownBook gathers what is known of the partner's own account: a book for each group
// that money went to, and what else moved it.
type ownBook struct {
	since    AccountPoint
	currency unit
	groups   map[GroupID]*book
	listed   map[TransactionID]bool // top-ups since the start
	other    money.Amount
	events   []*AuditEvent // of top-ups

	moving []*Transaction // all that are listed and move the account
	met    map[TransactionID]bool
	newest time.Time // of all that are listed
}

func (b *ownBook) of(group GroupID) *book {
	if b.groups[group] == nil {
		b.groups[group] = &book{group: group}
	}
	return b.groups[group]
}

// enter takes a transaction from the list.
func (b *ownBook) enter(tx *Transaction) (err error) {
	if tx.CreatedAt.After(b.newest) {
		b.newest = tx.CreatedAt
	}
	credits := tx.Type == TransactionTopUp && tx.GroupID != nil
	returns := tx.Type == TransactionRefund && tx.GroupID != nil && tx.Amount.Sign() < 0 // of a group that was deleted
	switch {
	case !credits && !returns && tx.GroupID != nil:
		return nil // it is between the group and its wallet
	case b.met[tx.ID]:
		return nil // the list was shifted while it was read
	}
	b.met[tx.ID] = true
	b.moving = append(b.moving, tx)
	if err := b.currency.is(tx.Currency); err != nil || slices.Contains(b.since.Counted, tx.ID) {
		return err
	}
	switch {
	case credits:
		b.listed[tx.ID] = true
		g := b.of(*tx.GroupID)
		g.topUps = append(g.topUps, tx)
	case returns:
		b.other, err = zeroed(b.other).Sub(tx.Amount)
	default:
		b.other, err = sum(b.other, tx.Amount)
	}
	return err
}

// account reads once. The audit log comes before the list, so that what it has can be
// listed; the ledger comes last, as in wallet.
func (a *Auditor) account(ctx context.Context, since AccountPoint) (*Account, error) {
	readAt := time.Now().UTC()
	b := ownBook{since: since, groups: map[GroupID]*book{}, listed: map[TransactionID]bool{}, met: map[TransactionID]bool{}}
	log := ListAuditEvents{WholeAccount: true, Action: AuditTopUpCreate, Since: since.At, Limit: maxPageSize}
	for e, err := range once(a.server.audit.All(ctx, log, patiently), (*AuditEvent).id) {
		if err != nil {
			return nil, err
		}
		b.events = append(b.events, e)
	}
	before, err := a.server.own.Balance(ctx, patiently)
	if err != nil {
		return nil, err
	}
	list := ListTransactions{WholeAccount: true, Since: since.At, Limit: maxPageSize}
	for tx, err := range a.server.transactions.All(ctx, list, patiently) {
		if err == nil {
			err = b.enter(tx)
		}
		if err != nil {
			return nil, err
		}
	}
	after, err := a.server.own.Balance(ctx, patiently)
	if err == nil {
		err = b.currency.is(after.Currency)
	}
	if err != nil {
		return nil, err
	}
	is := &Account{
		Since: since, ReadAt: readAt, Other: zeroed(b.other), Balance: after.Amount,
		Moving: !before.Amount.Equal(after.Amount),
	}
	if err := a.spend(ctx, &b); err != nil {
		return nil, err
	}
	if err := a.compare(is, &b); err != nil {
		return nil, err
	}
	if !is.Moving {
		is.Next = b.next(after.Amount, is.Lines, max(call.Slack, a.settle))
	}
	return is, nil
}

// spend takes the ledger's top-ups since the start.
func (a *Auditor) spend(ctx context.Context, b *ownBook) error {
	ep := a.rows["topUpsCreate"]
	for op, err := range a.operations(ctx, ep, nil) {
		if err != nil {
			return err
		}
		group := GroupID(ep.idsIn(op.Path)["group"])
		switch id := TransactionID(op.TargetID); {
		case slices.Contains(b.since.Counted, id):
			continue
		case b.listed[id], b.since.At.IsZero():
		case op.UpdatedAt.Before(b.since.At.Add(-call.Slack)):
			continue // it was known to be done, or not, before
		case op.Status == ledger.StatusSucceeded && op.FirstSentAt.Before(b.since.At.Add(call.Slack)):
			// It was known after the start, and may have been done before.
			earlier, err := a.earlier(ctx, b.since, group, op)
			if err != nil {
				return err
			}
			if earlier {
				continue
			}
		}
		g := b.of(group)
		if err := a.owes(ctx, g, op); err != nil {
			return err
		}
		if err := b.currency.is(string(g.currency)); err != nil {
			return err
		}
	}
	return nil
}

// earlier reports whether a top-up was done before the start.
func (a *Auditor) earlier(ctx context.Context, since AccountPoint, group GroupID, op *ledger.Operation) (bool, error) {
	list := ListTransactions{GroupID: group, Type: TransactionTopUp, Since: op.FirstSentAt.Add(-call.Slack), Until: since.At, Limit: maxPageSize}
	for tx, err := range a.server.transactions.All(ctx, list, patiently) {
		if err != nil || string(tx.ID) == op.TargetID {
			return err == nil, err
		}
	}
	return false, nil
}

// compare lays side by side what was gathered.
func (a *Auditor) compare(is *Account, b *ownBook) (err error) {
	is.Currency = string(b.currency)
	is.Credited, is.Listed = money.MustParse("0"), money.MustParse("0")
	for _, id := range slices.Sorted(maps.Keys(b.groups)) {
		g := b.groups[id]
		lines, err := a.lines(g, is.ReadAt)
		if err != nil {
			return err
		}
		is.Lines = append(is.Lines, lines...)
		for _, tx := range g.topUps {
			if is.Listed, err = is.Listed.Add(tx.Amount); err != nil {
				return err
			}
		}
	}
	if is.Credited, err = credited(is.Lines); err != nil {
		return err
	}
	if err := b.tell(is.Lines); err != nil {
		return err
	}
	unlisted, err := b.unlisted(is.Lines)
	if err != nil {
		return err
	}
	is.Lines = append(is.Lines, unlisted...)
	slices.SortStableFunc(is.Lines, func(x, y WalletLine) int { return x.at().Compare(y.at()) })
	is.asides = b.asides(is.Lines)
	if is.Moving {
		return nil
	}
	return is.drift(a.settle)
}

// tell turns lines of wallets into those of the account, which lacks what they have
// more, and says who did what is not the ledger's. Of a top-up that is known to be
// done the account lacks nothing, only the list does.
func (b *ownBook) tell(lines []WalletLine) (err error) {
	for i := range lines {
		l := &lines[i]
		if l.Finding == WalletRecent && l.Operation.Status == ledger.StatusSucceeded {
			l.Difference = money.Amount{}
		}
		if l.Difference, err = money.MustParse("0").Sub(zeroed(l.Difference)); err != nil {
			return err
		}
		if l.Finding != WalletAgrees {
			l.Event = firstOf(b.events, l.is)
		}
	}
	return nil
}

// asides are the ids of what moved the account besides top-ups of the ledger's that
// succeeded, or may have. The log names a transaction as the list does.
func (b *ownBook) asides(lines []WalletLine) (ids []string) {
	ours := map[TransactionID]bool{}
	for _, l := range lines {
		switch {
		case l.logged():
			ids = append(ids, l.Event.TargetID)
		case l.Operation != nil && l.Operation.Status != ledger.StatusSucceeded:
			ids = append(ids, l.Operation.ID)
		case l.Operation != nil && l.Transaction != nil:
			ours[l.Transaction.ID] = true
		}
	}
	for _, tx := range b.moving {
		if !ours[tx.ID] {
			ids = append(ids, string(tx.ID))
		}
	}
	slices.Sort(ids)
	return ids
}

// logged: only the audit log has it.
func (l *WalletLine) logged() bool {
	return l.Event != nil && l.Operation == nil && l.Transaction == nil
}

// is reports whether an event is the line's.
func (l *WalletLine) is(e *AuditEvent) bool {
	if tx := l.Transaction; tx != nil {
		return e.TargetID == string(tx.ID)
	}
	op := l.Operation
	return op.TargetID != "" && op.TargetID == e.TargetID || op.RequestID != "" && op.RequestID == e.RequestID
}

// unlisted are top-ups that only the audit log tells of. Around the start it may have
// some whose transactions are before that.
func (b *ownBook) unlisted(known []WalletLine) (lines []WalletLine, err error) {
	for _, e := range b.events {
		id := TransactionID(e.TargetID)
		start := !b.since.At.IsZero() && e.CreatedAt.Before(b.since.At.Add(call.Slack))
		if start || b.listed[id] || slices.Contains(b.since.Counted, id) ||
			slices.ContainsFunc(known, func(l WalletLine) bool { return l.is(e) }) { // one of ours, that is missing
			continue
		}
		told := texts(e.Metadata)
		l := WalletLine{Finding: WalletForeign, Event: e, Reference: told["reference"], Difference: money.MustParse("0")}
		if amount, problem := money.Parse(told["amount"]); problem == nil { // else it is part of the drift
			if l.Difference, err = l.Difference.Sub(amount); err != nil {
				return nil, err
			}
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// drift adds a line for what no other line explains.
func (a *Account) drift(settle time.Duration) error {
	all := []money.Amount{zeroed(a.Since.Balance), a.Other}
	for _, l := range a.Lines {
		all = append(all, l.Difference)
	}
	due, err := money.Sum(all...)
	if err == nil {
		due, err = due.Sub(a.Credited)
	}
	if err != nil {
		return err
	}
	off, err := a.Balance.Sub(due)
	if err != nil || off.Sign() == 0 {
		return err
	}
	if a.Moving, err = a.lags(off, settle); err == nil && !a.Moving {
		a.Lines = slices.Insert(a.Lines, 0, WalletLine{Finding: WalletDrift, Difference: off, last: true})
	}
	return err
}

// lags reports whether the balance has just what the ledger's last few top-ups took:
// it lags behind them.
func (a *Account) lags(off money.Amount, settle time.Duration) (bool, error) {
	taken := money.MustParse("0")
	for _, l := range slices.Backward(a.Lines) {
		op := l.Operation
		if op == nil || op.Status != ledger.StatusSucceeded || op.UpdatedAt.Before(a.ReadAt.Add(-settle)) {
			continue
		}
		var err error
		if taken, err = taken.Add(zeroed(l.Amount)); err != nil || taken.Equal(off) {
			return err == nil, err
		}
	}
	return false, nil
}

// next is the balance as a point to start from. Its time is the server's, and long
// enough ago that nothing older will be listed any more. What the balance has and the
// list not yet is counted too.
func (b *ownBook) next(balance money.Amount, lines []WalletLine, margin time.Duration) AccountPoint {
	p := AccountPoint{At: b.since.At, Balance: balance, Counted: slices.Clone(b.since.Counted)}
	if at := b.newest.Add(-margin); !b.newest.IsZero() && at.After(p.At) {
		p.At, p.Counted = at, nil
	}
	count := func(id TransactionID) {
		if id != "" && !slices.Contains(p.Counted, id) {
			p.Counted = append(p.Counted, id)
		}
	}
	for _, tx := range b.moving {
		if !tx.CreatedAt.Before(p.At) {
			count(tx.ID)
		}
	}
	for i := range lines {
		switch l := &lines[i]; {
		case l.logged():
			count(TransactionID(l.Event.TargetID))
		case l.Finding == WalletRecent && l.Operation != nil && l.Operation.Status == ledger.StatusSucceeded:
			count(TransactionID(l.Operation.TargetID))
		}
	}
	return p
}
