// Package storetest is what every store of the ledger has to pass: one suite,
// whatever the database.
package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Run runs the suite on stores that open gives: each an empty one, closed when
// its test ends.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"rows", rowCases},
		{"uniqueness", uniquenessCases},
		{"leases", leaseCases},
		{"units", unitCases},
		{"work", workCases},
		{"lists", listCases},
		{"workers", workerCases},
		{"within", withinCases},
		{"erasing", erasingCases},
		{"marks", markCases},
		{"archives", archiveCases},
		{"inbox", inboxCases},
		{"workflows", workflowCases},
		{"amounts", amountCases},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(t, open(t))
				})
			}
		})
	}
}

// testCase is named by what it shows.
type testCase struct {
	name string
	run  func(t *testing.T, s store.Store)
}

// counter numbers what must differ between two operations.
var counter atomic.Int64

const start = int64(1_780_000_000_000) // when the operations of these tests begin, Unix ms

// NewOperation returns a valid operation like no other.
func NewOperation() *store.Operation {
	n := counter.Add(1)
	return &store.Operation{
		ID:   fmt.Sprintf("%08x-%04x-7000-8000-%012x", start>>16, start&0xffff, n),
		Kind: "call",
		Intent: store.Intent{
			Namespace: "shop-test", Customer: fmt.Sprintf("customer-%d", n), Action: "order-confirmed", Version: "order-1",
		},
		API: "botix", Origin: "https://api.example", Credential: "0123456789abcdef",
		Key: fmt.Sprintf("key-%d", n), Fingerprint: "v1:sha256:00", Method: "POST", Path: "/public/v1/messages/send",
		Body:   []byte(`{"contact_id":42}`),
		Status: "pending", Driver: "caller",
		CreatedAt: start, UpdatedAt: start,
	}
}

// newWorkflow returns a valid operation without a request.
func newWorkflow() *store.Operation {
	op := NewOperation()
	op.Kind, op.Steps, op.Driver = "workflow", 3, "worker"
	op.Key, op.Method, op.Path, op.Body = "", "", "", nil
	return op
}

// NewAttempt returns an attempt of op that is open.
func NewAttempt(op *store.Operation, number int) *store.Attempt {
	return &store.Attempt{
		OperationID: op.ID, Number: number, StartedAt: start + int64(number), Method: op.Method, Path: op.Path,
		Unresolved: true, RateLimit: -1, RateRemaining: -1, RateReset: -1,
	}
}

// ended returns the end of an attempt.
func ended(a *store.Attempt) *store.Attempt {
	offset := int64(-1500)
	end := *a
	end.EndedAt, end.Status, end.RequestBytes, end.ResponseBytes, end.Micros = a.StartedAt+35, 201, 17, 230, 34_567
	end.RequestID, end.Replayed, end.Outcome, end.Rule, end.Unresolved = "req-1", true, "succeeded", "2xx", false
	end.Evidence, end.RateLimit, end.RateRemaining, end.RateReset = "first byte", 60, 47, 1_780_000_060
	end.ServerOffset, end.ErrorCode, end.ErrorMessage = &offset, "none", "привет"
	return &end
}

func write(t *testing.T, s store.Store, unit func(store.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), unit); err != nil {
		t.Fatalf("Write: %v", err)
	}
}

func read(t *testing.T, s store.Store, unit func(store.Tx) error) {
	t.Helper()
	if err := s.Read(t.Context(), unit); err != nil {
		t.Fatalf("Read: %v", err)
	}
}

func insert(t *testing.T, s store.Store, ops ...*store.Operation) {
	t.Helper()
	write(t, s, func(tx store.Tx) error {
		for _, op := range ops {
			if err := tx.Insert(t.Context(), op); err != nil {
				return err
			}
		}
		return nil
	})
}

// get returns the row as it is stored now.
func get(t *testing.T, s store.Store, id string) (op *store.Operation) {
	t.Helper()
	read(t, s, func(tx store.Tx) (err error) {
		op, err = tx.Operation(t.Context(), id)
		return err
	})
	return op
}

// exists reports whether the operation is stored.
func exists(t *testing.T, s store.Store, id string) bool {
	t.Helper()
	found := false
	read(t, s, func(tx store.Tx) error {
		_, err := tx.Operation(t.Context(), id)
		found = err == nil
		return nil
	})
	return found
}

// background is for units whose caller's context has ended.
var background = context.Background()
