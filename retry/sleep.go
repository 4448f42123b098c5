package retry

import (
	"context"
	"fmt"
	"time"
)

// Sleep pauses for d, or until ctx ends: then it returns [context.Cause] of ctx
// at once. It leaves no timer behind. A context that has already ended is
// reported even when d is zero or negative.
func Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Allow reports whether a wait fits before ctx's deadline: nil, or the
// [*WaitError] that says how long it would have been. A context that has ended is
// [context.Cause].
func Allow(ctx context.Context, wait time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return newWaitError(wait, WaitDeadline)
	}
	return nil
}

// WaitReason says which bound a wait would have broken. The set is open.
type WaitReason string

// Reasons of a [WaitError].
const (
	WaitCap      WaitReason = "cap"       // the server asks for more than the policy allows
	WaitDeadline WaitReason = "deadline"  // it would end after the context's deadline
	WaitDayLimit WaitReason = "day limit" // another limit than the window's is spent, and it opens late
)

// WaitError reports a wait that was not begun because it would be too long.
// Nothing was sent on account of it; the same call is welcome at Until.
//
// errors.Is(err, context.DeadlineExceeded) holds when the deadline of the
// context is the reason.
type WaitError struct {
	Wait   time.Duration // how long to stay away, from now
	Until  time.Time     // the same as a moment of the local clock, UTC
	Reason WaitReason
}

func newWaitError(wait time.Duration, reason WaitReason) *WaitError {
	return &WaitError{Wait: wait, Until: time.Now().Add(wait).UTC(), Reason: reason}
}

// Error names the wait, the moment and the bound.
func (e *WaitError) Error() string {
	why := string(e.Reason)
	switch e.Reason {
	case WaitCap, "":
		why = "longer than the policy waits"
	case WaitDeadline:
		why = "past the context's deadline"
	case WaitDayLimit:
		why = "the limit is spent"
	}
	return fmt.Sprintf("next try in %v, at %s: %s", e.Wait.Round(time.Millisecond), e.Until.Format(time.RFC3339), why)
}

// Is makes a wait that the context's deadline forbids look like the deadline.
func (e *WaitError) Is(target error) bool {
	return e.Reason == WaitDeadline && target == context.DeadlineExceeded
}
