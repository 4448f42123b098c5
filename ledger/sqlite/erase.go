package sqlite

import "context"

func (t *tx) OfCustomer(ctx context.Context, namespace, customer string) ([]string, error) {
	var ids []string
	err := t.query(ctx, idsOfCustomer, []any{namespace, customer}, func(v []any) error {
		r := reader{row: v}
		var id string
		r.text(&id)
		ids = append(ids, id)
		return r.err
	})
	return ids, err
}

func (t *tx) Blank(ctx context.Context, operationID, except string) error {
	if _, err := t.exec(ctx, blankAttempts, operationID); err != nil {
		return err
	}
	_, err := t.exec(ctx, blankHistory, operationID, except)
	return err
}
