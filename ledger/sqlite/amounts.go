package sqlite

import (
	"context"
	"encoding/json"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

const (
	insertAmount = `
INSERT INTO ledger_amounts (operation_id, kind, amount, units, currency) VALUES (?1, ?2, ?3, ?4, ?5)`

	amountsOf = `
SELECT operation_id, kind, amount, units, currency
  FROM ledger_amounts WHERE operation_id IN (SELECT value FROM json_each(?1))`
)

func (t *tx) InsertAmount(ctx context.Context, a *store.Amount) error {
	_, err := t.exec(ctx, insertAmount, a.OperationID, a.Kind, a.Text, a.Units, a.Currency)
	return err
}

func (t *tx) Amounts(ctx context.Context, operationIDs []string) (map[string]store.Amount, error) {
	ids, err := json.Marshal(operationIDs)
	if err != nil {
		return nil, err
	}
	all := map[string]store.Amount{}
	err = t.query(ctx, amountsOf, []any{string(ids)}, func(v []any) error {
		var a store.Amount
		r := reader{row: v}
		r.text(&a.OperationID)
		r.text(&a.Kind)
		r.text(&a.Text)
		r.int64(&a.Units)
		r.text(&a.Currency)
		all[a.OperationID] = a
		return r.err
	})
	return all, err
}
