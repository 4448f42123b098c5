package ledger

import (
	"context"
	"errors"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// WorkflowDraft is a workflow as it is wanted: several operations that make one.
type WorkflowDraft struct {
	ID     string // UUIDv7, for the workflow if it is new
	Intent Intent
	// Input is all that the workflow depends on, as JSON. It is compared when the
	// intent comes again, and kept until the workflow is final, as the ledger
	// keeps bodies ([Keep]).
	Input []byte
	// Steps is how many steps it has. Each is an operation whose draft names the
	// workflow as its parent.
	Steps int
}

// Workflow records a workflow, or returns the one that its intent names. With
// another input it is a *[MismatchError].
//
// A workflow sends nothing. Its status is made of those of its steps, the newest
// version of each, and moves in the same commit as they do: reconciling when any
// step is, else failed for good, else failed for now, else succeeded when all of
// them have, else pending.
func (l *Ledger) Workflow(ctx context.Context, draft WorkflowDraft) (*Operation, error) {
	if err := l.outsideTx(ctx); err != nil {
		return nil, err
	}
	payload := Payload{Method: string(KindWorkflow), Path: draft.Intent.Action, Body: draft.Input}
	row, err := l.newWorkflow(&draft, payload)
	if err != nil {
		return nil, err
	}
	var found *store.Operation
	err = l.store.Write(ctx, func(tx store.Tx) (err error) {
		if found, err = tx.ByIntent(ctx, row.Intent); !errors.Is(err, store.ErrNotFound) {
			return err
		}
		inserted := *row
		found = &inserted
		return tx.Insert(ctx, row)
	})
	if err != nil {
		return nil, err
	}
	input, _ := l.unseal(found, fieldBody, found.Body) // one that does not open is compared by its fingerprint
	was := Payload{Method: payload.Method, Path: payload.Path, Body: input}
	if err := Fingerprint(found.Fingerprint).Compare(found.ID, was, payload, Significance{}); err != nil {
		return nil, err
	}
	return operation(found), nil
}

func (l *Ledger) newWorkflow(draft *WorkflowDraft, payload Payload) (*store.Operation, error) {
	if err := draft.Intent.Check(); err != nil {
		return nil, err
	}
	if draft.Steps < 1 {
		return nil, errors.New("ledger: a workflow needs a step")
	}
	fingerprint, err := NewFingerprint(payload, Significance{})
	if err != nil {
		return nil, err
	}
	now := l.store.Now()
	i := draft.Intent
	row := &store.Operation{
		ID: draft.ID, Kind: string(KindWorkflow), Steps: draft.Steps,
		Intent:      store.Intent{Namespace: l.namespace, Customer: i.Customer, Action: i.Action, Version: i.Version},
		Fingerprint: string(fingerprint),
		Status:      string(StatusPending), Driver: string(DriverWorker), CreatedAt: now, UpdatedAt: now,
	}
	row.Body = l.keepInput(row, draft.Input)
	return row, nil
}

// moveParent brings the workflow of a step up to date, in the step's own commit.
func moveParent(ctx context.Context, tx store.Tx, step *store.Operation) error {
	if step.ParentID == "" {
		return nil
	}
	parent, err := tx.Operation(ctx, step.ParentID)
	if err != nil {
		return err
	}
	steps, err := tx.Children(ctx, parent.ID)
	if err != nil {
		return err
	}
	all := make([]standing, len(steps))
	for i := range steps {
		all[i] = stored(&steps[i])
	}
	stands := rollUp(all, parent.Steps)
	if stands.Contradicted = false; stands == stored(parent) {
		return nil
	}
	row := *parent
	row.UpdatedAt = step.UpdatedAt
	stands.write(&row)
	lease := parent.Lease // whoever drives the workflow goes on
	if lease.Owner == "" {
		lease = released(lease)
	}
	return change{was: parent, is: &row, next: lease, cause: CauseStep}.write(ctx, tx)
}

// stored is the part of a standing that a row tells.
func stored(row *store.Operation) standing {
	return standing{Status: Status(row.Status), Next: NextStep(row.NextStep), PossiblySent: row.PossiblySent}
}
