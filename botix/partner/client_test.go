package partner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	const key = "btx_prt_0123456789abcdefghijklmnopqrstuvwxyzABCD"
	without := partner.WithoutLedger()
	for name, tt := range map[string]struct {
		key  string
		opts []partner.Option
		want string
	}{
		"an empty key":           {"", []partner.Option{without}, "key is empty"},
		"a key with a break":     {key + "\n", []partner.Option{without}, "line break"},
		"no word on the ledger":  {key, nil, "WithoutLedger"},
		"a nil option":           {key, []partner.Option{without, nil}, "nil"},
		"a nil ledger":           {key, []partner.Option{partner.WithLedger(nil)}, "WithLedger"},
		"two words on it":        {key, []partner.Option{without, partner.WithLedger(new(ledger.Ledger))}, "more than once"},
		"plain http":             {key, []partner.Option{without, partner.WithBaseURL("http://api.example")}, "https"},
		"a key of a project":     {"btx_live_x", []partner.Option{without}, "belongs to one project"},
		"a margin of seven days": {key, []partner.Option{without, botix.WithWindowMargin(7 * 24 * time.Hour)}, "168h0m0s for which keys are remembered"},
	} {
		c, err := partner.New(tt.key, tt.opts...)
		if err == nil || c != nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "0123456789") {
			t.Errorf("%s: New = %v, %v; want an error with %q, without the key", name, c, err, tt.want)
		}
	}
	if _, err := partner.New(key, without, botix.WithWindowMargin(48*time.Hour)); err != nil {
		t.Errorf("a margin of two days of seven: %v", err)
	}
	opts := []partner.Option{without}
	for range 2 { // options are values
		c, err := partner.New(key, opts[:1:1]...)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%v %+v %s %d", c, c, c, c); strings.Contains(got, key) || !strings.HasPrefix(got, "partner.Client(https://api.botix.pro, key btx_prt_0123") {
			t.Errorf("the client prints as %s", got)
		}
		c.Close()
	}
}

// What a client tells beside its calls is that of the public one.
func TestWhatTheClientTells(t *testing.T) {
	inBubble(t, botixtest.Config{PerMinute: 60}, nil, func(s *sandbox) {
		s.srv.Script(botixtest.On("balanceGet").Do(botixtest.Change("notices", func(a *botixtest.Answer) {
			a.Header.Set("X-API-Notice", "information=quota_80pct")
			a.Header.Set("X-API-Deprecation", "version=1; sunset=2027-05-22")
		})))
		if s.client.RateLimit().LimitKnown {
			s.Error("a rate limit is known before the first answer")
		}
		var info botix.Info
		var started, ended []string
		hooks := botix.Hooks{
			CallEnd: func(_ context.Context, e botix.CallEnd) { ended = append(ended, e.Route) },
			AttemptStart: func(c context.Context, e botix.AttemptStart) context.Context {
				started = append(started, e.Operation)
				return c
			},
		}
		c := s.connect(s.srv.PartnerKey(), partner.WithoutLedger(), botix.WithHooks(hooks))
		if _, err := c.Balance(s.Context(), botix.WithInfo(&info)); err != nil {
			s.Fatal(err)
		}
		if _, err := c.Groups.Get(s.Context(), s.group("a")); err != nil {
			s.Fatal(err)
		}
		if rate := c.RateLimit(); rate.Limit != 60 || info.Rate.Limit != 60 || info.Operation != "balanceGet" || info.RequestID == "" {
			s.Errorf("the rate is %+v, the info %+v", rate, info)
		}
		if len(c.Notices()) != 1 || len(c.Deprecations()) != 1 {
			s.Errorf("notices %v, deprecations %v", c.Notices(), c.Deprecations())
		}
		if fmt.Sprint(started, ended) != "[balanceGet groupsGet] [GET /partner/v1/balance GET /partner/v1/groups/{group}]" {
			s.Errorf("the hooks saw %v and %v", started, ended)
		}
	})
}

