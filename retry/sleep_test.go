package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/retry"
)

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := retry.Sleep(t.Context(), time.Minute); err != nil || time.Since(start) != time.Minute {
			t.Errorf("Sleep = %v after %v", err, time.Since(start))
		}
		for _, d := range []time.Duration{0, -time.Hour} {
			if err := retry.Sleep(t.Context(), d); err != nil {
				t.Errorf("Sleep(%v) = %v", d, err)
			}
		}
	})
}

// F006: cancelling ends the wait, with the caller's own reason.
func TestF006CancelEndsSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		start := time.Now()
		time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
		if err := retry.Sleep(ctx, 10*time.Second); err != why || time.Since(start) != 50*time.Millisecond {
			t.Errorf("Sleep = %v after %v", err, time.Since(start))
		}
		if err := retry.Sleep(ctx, 0); err != why {
			t.Errorf("Sleep with an ended context = %v", err)
		}
	})
}

func TestWaitErrorNamesTheMoment(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, time.October, 21, 8, 0, 0, 0, time.UTC)
	tests := map[retry.WaitReason]string{
		retry.WaitCap:      "next try in 1h0m0s, at 2026-10-21T08:00:00Z: longer than the policy waits",
		retry.WaitDeadline: "next try in 1h0m0s, at 2026-10-21T08:00:00Z: past the context's deadline",
		retry.WaitDayLimit: "next try in 1h0m0s, at 2026-10-21T08:00:00Z: the limit is spent",
	}
	for reason, want := range tests {
		err := &retry.WaitError{Wait: time.Hour, Until: until, Reason: reason}
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
		if got := errors.Is(err, context.DeadlineExceeded); got != (reason == retry.WaitDeadline) {
			t.Errorf("%s: Is(DeadlineExceeded) = %v", reason, got)
		}
	}
}
