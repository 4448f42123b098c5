package partner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/money"
)

// Account is the balance of the partner's own account beside what the ledger's
// top-ups took from it since a starting point, compared exactly and line by line:
//
//	Balance = Since.Balance - Credited + Other + the Difference of every line
type Account struct {
	Since    AccountPoint
	ReadAt   time.Time
	Currency string

	Credited money.Amount // the ledger's own sum: of the top-ups that succeeded
	Listed   money.Amount // the server's sum: of the top-ups that it lists
	Other    money.Amount // of what else it lists: deposits, and what deleted groups gave back
	Balance  money.Amount // as the server tells it

	// Lines are those of the groups' wallets, seen from the account: what a foreign
	// top-up gave to a group, the account lacks. A drift has no place: the list tells
	// the account's balance after a few transactions only.
	Lines []WalletLine

	// Moving: the balance changed while the list was read, or faster than the list
	// shows, so the two cannot be compared: no line is about a drift, and the sum above
	// does not hold.
	Moving bool
	// Next is where another comparison can start: the balance as it is now. Zero while
	// it is Moving. Keep it when the account agrees, or its differences are explained.
	Next AccountPoint

	// asides are what may have moved the balance unseen: all but the ledger's own top-ups
	// that are known to be done.
	asides []string
}

// AccountPoint is where a comparison of the account starts: a time at which its balance
// is known. The zero value is the account's beginning, when nothing was in it.
type AccountPoint struct {
	At      time.Time    `json:"at,omitzero"`      // on the server's clock
	Balance money.Amount `json:"balance,omitzero"` // of all that was before At, and of Counted
	// Counted are the transactions from At on that are in the balance already. A point
	// that somebody writes by hand, from a statement of the platform, has none.
	Counted []TransactionID `json:"counted,omitzero"`
}

// Account compares the partner's account with what the ledger's top-ups took from it.
// The balance at since is believed; what came before is not looked at.
//
//	account, err := auditor.Account(ctx, yesterday) // the Next of yesterday's
//
// It reads twice where something does not agree, as [Auditor.Wallet] does; and the
// audit log, which tells who made a foreign top-up, also one that is not listed. From
// the account's beginning it reads all transactions of all groups.
//
// The list tells no movement of the account but deposits, top-ups and what comes back
// from deleted groups: a fee, or a correction of the platform's, is a drift here. So is
// a transaction that is listed for the first time after more than two minutes, or
// botix.WithSettle if that is longer, with a time before that of since.
func (a *Auditor) Account(ctx context.Context, since AccountPoint) (*Account, error) {
	first, err := a.account(ctx, since)
	if err != nil || !first.Moving && !disputed(first.Lines) {
		return first, err
	}
	if err := a.wait(ctx); err != nil {
		return first, fmt.Errorf("the account was read once only: %w", err)
	}
	is, err := a.account(ctx, since)
	if err == nil {
		is.confirm(first)
	}
	return is, err
}

// confirm leaves out a drift that is not what it was, or that may be what the list
// lacked both times, since others than the ledger went on to move the balance. A
// top-up that only the log has by now may yet be listed.
func (a *Account) confirm(first *Account) {
	var all bool
	a.Lines, all = confirmed(a.Lines, first.Lines, slices.Equal(a.asides, first.asides))
	if !all {
		a.Moving, a.Next = true, AccountPoint{}
	}
	for i := range a.Lines {
		l := &a.Lines[i]
		known := func(was WalletLine) bool { return was.Event != nil && was.Event.ID == l.Event.ID }
		if l.logged() && !slices.ContainsFunc(first.Lines, known) {
			l.Finding = WalletRecent
		}
	}
}

// Agrees reports whether the balance is what the ledger and the list make of it, as
// [Wallet.Agrees] does.
func (a *Account) Agrees() bool { return !a.Moving && len(a.Differences()) == 0 }

// Differences returns the lines that need somebody.
func (a *Account) Differences() []WalletLine { return differences(a.Lines) }

// String prints the sums, and the lines that need somebody.
func (a *Account) String() string {
	var b strings.Builder
	since := "its beginning"
	if !a.Since.At.IsZero() {
		since = a.Since.At.Format(time.RFC3339)
	}
	fmt.Fprintf(&b, "account at %s, since %s\n", a.ReadAt.Format(time.RFC3339), since)
	writeSums(&b, a.Currency, []sumLine{
		{"balance at the start", zeroed(a.Since.Balance)}, {"credited, by the ledger", a.Credited}, {"top-ups, as listed", a.Listed},
		{"other transactions", a.Other}, {"balance", a.Balance},
	})
	if a.Moving {
		b.WriteString("  the balance changed while it was read: not compared\n")
	}
	writeLines(&b, a.Lines, a.Agrees())
	return b.String()
}
