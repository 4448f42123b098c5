package ledger

import (
	"context"
	"errors"
	"slices"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// A workflow sends nothing. Its status is made of those of its operations, the
// newest version of each, and moves in the same commit as they do; so does its
// state.

// refresh brings a workflow up to date. It returns the row as it is then.
func refresh(ctx context.Context, tx store.Tx, parent *store.Operation, at int64) (*store.Operation, error) {
	w, err := tx.Workflow(ctx, parent.ID)
	if err != nil {
		return nil, err
	}
	children, err := tx.Children(ctx, parent.ID)
	if err != nil {
		return nil, err
	}
	stands := workflowStanding(w, children)
	stands.Contradicted = false
	state := workflowState(w, children, stands.Status)
	if stands == stored(parent) && state == w.State {
		return parent, nil
	}
	cause := CauseStep
	if state != w.State {
		cause = Cause(state)
	}
	tell := w.Tells && stands.Status == StatusSucceeded
	if state != w.State || tell {
		w.State, w.Tells = state, w.Tells && !tell
		if err := tx.UpdateWorkflow(ctx, w); err != nil {
			return nil, err
		}
	}
	row := *parent
	row.UpdatedAt = at
	stands.write(&row)
	if stands.Status == StatusFailedFinal { // a step may be issued again, and need the input
		row.Body = parent.Body
	}
	lease := parent.Lease // whoever drives the workflow goes on
	if lease.Owner == "" {
		lease = released(lease)
	}
	if tell {
		p := store.Place{Namespace: row.Intent.Namespace, API: row.API, Origin: row.Origin, Credential: row.Credential}
		if err := tx.InsertNotice(ctx, &store.Notice{OperationID: row.ID, Place: p, NotBefore: at}); err != nil {
			return nil, err
		}
	}
	if cause == CauseStep && row.Status == parent.Status && row.NextStep == parent.NextStep {
		err := tx.Update(ctx, &row, lease) // an attempt began or ended, which its operation tells
		row.Lease = lease
		return &row, err
	}
	return &row, change{was: parent, is: &row, next: lease, cause: cause}.write(ctx, tx)
}

// moveParent brings the workflow of an operation up to date, in that one's commit.
func moveParent(ctx context.Context, tx store.Tx, child *store.Operation) error {
	if child.ParentID == "" {
		return nil
	}
	parent, err := tx.Operation(ctx, child.ParentID)
	if err != nil {
		return err
	}
	_, err = refresh(ctx, tx, parent, child.UpdatedAt)
	return err
}

// workflowStanding is how a workflow stands whose operations are children.
func workflowStanding(w *store.Workflow, children []store.Operation) standing {
	all := make([]standing, len(children))
	for i := range children {
		all[i] = stored(&children[i])
	}
	left := 0
	if w.Begun < len(w.States)-1 {
		left = 1
	}
	s := rollUp(all, left)
	if w.Recovers && s.Status == StatusReconciling && s.Next == NextPerson {
		s.Next = NextLook // its machine's, which workers run
	}
	return s
}

// workflowState is the state of the step that is not done: that of the one under
// way, or of the next.
func workflowState(w *store.Workflow, children []store.Operation, status Status) string {
	lost := slices.ContainsFunc(children, func(c store.Operation) bool {
		return c.ErrorCode == CodeSecretLost && Status(c.Status) == StatusReconciling
	})
	done := !slices.ContainsFunc(children, func(c store.Operation) bool { return Status(c.Status) != StatusSucceeded })
	switch {
	case lost:
		return string(StateKeyCreatedLocalSaveFailed)
	case status == StatusSucceeded || done:
		return w.States[w.Begun]
	}
	return w.States[max(w.Begun-1, 0)]
}

// stored is the part of a standing that a row tells.
func stored(row *store.Operation) standing {
	return standing{Status: Status(row.Status), Next: NextStep(row.NextStep), PossiblySent: row.PossiblySent}
}

// whole is an operation with what other tables have of it.
func whole(ctx context.Context, tx store.Tx, row *store.Operation) (*Operation, error) {
	all, err := wholes(ctx, tx, []store.Operation{*row})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// wholes are several.
func wholes(ctx context.Context, tx store.Tx, rows []store.Operation) ([]*Operation, error) {
	all := make([]*Operation, len(rows))
	var calls []string
	for i := range rows {
		all[i] = operation(&rows[i])
		if all[i].Kind != KindWorkflow {
			calls = append(calls, rows[i].ID)
			continue
		}
		w, err := tx.Workflow(ctx, rows[i].ID)
		switch {
		case err == nil:
			all[i].State = State(w.State)
		case !errors.Is(err, store.ErrNotFound):
			return nil, err
		}
	}
	if len(calls) == 0 {
		return all, nil
	}
	amounts, err := tx.Amounts(ctx, calls)
	for _, op := range all {
		if row, ok := amounts[op.ID]; ok && err == nil {
			op.Amount, err = amountOf(row)
		}
	}
	return all, err
}
