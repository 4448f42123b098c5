package botix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/botix-pro/sdk-go/retry"
)

// Report is what became of every item of CreateMany, UpdateMany or SendMany, in
// the order of the input. T is what the platform returns for an item.
type Report[T any] struct {
	Items []Item[T]
}

// Count returns how many items are in a state.
func (r *Report[T]) Count(state ItemState) int {
	n := 0
	for i := range r.Items {
		if r.Items[i].State == state {
			n++
		}
	}
	return n
}

// Indexes returns the places in the input of the items that are in one of the
// states. Items that were not sent can be handed in again as they are; failed
// ones after a look at their code and under a new key; unknown ones only after
// finding out, or as the same request again under the key of their error.
func (r *Report[T]) Indexes(states ...ItemState) []int {
	var found []int
	for i := range r.Items {
		if slices.Contains(states, r.Items[i].State) {
			found = append(found, i)
		}
	}
	return found
}

// Item is what became of one item.
type Item[T any] struct {
	Index   int       // its place in the input
	State   ItemState //
	Result  T         // what the platform made of it; zero unless done
	Code    Code      // why it failed; empty unless failed
	Message string    // the platform's own words; they may hold personal data
	Err     error     // nil when done; an [*ItemError] when failed; else what its request ended with
}

// ItemState says what is known of one item.
type ItemState string

const (
	// ItemDone: the platform did it.
	ItemDone ItemState = "done"
	// ItemFailed: the platform refused it. Nothing happened, and the same again
	// needs a reason to end otherwise.
	ItemFailed ItemState = "failed"
	// ItemUnknown: its request may have been carried out, but no answer tells.
	// Repeating it as a new call can do it twice.
	ItemUnknown ItemState = "unknown"
	// ItemNotSent: nothing happened, and the reason lies outside the item.
	ItemNotSent ItemState = "not sent"
)

// ItemError is the refusal of one item of a bulk call whose other items may well
// be done. It matches the sentinel of its code, such as [ErrDuplicateKey] or
// [ErrDeliveryFailed].
type ItemError struct {
	Index   int    // the item's place in the input
	Code    Code   //
	Message string // the platform's own words; they may hold personal data and are not part of Error
}

func (e *ItemError) Error() string {
	return fmt.Sprintf("botix: item %d was refused (%s)", e.Index, e.Code)
}

// Is reports whether target is the sentinel of the item's code.
func (e *ItemError) Is(target error) bool { return e.Code.matches(target) }

// Outcome is [retry.Refused] for a message the channel did not take and
// [retry.Throttled] for an item over a limit, both of which may pass later, and
// else [retry.Rejected].
func (e *ItemError) Outcome() retry.Outcome {
	switch e.Code {
	case CodeDeliveryFailed:
		return retry.Refused
	case CodeRateLimitExceeded:
		return retry.Throttled
	}
	return retry.Rejected
}

// itemError makes an error of a row's nullable error and message.
func itemError(index int, code *Code, message *string) error {
	if code == nil || *code == "" {
		return nil
	}
	e := &ItemError{Index: index, Code: *code}
	if message != nil {
		e.Message = *message
	}
	return e
}

var errNoRow = errors.New("botix: the answer does not say what became of the item")

