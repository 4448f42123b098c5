package botix_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/retry"
)

// records is a log that keeps what it was given.
type records struct {
	mu  sync.Mutex
	all []map[string]any
}

func (r *records) Enabled(context.Context, slog.Level) bool { return true }
func (r *records) WithAttrs([]slog.Attr) slog.Handler       { panic("not used") }
func (r *records) WithGroup(string) slog.Handler            { panic("not used") }

func (r *records) Handle(_ context.Context, rec slog.Record) error {
	m := map[string]any{"level": rec.Level, "msg": rec.Message}
	rec.Attrs(func(a slog.Attr) bool { m[a.Key] = a.Value.Any(); return true })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, m)
	return nil
}

// about returns the records about deprecations.
func (r *records) about() (found []map[string]any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.all {
		if strings.Contains(m["msg"].(string), "deprecated") {
			found = append(found, m)
		}
	}
	return found
}

// F096: a thousand answers say it once for each endpoint, with dates and link.
func TestF096DeprecationIsSaidOnce(t *testing.T) {
	t.Parallel()
	log := new(records)
	opts := []botix.Option{botix.WithLogger(slog.New(log)), botix.WithPace(retry.Pace{Mode: retry.Off})}
	inBubble(t, botixtest.Config{PerMinute: botixtest.Unlimited}, opts, func(s *sandbox) {
		time.Sleep(time.Until(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)))
		old := botixtest.Unharmed().With("Deprecation", "@1688169599").With("Sunset", "Sun, 30 Jun 2030 23:59:59 GMT").
			With("Link", `<https://user:hunter2@example.test/d?token=hunter2>; rel="deprecation"`)
		s.srv.Script(botixtest.On("*").Do(old))
		id := s.contact("Анна")
		for range 1000 {
			if _, err := s.client.Contacts.Get(s.Context(), id); err != nil {
				s.Fatal(err)
			}
		}
		if _, err := s.client.Me(s.Context()); err != nil {
			s.Error(err)
		}
		said := log.about()
		if len(said) != 2 {
			s.Fatalf("said %d times, want once for each of two endpoints: %v", len(said), said)
		}
		for i, route := range []string{"GET /public/v1/contacts/{id}", "GET /public/v1/me"} {
			m := said[i]
			if m["level"] != slog.LevelWarn || m["route"] != route || m["since"] != "2023-06-30T23:59:59Z" ||
				m["sunset"] != "2030-06-30T23:59:59Z" || m["link"] != "https://example.test/d" {
				s.Errorf("said %v", m)
			}
		}
		known := s.client.Deprecations()
		if len(known) != 2 || known[0].Count != 1000 || known[1].Count != 1 {
			s.Errorf("Deprecations = %+v", known)
		}

		// Once more after the interval, and not before.
		time.Sleep(24*time.Hour - time.Second)
		_, _ = s.client.Me(s.Context())
		if n := len(log.about()); n != 2 {
			s.Errorf("said %d times within the interval, want 2", n)
		}
		time.Sleep(time.Second)
		_, _ = s.client.Me(s.Context())
		if n := len(log.about()); n != 3 {
			s.Errorf("said %d times after the interval, want 3", n)
		}
	})
}

// F096 as the platform itself says it.
func TestF096PlatformDeprecation(t *testing.T) {
	t.Parallel()
	log := new(records)
	sunset := time.Date(2027, 5, 22, 0, 0, 0, 0, time.UTC)
	cfg := botixtest.Config{Deprecation: &botixtest.Deprecation{Sunset: sunset}}
	inBubble(t, cfg, []botix.Option{botix.WithLogger(slog.New(log))}, func(s *sandbox) {
		time.Sleep(time.Until(sunset.AddDate(0, 0, -100)))
		for range 3 {
			_, _ = s.client.Me(s.Context())
			_, _ = s.client.Channels.List(s.Context())
		}
		said := log.about()
		if len(said) != 1 || said[0]["version"] != "1.0.0" || said[0]["sunset"] != "2027-05-22T00:00:00Z" || said[0]["replacement"] != "/public/v2" {
			s.Errorf("said %v, want once for the whole version", said)
		}
	})
}

