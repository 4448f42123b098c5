package storetest

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var amountCases = []testCase{
	{"an amount is read as it was written, and only by its operation", amountRows},
	{"an amount whose text and number differ is refused", amountsAgree},
	{"an operation has one amount, for ever", oneAmount},
	{"erasing leaves amounts", amountsStay},
}

func amountRows(t *testing.T, s store.Store) {
	want := map[string]store.Amount{}
	var ids []string
	for i, a := range []store.Amount{
		{Kind: "moved", Text: "100.00", Units: 100_00000000, Currency: "RUB"},
		{Kind: "set", Text: "0"},
		{Kind: "set", Text: "0.00"},
		{Kind: "moved", Text: "-0"},
		{Kind: "moved", Text: "0.00000001", Units: 1},
		{Kind: "moved", Text: "-0.00000001", Units: -1},
		{Kind: "moved", Text: "0.1", Units: 10000000},
		{Kind: "moved", Text: "-7.50", Units: -7_50000000, Currency: "бонусы"},
		{Kind: "moved", Text: "1.500000000000000000", Units: 1_50000000}, // zeros behind the last place
		{Kind: "moved", Text: "9999999999.99999999", Units: 999999999999999999},
		{Kind: "moved", Text: "-9999999999.99999999", Units: -999999999999999999},
		{Kind: "moved", Text: "9999999999", Units: 999999999900000000},
	} {
		op := NewOperation()
		a.OperationID = op.ID
		write(t, s, func(tx store.Tx) error {
			if err := tx.Insert(t.Context(), op); err != nil {
				return err
			}
			return tx.InsertAmount(t.Context(), &a)
		})
		ids = append(ids, op.ID)
		if i%2 == 0 {
			want[op.ID] = a
		}
	}
	without := NewOperation()
	insert(t, s, without)
	asked := []string{without.ID, "none"}
	for i, id := range ids {
		if i%2 == 0 {
			asked = append(asked, id)
		}
	}
	if got := amounts(t, s, asked...); !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%+v, want\n%+v", got, want)
	}
	if got := amounts(t, s); len(got) != 0 {
		t.Errorf("of no operations: %+v", got)
	}
}

func amounts(t *testing.T, s store.Store, ids ...string) (all map[string]store.Amount) {
	t.Helper()
	read(t, s, func(tx store.Tx) (err error) {
		all, err = tx.Amounts(t.Context(), ids)
		return err
	})
	return all
}

func amountsAgree(t *testing.T, s store.Store) {
	op := NewOperation()
	insert(t, s, op)
	for name, a := range map[string]store.Amount{
		"one more":                      {Text: "10.00", Units: 10_00000001},
		"one less":                      {Text: "0.00000001", Units: 0},
		"another sign":                  {Text: "-10.00", Units: 10_00000000},
		"another scale":                 {Text: "10.00", Units: 1000},
		"a ninth place":                 {Text: "0.000000001", Units: 0},
		"a ninth place of more":         {Text: "1.123456789", Units: 1_12345678},
		"an eleventh digit":             {Text: "10000000000", Units: 1000000000000000000},
		"as much as a number can be":    {Text: "92233720368.54775807", Units: math.MaxInt64},
		"more than a number can be":     {Text: "92233720368.54775808", Units: math.MaxInt64},
		"the negative of that":          {Text: "-92233720368.54775809", Units: math.MinInt64},
		"nothing":                       {Text: ""},
		"a minus":                       {Text: "-"},
		"two":                           {Text: "--5", Units: -5_00000000},
		"a minus behind":                {Text: "5-", Units: 5_00000000},
		"a plus":                        {Text: "+5", Units: 5_00000000},
		"blanks":                        {Text: " 5", Units: 5_00000000},
		"blanks behind":                 {Text: "5 ", Units: 5_00000000},
		"an exponent":                   {Text: "5e1", Units: 50_00000000},
		"hex":                           {Text: "0x5", Units: 0},
		"a zero in front":               {Text: "05", Units: 5_00000000},
		"a zero in front of a negative": {Text: "-05", Units: -5_00000000},
		"two zeros":                     {Text: "00.5", Units: 50000000},
		"no digit in front":             {Text: ".5", Units: 50000000},
		"no digit behind":               {Text: "5.", Units: 5_00000000},
		"two points":                    {Text: "5.0.0", Units: 5_00000000},
		"a comma":                       {Text: "5,00", Units: 5_00000000},
		"other digits":                  {Text: "５", Units: 5_00000000},
		"NaN":                           {Text: "NaN"},
		"something behind a NUL":        {Text: "5\x00 or more", Units: 5_00000000},
		"a NUL":                         {Text: "5\x00", Units: 5_00000000},
		"a NUL in the currency":         {Text: "5", Units: 5_00000000, Currency: "RUB\x00" + strings.Repeat("x", 20)},
		"a long text":                   {Text: "1." + strings.Repeat("0", 40), Units: 1_00000000},
		"no kind":                       {Kind: "-", Text: "5", Units: 5_00000000},
		"a story for a currency":        {Text: "5", Units: 5_00000000, Currency: strings.Repeat("x", 17)},
	} {
		if a.OperationID = op.ID; a.Kind == "" {
			a.Kind = "moved"
		}
		refuses(t, s, name, store.ErrInvalid, func(tx store.Tx) error { return tx.InsertAmount(t.Context(), &a) })
	}
	ghost := NewOperation()
	refuses(t, s, "that of no operation", store.ErrNotFound, func(tx store.Tx) error {
		return tx.InsertAmount(t.Context(), &store.Amount{OperationID: ghost.ID, Kind: "moved", Text: "5", Units: 5_00000000})
	})
	if got := amounts(t, s, op.ID, ghost.ID); len(got) != 0 {
		t.Errorf("and there is %+v", got)
	}
}

func oneAmount(t *testing.T, s store.Store) {
	op := NewOperation()
	a := store.Amount{OperationID: op.ID, Kind: "moved", Text: "5.00", Units: 5_00000000, Currency: "RUB"}
	write(t, s, func(tx store.Tx) error {
		if err := tx.Insert(t.Context(), op); err != nil {
			return err
		}
		return tx.InsertAmount(t.Context(), &a)
	})
	other := a
	other.Text, other.Units = "6.00", 6_00000000
	for _, again := range []store.Amount{a, other} {
		err := s.Write(t.Context(), func(tx store.Tx) error { return tx.InsertAmount(t.Context(), &again) })
		if err == nil {
			t.Errorf("a second one, of %s, was taken", again.Text)
		}
	}
	if got := amounts(t, s, op.ID)[op.ID]; got != a {
		t.Errorf("it is now %+v", got)
	}
}

func amountsStay(t *testing.T, s store.Store) {
	op := NewOperation()
	op.Status = "succeeded"
	a := store.Amount{OperationID: op.ID, Kind: "moved", Text: "5.00", Units: 5_00000000, Currency: "RUB"}
	write(t, s, func(tx store.Tx) error {
		if err := tx.Insert(t.Context(), op); err != nil {
			return err
		}
		return tx.InsertAmount(t.Context(), &a)
	})
	blank := *op
	blank.Body = nil
	write(t, s, func(tx store.Tx) error {
		if err := tx.Update(t.Context(), &blank, store.Lease{Token: 1}); err != nil {
			return err
		}
		return tx.Blank(t.Context(), op.ID, "erased")
	})
	if err := s.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := amounts(t, s, op.ID)[op.ID]; got != a {
		t.Errorf("it is now %+v", got)
	}
}
