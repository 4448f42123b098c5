package partner

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
)

// Wallet is three accounts of one group's money, compared exactly and line by
// line: the ledger's own top-ups, the server's list of transactions, and the
// balance.
//
//	Balance = Credited + Other + the Difference of every line
type Wallet struct {
	GroupID  GroupID
	ReadAt   time.Time
	Currency string

	Credited money.Amount // the ledger's own sum: of the top-ups that succeeded
	Listed   money.Amount // the server's sum: of the top-ups that it lists
	Other    money.Amount // of what else it lists: usage, refunds
	Balance  money.Amount // as the server tells it; 0 of a group that is gone

	Lines []WalletLine // the oldest first

	// Moving: the balance changed while the list was read, or faster than the list
	// shows, so the two cannot be compared: the sum above does not hold.
	Moving bool
	// Gone: the group was deleted.
	Gone bool

	entries int // of the list
}

// WalletLine is one top-up as the ledger and the server have it, or a place where
// the balance leaves the sum of the transactions.
type WalletLine struct {
	Finding     WalletFinding
	Operation   *ledger.Operation // nil: none of the ledger
	Transaction *Transaction      // nil: none that is listed. Of a drift: the last one before it
	Reference   string            // the caller's own, of the payment
	Amount      money.Amount      // as the ledger has it; unset where there is no operation

	// Event is what the audit log has of it, where it is not as it should be and the log
	// was read ([Auditor.Account]).
	Event *AuditEvent

	// Difference is what the line adds to the balance that the ledger does not
	// account for; below 0 where the balance lacks it.
	Difference money.Amount

	last bool // of a drift: nothing that is listed comes after it, as far as that is known
}

// WalletFinding says how a line stands.
type WalletFinding string

// The findings of a [Wallet].
const (
	WalletAgrees      WalletFinding = "agrees"
	WalletRecent      WalletFinding = "recent"
	WalletMissing     WalletFinding = "missing"
	WalletDoubled     WalletFinding = "doubled"
	WalletDiffers     WalletFinding = "differs"
	WalletForeign     WalletFinding = "foreign"
	WalletUnsettled   WalletFinding = "unsettled"
	WalletContradicts WalletFinding = "contradicts"
	WalletDrift       WalletFinding = "drift"
)

// walletFindings says what each finding means, and what follows from it.
var walletFindings = []struct {
	Finding       WalletFinding
	Meaning, Next string
}{
	{WalletAgrees, "the ledger's top-up is listed once, with the amount that was asked for", "nothing"},
	{WalletRecent, "the top-up is under way, or so young that the list may not have it", "look again later"},
	{WalletMissing, "the ledger has a top-up that succeeded, and the list does not have it",
		"ask the platform by the operation's request id; do not top up again"},
	{WalletDoubled, "one payment was credited twice: a second transaction has the reference of a top-up",
		"let a person decide about the second; it is not taken back by itself"},
	{WalletDiffers, "another amount was credited than was asked for, or than the answer said",
		"ask the platform by the operation's request id"},
	{WalletForeign, "a top-up is listed, or in the audit log, that the ledger knows nothing of",
		"find who made it in the audit log, by its request id (Auditor.Changes)"},
	{WalletUnsettled, "nobody knows yet whether the top-up was done; with a transaction, that may be it",
		"reconcile the operation; do not top up again"},
	{WalletContradicts, "a top-up is listed that the ledger takes for not done",
		"let a person decide which is true; do not send the operation"},
	{WalletDrift, "the balance changed by an amount that no transaction tells",
		"ask the platform, naming the transaction after which it happened, or the time since when"},
}

// Agrees reports whether the three accounts are one: every line agrees, but for
// those that are too young to tell, and the balance is the sum of the list.
func (w *Wallet) Agrees() bool { return !w.Moving && len(w.Differences()) == 0 }

// Differences returns the lines that need somebody.
func (w *Wallet) Differences() []WalletLine { return differences(w.Lines) }

func differences(lines []WalletLine) (all []WalletLine) {
	for _, l := range lines {
		if l.Finding != WalletAgrees && l.Finding != WalletRecent {
			all = append(all, l)
		}
	}
	return all
}

