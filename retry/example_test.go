package retry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/botix-pro/sdk-go/retry"
)

func ExampleAfter() {
	h := http.Header{}
	h.Set("Date", "Wed, 21 Oct 2026 07:27:47 GMT")
	h.Set("Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT")
	localClockIsWrong := time.Date(2026, time.October, 21, 9, 0, 0, 0, time.UTC)

	wait, ok := retry.After(h, localClockIsWrong)
	fmt.Println(wait, ok)
	// Output: 13s true
}

// The loop of one call: pauses grow, a Retry-After is a floor, and the caller's
// deadline is seen before the pause, not after it.
func ExampleBackOff_Next() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	send := func(try int) (retryAfter time.Duration, done bool) { return 0, try == 3 }

	policy := retry.Policy{Base: time.Millisecond}.WithDefaults()
	pauses := policy.NewBackOff()
	for try := 1; try <= policy.MaxAttempts; try++ {
		after, done := send(try)
		if done {
			fmt.Println("done at try", try)
			return
		}
		pause, err := pauses.Next(ctx, after)
		if err == nil {
			err = retry.Sleep(ctx, pause)
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output: done at try 3
}

// A server that asks for more than the policy or the caller allows is not asked
// sooner: the error says when it may be asked again.
func ExampleWaitError() {
	_, err := retry.Default().NewBackOff().Next(context.Background(), time.Hour)
	if wait, ok := errors.AsType[*retry.WaitError](err); ok {
		fmt.Println("come back in", wait.Wait, "because of the", wait.Reason)
	}
	// Output: come back in 1h0m0s because of the cap
}

// While everything fails, a spent budget allows one resend for every five calls.
func ExampleBudget() {
	budget := retry.NewBudget(retry.BudgetConfig{Size: 10})
	resends := 0
	for range 1000 {
		budget.First()
		if budget.Spend() {
			resends++
		}
	}
	fmt.Println("1000 calls,", resends, "resends")
	// Output: 1000 calls, 209 resends
}

func ExampleParseRate() {
	h := http.Header{}
	h.Set("X-RateLimit-Remaining", "59")
	h.Set("X-RateLimit-Reset", "1750000030")

	r := retry.ParseRate(h, time.Unix(1750000000, 0))
	fmt.Println(r.RemainingKnown, r.Remaining, r.LimitKnown, r.Reset.Format(time.TimeOnly))
	// Output: true 59 false 15:07:10
}

// Every call takes a slot and says how it ended. Many goroutines share one pacer.
func ExamplePacer() {
	pacer, err := retry.NewPacer(retry.Pace{})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := func(ctx context.Context, req *http.Request) (*http.Response, error) {
		slot, err := pacer.Acquire(ctx, retry.Interactive)
		if err != nil {
			return nil, err
		}
		sent := time.Now()
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			slot.Lost() // or Cancel, where it is certain that nothing left
			return nil, err
		}
		slot.Answered(resp.StatusCode, resp.Header, sent, time.Now())
		return resp, nil
	}
	_ = call

	fmt.Println("a new caller waits", pacer.Expected(retry.Interactive))
	// Output: a new caller waits 0s
}