// inChunks sends items in requests of at most size, one after the other so that
// two messages to one contact keep their order. It refuses what in has found
// wrong with them, or what it finds itself, before the first one. send returns a
// row for each item the answer speaks of, whose Index counts within the request.
//
// A request that was done or rejected does not stop the ones after it. One that
// did not leave, or was refused for the key's or a limit's sake, does, since the
// others would fare alike; so do two in a row without a readable answer, since
// each further one is a request of unknown outcome more.
func inChunks[In, T any](ctx context.Context, in *checker, field string, items []In, size int, opts []CallOption,
	send func(context.Context, []In, []CallOption) ([]Item[T], error)) (*Report[T], error) {
	all := (len(items) + size - 1) / size
	in.encodable(field, items)
	if in.err != nil {
		return nil, in.err
	}
	// The last request has the longest key.
	if _, err := callOptions(in.operation, withChunkKey(opts, all, all)); err != nil {
		return nil, err
	}
	report := &Report[T]{Items: make([]Item[T], len(items))}
	for i := range report.Items {
		report.Items[i] = Item[T]{Index: i, State: ItemNotSent}
	}
	var errs []error
	silences := 0
	for n := range all {
		first, end := n*size, min((n+1)*size, len(items))
		rows, err := send(ctx, items[first:end], withChunkKey(opts, n+1, all))
		settle(report.Items[first:end], rows, err)
		if err == nil {
			silences = 0
			continue
		}
		errs = append(errs, fmt.Errorf("items %d to %d: %w", first, end-1, err))
		switch retry.OutcomeOf(err) {
		case retry.Succeeded, retry.Rejected, retry.Conflict:
			silences = 0
			continue
		case retry.Unknown:
			if silences++; silences < 2 && ctx.Err() == nil && !asksToWait(err) {
				continue
			}
		}
		for i := end; i < len(items); i++ {
			report.Items[i].Err = err
		}
		break
	}
	if len(errs) == 0 {
		return report, nil
	}
	return report, &BulkError{
		Done: report.Count(ItemDone), Failed: report.Count(ItemFailed),
		Unknown: report.Count(ItemUnknown), NotSent: report.Count(ItemNotSent), Errs: errs,
	}
}

// asksToWait reports whether the server asked to be left alone for a while.
func asksToWait(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.RetryAt.After(time.Now())
}

// BulkError says that requests of CreateMany, UpdateMany or SendMany failed. What
// became of each item is in the [Report] beside it: repeat items by their state
// there, never the whole job.
type BulkError struct {
	Done, Failed, Unknown, NotSent int // items
	// Errs are the failed requests' errors, in order; each names its items.
	Errs []error
}

func (e *BulkError) Error() string {
	return fmt.Sprintf("botix: of %d items %d are done, %d failed, %d unknown, %d not sent: %v",
		e.Done+e.Failed+e.Unknown+e.NotSent, e.Done, e.Failed, e.Unknown, e.NotSent, errors.Join(e.Errs...))
}

// Unwrap returns the failed requests' errors.
func (e *BulkError) Unwrap() []error { return e.Errs }

// Outcome is that of the whole job: [retry.Unknown] as soon as anything of it was
// done or may have been.
func (e *BulkError) Outcome() retry.Outcome {
	if e.Done+e.Unknown > 0 {
		return retry.Unknown
	}
	return retry.OutcomeOf(e.Errs[0])
}

// settle writes down what became of the items of one request.
func settle[T any](items []Item[T], rows []Item[T], err error) {
	unsaid := Item[T]{State: ItemUnknown, Err: errNoRow}
	if err != nil && rows == nil {
		unsaid = Item[T]{State: stateAfter(err), Err: err}
		if e, ok := errors.AsType[*Error](err); ok && unsaid.State == ItemFailed {
			unsaid.Code, unsaid.Message = e.Code, e.Message
		}
	}
	first := items[0].Index
	for i := range items {
		items[i] = unsaid
		items[i].Index = first + i
	}
	for _, row := range slices.Backward(rows) { // should two rows name one item, the first counts
		if row.Index < 0 || row.Index >= len(items) {
			continue
		}
		at := row.Index
		row.Index += first
		if e, ok := row.Err.(*ItemError); ok {
			e.Index = row.Index
			row.Code, row.Message = e.Code, e.Message
		}
		items[at] = row
	}
}

// fits reports whether the rows of a bulk answer can be those of a request of n
// items: a row for each at most, and none beyond.
func fits[R interface{ place() int }](n int, rows []R) bool {
	return len(rows) <= n && !slices.ContainsFunc(rows, func(r R) bool { return r.place() < 0 || r.place() >= n })
}

// stateAfter is the state of the items of a request that ended with err.
func stateAfter(err error) ItemState {
	switch retry.OutcomeOf(err) {
	case retry.Rejected, retry.Conflict:
		return ItemFailed
	case retry.NotSent, retry.Throttled, retry.Refused:
		return ItemNotSent
	}
	return ItemUnknown
}