// String prints the sums, and the lines that need somebody.
func (w *Wallet) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "wallet of group %s at %s\n", w.GroupID, w.ReadAt.Format(time.RFC3339))
	writeSums(&b, w.Currency, []sumLine{
		{"credited, by the ledger", w.Credited}, {"top-ups, as listed", w.Listed}, {"other transactions", w.Other}, {"balance", w.Balance},
	})
	switch {
	case w.Moving:
		b.WriteString("  the balance changed while it was read: not compared\n")
	case w.Gone:
		b.WriteString("  the group is gone\n")
	}
	writeLines(&b, w.Lines, w.Agrees())
	return b.String()
}

type sumLine struct {
	what   string
	amount money.Amount
}

func writeSums(b *strings.Builder, currency string, sums []sumLine) {
	for _, sum := range sums {
		fmt.Fprintf(b, "  %-24s %16s %s\n", sum.what, sum.amount, currency)
	}
}

func writeLines(b *strings.Builder, lines []WalletLine, agree bool) {
	for _, l := range differences(lines) {
		fmt.Fprintf(b, "  %s\n", l)
	}
	if agree {
		fmt.Fprintf(b, "  all %d lines agree\n", len(lines))
	}
}

// String prints the line with what its finding means.
func (l WalletLine) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-11s %16s", l.Finding, l.Difference)
	for _, part := range []struct{ name, value string }{
		{"reference", l.Reference}, {"operation", l.operationID()}, {"transaction", l.transactionID()}, {"in the ledger", l.Amount.String()},
	} {
		if part.value != "" {
			fmt.Fprintf(&b, "  %s %s", part.name, part.value)
		}
	}
	if e := l.Event; e != nil {
		fmt.Fprintf(&b, "  by key %s… from %s at %s, request %s", e.KeyPrefix, e.SourceIP, e.CreatedAt.Format(time.RFC3339), e.RequestID)
	}
	for _, row := range walletFindings {
		if row.Finding == l.Finding {
			fmt.Fprintf(&b, "\n%14s%s\n%14snext: %s", "", row.Meaning, "", row.Next)
		}
	}
	return b.String()
}

func (l WalletLine) operationID() string {
	if l.Operation == nil {
		return ""
	}
	return l.Operation.ID
}

func (l WalletLine) transactionID() string {
	if l.Transaction == nil {
		return ""
	}
	return string(l.Transaction.ID)
}

// Wallet compares the wallet of a group.
//
// What was done a moment ago may be missing from a list. So where something does
// not agree, Wallet waits for as long as lists may lag ([botix.WithSettle], 1 min)
// and reads everything once more: what it then returns is so in both readings, or
// is new. When ctx does not allow the wait it returns the first reading beside an
// error.
//
// It looks for the group's top-ups among all operations of the ledger; for many
// groups use [Auditor.Wallets].
func (a *Auditor) Wallet(ctx context.Context, group GroupID) (*Wallet, error) {
	w, err := a.wallet(ctx, group)
	if err != nil || !w.disputed() {
		return w, err
	}
	if err := a.wait(ctx); err != nil {
		return w, fmt.Errorf("the wallet of group %s was read once only: %w", group, err)
	}
	return a.again(ctx, w)
}

// again reads a wallet for the second time.
func (a *Auditor) again(ctx context.Context, first *Wallet) (*Wallet, error) {
	w, err := a.wallet(ctx, first.GroupID)
	if err == nil {
		w.confirm(first)
	}
	return w, err
}

// confirm leaves out what the end of the list lacks only now, or lacks while it goes on.
// What is spent all the time is always ahead of a list that lags, perhaps by the same
// amount each time; a drift stays where it was.
func (w *Wallet) confirm(first *Wallet) {
	var all bool
	w.Lines, all = confirmed(w.Lines, first.Lines, w.entries == first.entries)
	w.Moving = w.Moving || !all
}

// confirmed are the lines without the drifts at the end of the list that the first
// reading had not, or that may be what the list lacked both times, since it did not
// rest; all is false where there were some.
func confirmed(lines, first []WalletLine, rested bool) (kept []WalletLine, all bool) {
	n := len(lines)
	kept = slices.DeleteFunc(lines, func(l WalletLine) bool {
		return l.last && !(rested && slices.ContainsFunc(first, func(was WalletLine) bool {
			return was.last && was.Difference.Equal(l.Difference)
		}))
	})
	return kept, len(kept) == n
}

