package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Amount is the money that an operation is about. The ledger stores it apart from
// the request and never lets go of it: what customers were credited with can be
// added up when bodies and answers are long erased, also in the database's own
// shell. It tells of nobody, and so [Ledger.Erase] leaves it.
type Amount struct {
	Kind AmountKind
	// Text is a plain decimal, to the digit as it is sent: "100.00". At most 10
	// digits stand before the point and [AmountScale] behind it; zeros may follow.
	Text     string
	Currency string // "RUB"; "" where nobody told
}

// AmountKind says what an operation does with an amount.
type AmountKind string

const (
	AmountMoved AmountKind = "moved" // it goes from one account to another, as a top-up does: it can be added up
	AmountSet   AmountKind = "set"   // it becomes a bound, as a spend limit does
)

// AmountScale is how many digits an amount may have behind the point. Beside its
// text the database has a whole number of 10^-8, in which SQL can add; what does not
// fit in there exactly is refused before anything is sent.
const AmountScale = 8

const (
	amountDigits  = 10 // before the point: with the scale no more than 64 bits hold
	amountZeros   = 18 // behind it, of which those after the scale are zeros
	longestAmount = len("-.") + amountDigits + amountZeros
)

// ErrAmount is matched by errors about an amount that the ledger cannot keep, which
// do not repeat it. Nothing was recorded or sent.
var ErrAmount = errors.New("the amount cannot be kept")

// Check reports what is wrong with a; errors match [ErrAmount].
func (a Amount) Check() error {
	_, err := a.units()
	switch {
	case err != nil:
		return err
	case a.Kind != AmountMoved && a.Kind != AmountSet:
		return fmt.Errorf("%w: it is neither moved nor set", ErrAmount)
	case a.Currency != "" && (len(a.Currency) > 16 || partProblem(a.Currency) != ""):
		return fmt.Errorf("%w: its currency has no name", ErrAmount)
	}
	return nil
}

// units is the amount as a whole number of 10^-AmountScale.
func (a Amount) units() (int64, error) {
	text, negative := strings.CutPrefix(a.Text, "-")
	whole, fraction, point := strings.Cut(text, ".")
	zeros := whole != "0" && strings.HasPrefix(whole, "0")
	switch {
	case len(a.Text) > longestAmount || len(fraction) > amountZeros:
		return 0, fmt.Errorf("%w: it has too many digits", ErrAmount)
	case !digits(whole) || zeros || point && !digits(fraction):
		return 0, fmt.Errorf("%w: it is not a plain decimal number", ErrAmount)
	case len(whole) > amountDigits:
		return 0, fmt.Errorf("%w: it has more than %d digits before the point", ErrAmount, amountDigits)
	case len(strings.TrimRight(fraction, "0")) > AmountScale:
		return 0, fmt.Errorf("%w: it has more than %d digits behind the point", ErrAmount, AmountScale)
	}
	n, err := strconv.ParseInt(whole+(fraction + strings.Repeat("0", AmountScale))[:AmountScale], 10, 64)
	if negative {
		n = -n
	}
	return n, err
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// String is the amount for a person: "100.00 RUB, the request moves it". Whether it was
// moved is the operation's to say.
func (a Amount) String() string {
	does := "moves"
	if a.Kind == AmountSet {
		does = "sets"
	}
	return a.sum() + ", the request " + does + " it"
}

func (a Amount) sum() string { return strings.TrimSpace(a.Text + " " + a.Currency) }

// amount is the operation's amount for a person, "" for none: "100.00 RUB, moved" only
// where it was.
func (o *Operation) amount() string {
	switch {
	case o.Amount == nil:
		return ""
	case o.Status == StatusSucceeded:
		return o.Amount.sum() + ", " + string(o.Amount.Kind)
	}
	return o.Amount.String()
}

// insert stores the amount of an operation.
func (a *Amount) insert(ctx context.Context, tx store.Tx, operationID string) error {
	units, err := a.units()
	if err != nil {
		return err
	}
	return tx.InsertAmount(ctx, &store.Amount{
		OperationID: operationID, Kind: string(a.Kind), Text: a.Text, Units: units, Currency: a.Currency,
	})
}

// sameAmount gives an operation the money of the one whose place it takes.
func sameAmount(ctx context.Context, tx store.Tx, was, is string) error {
	amounts, err := tx.Amounts(ctx, []string{was})
	if a, ok := amounts[was]; ok && err == nil {
		a.OperationID = is
		err = tx.InsertAmount(ctx, &a)
	}
	return err
}

// amountOf reads an amount, whose text and number have to say the same: a database
// that somebody has written to by other means does not make money.
func amountOf(row store.Amount) (*Amount, error) {
	a := &Amount{Kind: AmountKind(row.Kind), Text: row.Text, Currency: row.Currency}
	units, err := a.units()
	if err == nil && units != row.Units {
		err = fmt.Errorf("%w: its text and its number are different", ErrAmount)
	}
	if err != nil {
		return nil, fmt.Errorf("what the ledger has of operation %s is damaged: %w", row.OperationID, err)
	}
	return a, nil
}
