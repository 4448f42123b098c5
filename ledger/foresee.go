package ledger

import (
	"context"
	"time"
)

// foresight is how often a worker looks for windows that close, and for operations
// that its clock cannot date any more.
const foresight = time.Minute

// foresee tells of windows that close soon, of each once.
func (s *shift) foresee(ctx context.Context) {
	all, err := s.ledger.Closing(ctx, s.config.Ahead)
	if err != nil {
		if ctx.Err() == nil {
			s.config.Log.WarnContext(ctx, "worker: the ledger does not answer", "error", err)
		}
		return
	}
	told := make(map[string]time.Time, len(all)) // what has closed or was settled is forgotten
	for _, c := range all {
		id, window := c.Operation.ID, c.Operation.ResendUntil
		if told[id] = window; !s.told[id].Equal(window) {
			s.config.Closing(ctx, c)
		}
	}
	s.told = told
}

// lookBack finds what was sent before the host's clock was set back.
func (s *shift) lookBack(ctx context.Context) {
	if err := s.ledger.settleSetBack(ctx); err != nil && ctx.Err() == nil {
		s.config.Log.WarnContext(ctx, "worker: the ledger does not answer", "error", err)
	}
}