// Wallets returns an iterator over the wallets of all groups that are not deleted,
// compared as by [Auditor.Wallet] but in one pass over the ledger, the groups and
// their transactions. It keeps the top-ups in memory. The first error ends it.
func (a *Auditor) Wallets(ctx context.Context) iter.Seq2[*Wallet, error] {
	return func(yield func(*Wallet, error) bool) {
		all, err := a.wallets(ctx)
		if err == nil && slices.ContainsFunc(all, (*Wallet).disputed) {
			err = a.wait(ctx)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for _, w := range all {
			if w.disputed() {
				w, err = a.again(ctx, w)
			}
			if !yield(w, err) || err != nil {
				return
			}
		}
	}
}

// disputed: another reading may tell more.
func (w *Wallet) disputed() bool { return w.Moving || disputed(w.Lines) }

func disputed(lines []WalletLine) bool {
	return slices.ContainsFunc(lines, func(l WalletLine) bool {
		return l.Finding != WalletAgrees && l.Finding != WalletRecent && l.Finding != WalletUnsettled
	})
}

// wallet reads once. The ledger comes last: whatever is listed was in it before it
// was sent, and so cannot be missing there.
func (a *Auditor) wallet(ctx context.Context, group GroupID) (*Wallet, error) {
	if group == "" {
		return nil, &botix.InputError{Operation: "Wallet", Field: "group", Problem: "is empty"}
	}
	b := book{group: group, readAt: time.Now()} // what is done from here on may be in no page
	before, err := a.balance(ctx, group)
	if err != nil {
		return nil, err
	}
	for tx, err := range a.server.transactions.All(ctx, ListTransactions{GroupID: group, Limit: maxPageSize}, patiently) {
		if err == nil {
			err = b.enter(tx)
		}
		if err != nil {
			return nil, err
		}
	}
	if b.balance, err = a.balance(ctx, group); err != nil {
		return nil, err
	}
	b.moving = before.Cmp(b.balance) != 0
	for op, err := range a.operations(ctx, a.rows["topUpsCreate"], map[string]string{"group": string(group)}) {
		if err != nil {
			return nil, err
		}
		if err := a.owes(ctx, &b, op); err != nil {
			return nil, err
		}
	}
	return a.close(&b)
}

// balance is what a group's wallet holds; unset when the group is gone.
func (a *Auditor) balance(ctx context.Context, group GroupID) (money.Amount, error) {
	g, err := a.server.groups.Get(ctx, group, patiently)
	switch {
	case errors.Is(err, botix.ErrNotFound):
		return money.Amount{}, nil
	case err != nil:
		return money.Amount{}, err
	case !g.Balance.IsSet():
		return money.Amount{}, fmt.Errorf("the server does not tell the balance of group %s", group)
	}
	return g.Balance, nil
}

// wallets reads once, in the order of wallet.
func (a *Auditor) wallets(ctx context.Context) ([]*Wallet, error) {
	books, order, readAt := map[GroupID]*book{}, []GroupID(nil), time.Now()
	before, err := a.balances(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range before {
		books[g.ID] = &book{group: g.ID, readAt: readAt, balance: g.Balance}
		order = append(order, g.ID)
	}
	for tx, err := range a.server.transactions.All(ctx, ListTransactions{WholeAccount: true, Limit: maxPageSize}, patiently) {
		if err != nil {
			return nil, err
		}
		if b := books[orZero(tx.GroupID)]; b != nil {
			if err := b.enter(tx); err != nil {
				return nil, err
			}
		}
	}
	after, err := a.balances(ctx)
	if err != nil {
		return nil, err
	}
	still := map[GroupID]bool{}
	for _, g := range after {
		if b := books[g.ID]; b != nil {
			b.moving = b.balance.Cmp(g.Balance) != 0
			b.balance, still[g.ID] = g.Balance, true
		}
	}
	for op, err := range a.operations(ctx, a.rows["topUpsCreate"], nil) {
		if err != nil {
			return nil, err
		}
		group := GroupID(a.rows["topUpsCreate"].idsIn(op.Path)["group"])
		if b := books[group]; b != nil {
			if err := a.owes(ctx, b, op); err != nil {
				return nil, err
			}
		}
	}
	var all []*Wallet
	for _, id := range order {
		b := books[id]
		b.moving = b.moving || !still[id]
		w, err := a.close(b)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

func (a *Auditor) balances(ctx context.Context) ([]*Group, error) {
	var all []*Group
	for g, err := range once(a.server.groups.All(ctx, ListGroups{Limit: maxPageSize}, patiently), func(g *Group) GroupID { return g.ID }) {
		switch {
		case err != nil:
			return nil, err
		case !g.Balance.IsSet():
			return nil, fmt.Errorf("the server does not tell the balance of group %s", g.ID)
		}
		all = append(all, g)
	}
	return all, nil
}