// Every row says what the table of the Partner API promises.
func TestRows(t *testing.T) {
	t.Parallel()
	for name, ep := range partner.Rows() {
		if reads := ep.Method == http.MethodGet; reads != (ep.Class == call.Safe) {
			t.Errorf("%s is a %s of class %v", name, ep.Method, ep.Class)
		}
		if ep.Source == "" || ep.Name != name || !strings.HasPrefix(ep.Path, "/partner/v1/") {
			t.Errorf("%s has the source %q and the path %s", name, ep.Source, ep.Path)
		}
		if ep.Class == call.Safe {
			continue
		}
		if ep.Class != call.HonoursKeys || ep.Proof != call.ProofKey || ep.Retention != 7*24*time.Hour {
			t.Errorf("%s: class %v, proof %v, retention %v", name, ep.Class, ep.Proof, ep.Retention)
		}
		if (ep.Secret) != (name == "keysCreate") || (ep.EmptyOK) != (ep.Method == http.MethodDelete) {
			t.Errorf("%s: secret %t, empty %t", name, ep.Secret, ep.EmptyOK)
		}
	}
	rows := partner.Rows()
	for name, want := range map[string][3]string{
		"topUpsCreate":     {"", "wallet:{group}", "[amount]"},
		"spendLimitUpdate": {"limit:{group}", "limit:{group}", "[spend_limit]"},
		"keysCreate":       {"", "key:{group}:{function}", "[]"},
		"groupsCreate":     {"", "group:{customer}", "[]"},
		"groupsDelete":     {"group:{group}", "group:{customer}", "[]"},
		"keysDelete":       {"key:{key}", "", "[]"}, // revoking is never blocked
	} {
		if ep := rows[name]; ep.Lane != want[0] || ep.Group != want[1] || fmt.Sprint(ep.Significance.Decimals) != want[2] {
			t.Errorf("%s: lane %q, group %q, decimals %v; want %v", name, ep.Lane, ep.Group, ep.Significance.Decimals, want)
		}
	}
}

// net/http sends a request with an Idempotency-Key again by itself when a kept
// connection breaks. Here every connection breaks under every change after it was
// read whole, and every arrival is a try of ours.
func TestNoSilentResend(t *testing.T) {
	t.Parallel()
	const attempts = 3
	for _, operation := range partner.Mutations() {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			var arrived atomic.Int32
			var keys sync.Map
			var warm sync.WaitGroup
			warm.Add(attempts)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					if strings.HasSuffix(r.URL.Path, "/balance") {
						warm.Done()
						warm.Wait() // until each has a connection of its own
					}
					fmt.Fprint(w, `{"success":true,"data":{"id":"key_1","group_id":"grp_1","balance":"1.00"}}`)
					return
				}
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				arrived.Add(1)
				keys.Store(r.Header.Get("Idempotency-Key")+string(body), true)
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_ = conn.(*net.TCPConn).SetLinger(0)
				_ = conn.Close()
			}))
			defer srv.Close()
			policy := retry.Default()
			policy.MaxAttempts, policy.Base = attempts, time.Millisecond
			c, err := partner.New("btx_prt_x", partner.WithoutLedger(), partner.WithBaseURL(srv.URL), botix.WithRetry(policy),
				botix.WithPace(retry.Pace{Mode: retry.Off}), botix.WithServerTime(time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var reading sync.WaitGroup
			for range attempts {
				reading.Go(func() {
					if _, err := c.Balance(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			reading.Wait()
			var info botix.Info
			err = changes[operation](t.Context(), c, "grp_1", "key_1", botix.WithInfo(&info))
			if retry.OutcomeOf(err) != retry.Unknown {
				t.Errorf("%v, outcome %v; want unknown", err, retry.OutcomeOf(err))
			}
			different := 0
			keys.Range(func(any, any) bool { different++; return true })
			if n := int(arrived.Load()); n != attempts || len(info.Attempts) != attempts || different != 1 {
				t.Errorf("%d requests arrived in %d spellings, for %d attempts; want %d in one", n, different, len(info.Attempts), attempts)
			}
			for _, a := range info.Attempts {
				if a.Evidence.Conns != 1 || !a.Evidence.Reused {
					t.Errorf("attempt %d: %+v, want one kept connection", a.Number, a.Evidence)
				}
			}
		})
	}
}

// Raw calls of the public client and this one do not know each other's rows.
func TestTheTwoHalvesAreApart(t *testing.T) {
	inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
		public := s.public(s.srv.APIKey())
		err := public.Do(s.Context(), botix.Request{Method: http.MethodPost, Path: "/partner/v1/groups", Body: map[string]string{"name": "a"}}, nil)
		if !errors.Is(err, partner.ErrPartnerKeyRequired) {
			s.Errorf("the public client on the partner half: %v", err)
		}
		s.effects("groupsCreate", 0)
	})
}