// F097: a notice never changes how a call ends, and says what is wrong with it.
func TestF097SunsetPastOrInAnotherForm(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		deprecation, sunset string
		level               slog.Level
		shown               string // of the sunset
		problem             string
	}{
		"years ahead":                  {"@1688169599", "Sun, 30 Jun 2030 23:59:59 GMT", slog.LevelWarn, "2030-06-30T23:59:59Z", ""},
		"yesterday":                    {"@1688169599", "Thu, 30 Apr 2026 12:00:00 GMT", slog.LevelError + 4, "2026-04-30T12:00:00Z", ""},
		"ISO date":                     {"@1688169599", "2030-06-30T23:59:59Z", slog.LevelWarn, "2030-06-30T23:59:59Z", ""},
		"a date in words":              {"@1688169599", "30 Jun 2030", slog.LevelWarn, "", "Sunset is not a date"},
		"earlier than the deprecation": {"@1909094399", "Mon, 30 Apr 2029 12:00:00 GMT", slog.LevelWarn, "2029-04-30T12:00:00Z", "Sunset is earlier than Deprecation"},
		"deprecation as a date":        {"Fri, 30 Jun 2023 23:59:59 GMT", "Sun, 30 Jun 2030 23:59:59 GMT", slog.LevelWarn, "2030-06-30T23:59:59Z", "Deprecation is not @ and Unix seconds"},
		"no deprecation":               {"", "Sun, 30 Jun 2030 23:59:59 GMT", slog.LevelWarn, "2030-06-30T23:59:59Z", ""},
		"nonsense":                     {"soon", "later", slog.LevelWarn, "", "Deprecation is not @ and Unix seconds; Sunset is not a date"},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(records)
			inBubble(t, botixtest.Config{}, []botix.Option{botix.WithLogger(slog.New(log))}, func(s *sandbox) {
				time.Sleep(time.Until(now))
				old := botixtest.Unharmed().With("Sunset", tt.sunset)
				if tt.deprecation != "" {
					old = old.With("Deprecation", tt.deprecation)
				}
				s.srv.Script(botixtest.On("*").Do(old))
				if _, err := s.client.Me(s.Context()); err != nil {
					s.Errorf("the call failed: %v", err)
				}
				said := log.about()
				if len(said) != 1 {
					s.Fatalf("said %v, want once", said)
				}
				m := said[0]
				text := func(key string) string { v, _ := m[key].(string); return v }
				if m["level"] != tt.level || text("sunset") != tt.shown || text("problem") != tt.problem {
					s.Errorf("said %v, want level %v, sunset %q, problem %q", m, tt.level, tt.shown, tt.problem)
				}
				if !strings.Contains(text("raw"), tt.sunset) || !strings.Contains(text("raw"), tt.deprecation) {
					s.Errorf("the raw text is %q", text("raw"))
				}
			})
		})
	}
}

// F097: past its sunset an API may be gone, and the error says where to go.
func TestF097Gone(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	cfg := botixtest.Config{Deprecation: &botixtest.Deprecation{Sunset: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)}}
	inBubble(t, cfg, []botix.Option{botix.WithLogger(log)}, func(s *sandbox) {
		_, err := s.client.Messages.Send(s.Context(), hello(7))
		e := s.failed(err)
		if e.Status != 410 || e.Replacement != "/public/v2" || e.Outcome() != retry.Rejected || len(e.Attempts) != 1 {
			s.Errorf("%v: replacement %q, outcome %v", err, e.Replacement, e.Outcome())
		}
		var record map[string]any
		if err := json.Unmarshal(out.Bytes(), &record); err != nil || record["level"] != "ERROR+4" {
			s.Errorf("logged %s, %v; want one record of the highest level", out.Bytes(), err)
		}
	})
}
