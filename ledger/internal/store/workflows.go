package store

import "context"

// WorkflowTx is the part of a Tx that is about workflows.
type WorkflowTx interface {
	// Workflow returns how far a workflow has come, or ErrNotFound.
	Workflow(ctx context.Context, operationID string) (*Workflow, error)
	// InsertWorkflow adds it, beside its operation.
	InsertWorkflow(ctx context.Context, w *Workflow) error
	// UpdateWorkflow writes Begun, State and Tells.
	UpdateWorkflow(ctx context.Context, w *Workflow) error

	// InsertNotice adds one, or does nothing when the workflow has one already.
	InsertNotice(ctx context.Context, n *Notice) error
	// DueNotices returns those of a place that are not held back beyond now, longest
	// due first; limit at most.
	DueNotices(ctx context.Context, p Place, now int64, limit int) ([]Notice, error)
	// UpdateNotice writes Tries and NotBefore, and DropNotice removes a notice, if it
	// was tried so often before; otherwise they return ErrLeaseLost and change
	// nothing.
	UpdateNotice(ctx context.Context, n *Notice, tries int) error
	DropNotice(ctx context.Context, operationID string, tries int) error
}

// Workflow is a row of the workflows table.
type Workflow struct {
	OperationID string
	States      []string // that of each step, then the last
	Begun       int      // steps whose operations are recorded
	State       string
	Recovers    bool // what waits for a person is its machine's to decide
	Tells       bool // a notice is left when it succeeds, which it has not yet
}

// Notice is a row of the outbox: a workflow that has succeeded, of which somebody is
// to be told.
type Notice struct {
	OperationID string
	Place       Place
	Tries       int
	NotBefore   int64
}
