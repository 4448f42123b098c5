package sqlite

import "context"

func (t *tx) Blank(ctx context.Context, operationID, except string) error {
	if _, err := t.exec(ctx, blankAttempts, operationID); err != nil {
		return err
	}
	if _, err := t.exec(ctx, blankEvidence, operationID); err != nil {
		return err
	}
	_, err := t.exec(ctx, blankHistory, operationID, except)
	return err
}
