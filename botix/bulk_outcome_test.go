package botix_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/retry"
)

// The error of a split job counts its items, and is of unknown outcome as soon as
// anything was done or may have been: whoever repeats the job on its word repeats
// nothing that happened.
func TestOutcomeOfASplitJob(t *testing.T) {
	on := botixtest.On("messagesBulkSend")
	rejected, cut := botixtest.Refusal("VALIDATION_ERROR"), botixtest.CutAfter()
	refused, throttled := botixtest.Refusal("API_NOT_AVAILABLE_ON_PLAN"), botixtest.RateLimited("80000")
	for name, tt := range map[string]struct {
		script                        []botixtest.Rule
		done, failed, unknown, unsent int
		want                          retry.Outcome
	}{
		"done, then refused":           {[]botixtest.Rule{on.Nth(2).Do(refused)}, 50, 0, 0, 80, retry.Unknown},
		"done, then rejected, done":    {[]botixtest.Rule{on.Nth(2).Do(rejected)}, 80, 50, 0, 0, retry.Unknown},
		"rejected, then unknown, done": {[]botixtest.Rule{on.InTurn(rejected, cut)}, 30, 50, 50, 0, retry.Unknown},
		"unknown, then refused":        {[]botixtest.Rule{on.InTurn(cut, refused)}, 0, 0, 50, 80, retry.Unknown},
		"rejected, unknown, refused":   {[]botixtest.Rule{on.InTurn(rejected, cut, refused)}, 0, 50, 50, 30, retry.Unknown},
		"rejected throughout":          {[]botixtest.Rule{on.Do(rejected)}, 0, 130, 0, 0, retry.Rejected},
		"rejected, then refused":       {[]botixtest.Rule{on.InTurn(rejected, refused)}, 0, 50, 0, 80, retry.Rejected},
		"refused":                      {[]botixtest.Rule{on.Do(refused)}, 0, 0, 0, 130, retry.Refused},
		"throttled":                    {[]botixtest.Rule{on.Do(throttled)}, 0, 0, 0, 130, retry.Throttled},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sandboxDefaults, exactly(tries(1)), func(s *sandbox) {
				messages := messagesTo(s.srv, 130)
				s.srv.Script(tt.script...)
				report, err := s.client.Messages.SendMany(s.Context(), messages)
				e, ok := errors.AsType[*botix.BulkError](err)
				if !ok {
					s.Fatalf("SendMany = %v, want a *botix.BulkError", err)
				}
				got := []int{e.Done, e.Failed, e.Unknown, e.NotSent}
				if want := []int{tt.done, tt.failed, tt.unknown, tt.unsent}; !slices.Equal(got, want) {
					s.Errorf("done, failed, unknown, not sent = %v, want %v", got, want)
				}
				counted := []int{report.Count(botix.ItemDone), report.Count(botix.ItemFailed), report.Count(botix.ItemUnknown), report.Count(botix.ItemNotSent)}
				if !slices.Equal(got, counted) {
					s.Errorf("the error counts %v, the report %v", got, counted)
				}
				if o := retry.OutcomeOf(fmt.Errorf("the campaign: %w", err)); o != tt.want {
					s.Errorf("outcome %v, want %v", o, tt.want)
				}
			})
		})
	}
}

// A server that asks to be left alone is: the requests that are left are not sent,
// and the error says from when on they can be.
func TestNoNextRequestBeforeRetryAt(t *testing.T) {
	for name, tt := range map[string]struct {
		fault botixtest.Fault
		want  string
		sent  int
	}{
		"503 with Retry-After":       {botixtest.Status(503).With("Retry-After", "120"), "50 unknown, 80 not sent", 1},
		"503 with Retry-After of 0":  {botixtest.Status(503).With("Retry-After", "0"), "50 unknown, 80 done", 3},
		"503 that asks for nothing":  {botixtest.Status(503), "50 unknown, 80 done", 3},
		"a page with Retry-After":    {botixtest.HTML(502).With("Retry-After", "120"), "50 unknown, 80 not sent", 1},
		"refused for a while by 429": {botixtest.RateLimited("120"), "130 not sent", 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sandboxDefaults, exactly(tries(1)), func(s *sandbox) {
				messages := messagesTo(s.srv, 130)
				s.srv.Script(
					botixtest.On("messagesBulkSend").Nth(1).Do(tt.fault),
					botixtest.On("messagesList").Do(botixtest.Refusal("INSUFFICIENT_SCOPE"))) // or the first would be known
				start := time.Now()
				report, err := s.client.Messages.SendMany(s.Context(), messages)
				if got := states(report); got != tt.want {
					s.Errorf("SendMany = %s, %v; want %s", got, err, tt.want)
				}
				if got := len(s.srv.Journal().Calls("messagesBulkSend")); got != tt.sent {
					s.Errorf("%d requests, want %d", got, tt.sent)
				}
				if e := s.failed(err); tt.sent == 1 && e.RetryAt.Sub(start) < 2*time.Minute {
					s.Errorf("RetryAt is %v after the start, want 2m0s", e.RetryAt.Sub(start))
				}
			})
		})
	}
}

// When the context ends, so does the job, with one error and its reason at each
// item that was not sent.
func TestASplitJobEndsWithItsContext(t *testing.T) {
	inBubble(t, sandboxDefaults, exactly(), func(s *sandbox) {
		messages := messagesTo(s.srv, 130)
		s.srv.Script(botixtest.On("messagesBulkSend").Nth(1).Do(botixtest.Delay(time.Minute)))
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		report, err := s.client.Messages.SendMany(ctx, messages)
		if got, want := states(report), "50 unknown, 80 not sent"; got != want || !errors.Is(err, context.DeadlineExceeded) {
			s.Errorf("SendMany = %s, %v; want %s and its deadline", got, err, want)
		}
		e, ok := errors.AsType[*botix.BulkError](err)
		if !ok || len(e.Errs) != 1 {
			s.Fatalf("SendMany = %v, want a *botix.BulkError with the one request that was made", err)
		}
		for _, item := range report.Items {
			if !errors.Is(item.Err, context.DeadlineExceeded) {
				s.Fatalf("item %d is %s for %v, want the deadline", item.Index, item.State, item.Err)
			}
		}
		time.Sleep(time.Minute) // for the request that is still worked on
	})
}
