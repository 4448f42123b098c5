package store

import "context"

// AmountTx is the part of a Tx that keeps the money of operations.
type AmountTx interface {
	// InsertAmount adds that of an operation, which nothing ever changes. The
	// database refuses it (ErrInvalid) unless Text is a plain decimal of at most 10
	// digits before the point and, but for zeros, 8 behind it, and Units the same
	// number times 10^8.
	InsertAmount(ctx context.Context, a *Amount) error
	// Amounts returns those of some operations, by their ids. One that has none is
	// not among them.
	Amounts(ctx context.Context, operationIDs []string) (map[string]Amount, error)
}

// Amount is a row of the amounts table.
type Amount struct {
	OperationID string `json:"-"`
	Kind        string `json:"kind"` // moved, set
	Text        string `json:"amount"`
	Units       int64  `json:"units"`
	Currency    string `json:"currency,omitzero"`
}
