package ledger_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
)

// interrupted has something happen between the first look at which notices are due
// and their claim.
type interrupted struct {
	store.Store
	claim func(s store.Store, claim func(store.Tx) error) error

	looked atomic.Int32
}

func (s *interrupted) Read(ctx context.Context, look func(store.Tx) error) error {
	return s.Store.Read(ctx, func(tx store.Tx) error { return look(&noticing{tx, s}) })
}

func (s *interrupted) Write(ctx context.Context, unit func(store.Tx) error) error {
	if s.looked.CompareAndSwap(1, 2) {
		return s.claim(s.Store, unit)
	}
	return s.Store.Write(ctx, unit)
}

type noticing struct {
	store.Tx
	in *interrupted
}

func (t *noticing) DueNotices(ctx context.Context, p store.Place, now int64, limit int) ([]store.Notice, error) {
	due, err := t.Tx.DueNotices(ctx, p, now, limit)
	if len(due) > 0 {
		t.in.looked.CompareAndSwap(0, 1)
	}
	return due, err
}

// Each is told of once: also when another has told of it since it was seen to be due,
// and when it could not be claimed.
func TestNoticesThatAreClaimedLate(t *testing.T) {
	full := errors.New("the disk is full")
	for name, tt := range map[string]struct {
		claim func(s store.Store, first string, claim func(store.Tx) error) error
		told  []string
		logs  string
	}{
		"another has told of one": {
			claim: func(s store.Store, first string, claim func(store.Tx) error) error {
				ctx := context.Background()
				err := s.Write(ctx, func(tx store.Tx) error { return tx.DropNotice(ctx, first, 0) })
				return errors.Join(err, s.Write(ctx, claim))
			},
			told: []string{"cust_43"},
		},
		"the claim is not committed": {
			claim: func(s store.Store, _ string, claim func(store.Tx) error) error {
				return s.Write(context.Background(), func(tx store.Tx) error { return errors.Join(claim(tx), full) })
			},
			told: []string{"cust_42", "cust_43"},
			logs: full.Error(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDepot(t)
			synctest.Test(t, func(t *testing.T) {
				s.T = t
				var first string
				s.open(func(led *ledger.Ledger) {
					def := delivery()
					def.ToldElsewhere = true
					m := s.machine(led, def)
					for _, customer := range []string{"cust_42", "cust_43"} {
						p, err := m.Run(t.Context(), customer, "order-1", parcel)
						if err != nil {
							t.Fatal(err)
						}
						if first == "" {
							first = p.ID
						}
					}
				})
				file, err := sqlite.OpenStore(t.Context(), s.file)
				if err != nil {
					t.Fatal(err)
				}
				led, err := ledger.New(&interrupted{Store: file, claim: func(s store.Store, claim func(store.Tx) error) error {
					return tt.claim(s, first, claim)
				}}, ledger.Namespace("test"))
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := led.Close(); err != nil {
						t.Error(err)
					}
				}()
				var (
					mu   sync.Mutex
					told []string
				)
				def := delivery()
				def.Tell = func(_ context.Context, p *ledger.Progress) error {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, p.Intent.Customer)
					return nil
				}
				s.machine(led, def)
				var logged strings.Builder
				w, err := ledger.NewWorker(led, ledger.WorkerConfig{Concurrency: 2, Poll: time.Minute, Log: slog.New(slog.NewTextHandler(&logged, nil))})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
				defer stop()
				if err := w.Run(ctx); err != nil {
					t.Error(err)
				}
				slices.Sort(told)
				if !slices.Equal(told, tt.told) {
					t.Errorf("told of %q, want %q", told, tt.told)
				}
				if got := logged.String(); !strings.Contains(got, tt.logs) || tt.logs == "" && got != "" {
					t.Errorf("logged %q, want %q", got, tt.logs)
				}
				s.notices(led, 0)
			})
		})
	}
}
