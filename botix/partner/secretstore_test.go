package partner_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// safe is a store of secrets that can fail.
type safe struct {
	mu   sync.Mutex
	kept map[string]string
	puts int
	// What fails: so many calls, from the first one on; below 0 all.
	probes, putting, asking int
	onPut                   func(ref string)
}

var errSafe = errors.New("the safe is stuck")

// stuck reports whether one of the calls that fail is left.
func stuck(n *int) bool {
	if *n == 0 {
		return false
	}
	*n--
	return true
}

func (s *safe) Probe(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stuck(&s.probes) {
		return errSafe
	}
	return nil
}

func (s *safe) Put(ctx context.Context, ref string, secret botix.Secret) error {
	if _, ends := ctx.Deadline(); !ends {
		return errors.New("it may wait for ever")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts++
	if s.onPut != nil {
		s.onPut(ref)
	}
	if stuck(&s.putting) {
		return errSafe
	}
	if s.kept == nil {
		s.kept = map[string]string{}
	}
	if was, ok := s.kept[ref]; ok && was != secret.Reveal() {
		return errors.New("another secret is there")
	}
	s.kept[ref] = secret.Reveal()
	return nil
}

func (s *safe) Has(_ context.Context, ref string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stuck(&s.asking) {
		return false, errSafe
	}
	_, ok := s.kept[ref]
	return ok, nil
}

// has reports whether the safe has the secret of a key.
func (s *safe) has(secret string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kept := range s.kept {
		if kept == secret {
			return true
		}
	}
	return false
}

// The secret of a key is in the store before the success is recorded. Whatever
// fails, the key is usable or known to be lost; never is there a second one.
func TestSecretsAreKeptBeforeTheSuccess(t *testing.T) {
	const kept, lost, open = "kept", "lost", "open"
	for name, tt := range map[string]struct {
		safe    *safe           // nil: one that does not fail
		fault   botixtest.Fault // of the first request
		replay  botixtest.SecretForm
		careful bool

		first    string // what the call comes to,
		sent     int    // with so many requests
		outcome  retry.Outcome
		resumed  string // and what a worker makes of it
		inPlaces int    // calls of Put
	}{
		"nothing fails":                         {first: kept, sent: 1, inPlaces: 1},
		"the store is down before":              {safe: &safe{probes: 1}, first: open, outcome: retry.NotSent, resumed: kept, inPlaces: 1},
		"the store fails once":                  {safe: &safe{putting: 1}, first: kept, sent: 1, inPlaces: 2},
		"the store fails until the repeat":      {safe: &safe{putting: 3}, replay: botixtest.SecretWhole, first: kept, sent: 2, inPlaces: 4},
		"the store fails, the repeat is bare":   {safe: &safe{putting: 3}, first: lost, sent: 2, outcome: retry.Unknown, inPlaces: 3},
		"the store fails all the time":          {safe: &safe{putting: 9}, replay: botixtest.SecretWhole, first: open, sent: 3, outcome: retry.Unknown, resumed: kept, inPlaces: 10},
		"the answer is lost, the repeat whole":  {fault: botixtest.CutAfter(), replay: botixtest.SecretWhole, first: kept, sent: 2, inPlaces: 1},
		"the answer is lost, the repeat bare":   {fault: botixtest.CutAfter(), first: lost, sent: 2, outcome: retry.Unknown},
		"the answer is lost, the repeat null":   {fault: botixtest.CutAfter(), replay: botixtest.SecretNull, first: lost, sent: 2, outcome: retry.Unknown},
		"the answer is lost, the repeat masked": {fault: botixtest.CutAfter(), replay: botixtest.SecretMasked, first: lost, sent: 2, outcome: retry.Unknown},
		"a gateway's error, the repeat whole":   {fault: botixtest.HTML(502).AfterWork(), replay: botixtest.SecretWhole, first: kept, sent: 2, inPlaces: 1},
		"the request is lost":                   {fault: botixtest.CutBefore(), first: kept, sent: 2, inPlaces: 1},
		"throttled":                             {fault: botixtest.RateLimited("1"), first: kept, sent: 2, inPlaces: 1},
		"the store cannot be asked":             {safe: &safe{asking: 2}, fault: botixtest.CutAfter(), first: open, sent: 3, outcome: retry.Unknown, resumed: lost},
		"careful, the answer is lost":           {fault: botixtest.CutAfter(), careful: true, first: lost, sent: 1, outcome: retry.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			file := ledgerFile(t)
			vault := tt.safe
			if vault == nil {
				vault = &safe{}
			}
			inBubble(t, botixtest.Config{Partner: botixtest.PartnerConfig{ReplaySecret: tt.replay}}, nil, func(s *sandbox) {
				group := s.group("Кофейня")
				if tt.fault.String() != "" {
					s.srv.Script(botixtest.On("keysCreate").Nth(1).Do(tt.fault))
				}
				connect := func(led *ledger.Ledger) *partner.Client {
					opts := append(exactly(tries(3)), partner.WithLedger(led), botix.WithSecretStore(vault))
					if tt.careful {
						opts = append(opts, botix.WithCareful())
					}
					return s.connect(s.srv.PartnerKey(), opts...)
				}
				var op *ledger.Operation
				stands := func(want string) {
					s.Helper()
					keys := s.behind.Keys(string(group))
					switch want {
					case kept:
						if op.Status != ledger.StatusSucceeded || len(keys) != 1 || !vault.has(s.behind.Secret(keys[0].ID)) || vault.kept[op.ID] == "" {
							s.Errorf("it stands at %s with the keys %+v, and the store has %d secrets", op.Status, keys, len(vault.kept))
						}
					case lost:
						if op.Status != ledger.StatusReconciling || op.Next != ledger.NextPerson || op.ErrorCode != ledger.CodeSecretLost ||
							len(keys) != 1 || op.TargetID != keys[0].ID || op.TargetKind != "key" {
							s.Errorf("it stands at %s, next %q, error %s, with the key %q of %+v", op.Status, op.Next, op.ErrorCode, op.TargetID, keys)
						}
					case open:
						if op.Status.Final() || op.Next == ledger.NextPerson || len(keys) > 1 {
							s.Errorf("it stands at %s, next %q, with the keys %+v", op.Status, op.Next, keys)
						}
					}
				}
				s.ledger(file, func(led *ledger.Ledger) {
					vault.onPut = func(ref string) {
						if at := s.operation(led, ref); at.Status == ledger.StatusSucceeded || at.Attempts == 0 {
							s.Errorf("when the secret is put, the operation is %s after %d attempts", at.Status, at.Attempts)
						}
					}
					c := connect(led)
					var info botix.Info
					req := partner.CreateKey{Function: "bot", ExternalID: "cust_42/bot"}
					created, err := c.Keys.Create(s.Context(), group, req, botix.WithIntent(intent("cust_42")), botix.WithInfo(&info))
					if retry.OutcomeOf(err) != tt.outcome && (err != nil || tt.first != kept) {
						s.Errorf("Create = %v, outcome %v; want %v", err, retry.OutcomeOf(err), tt.outcome)
					}
					if errors.Is(err, partner.ErrSecretLost) != (tt.first == lost) {
						s.Errorf("Create = %v; want it lost: %t", err, tt.first == lost)
					}
					if tt.first == kept && (created == nil || !created.Secret.IsZero() && created.Secret.Reveal() != s.behind.Secret(string(created.Key.ID))) {
						s.Errorf("Create = %+v", created)
					}
					s.sent("keysCreate", tt.sent)
					if tt.sent == 0 { // it was not begun: somebody has to want it
						if _, err := c.Enqueue(s.Context(), partner.NewKey{GroupID: group, CreateKey: req}, intent("cust_42")); err != nil {
							s.Fatal(err)
						}
						page, err := led.List(s.Context(), ledger.Filter{Customer: "cust_42"})
						if err != nil || len(page.Operations) != 1 {
							s.Fatalf("%+v, %v", page, err)
						}
						info.OperationID = page.Operations[0].ID
					}
					op = s.operation(led, info.OperationID)
					stands(tt.first)
				})
				if tt.resumed == "" {
					tt.resumed = tt.first
				}
				s.ledger(file, func(led *ledger.Ledger) {
					vault.onPut = nil
					c := connect(led)
					if op.Driver == ledger.DriverCaller && !op.Status.Final() && op.Next != ledger.NextPerson {
						if _, err := c.Resume(s.Context(), op.ID); (err == nil) != (tt.resumed == kept) {
							s.Errorf("Resume = %v", err)
						}
					}
					s.worked(led, 5*time.Minute)
					op = s.operation(led, op.ID)
					stands(tt.resumed)
				})
				s.effects("keysCreate", 1)
				if vault.puts != tt.inPlaces {
					s.Errorf("a secret was put %d times, want %d", vault.puts, tt.inPlaces)
				}
				for _, k := range s.behind.Keys(string(group)) {
					leaked(t, filepath.Dir(file), s.behind.Secret(k.ID))
				}
			})
		})
	}
}

// leaked fails when a secret is in a file.
func leaked(t *testing.T, dir, secret string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		bytesOf, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(bytesOf, []byte(secret)) {
			t.Errorf("%s holds the secret", f.Name())
		}
	}
}

// A process that ends between Put and the record of the success leaves the secret in
// the store. Whoever goes on finds it there, under the same name, also when the key
// of the request is forgotten and only the list shows what was made.
func TestASecretThatWasKeptBeforeTheEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		wait time.Duration
		sent int
	}{"within the key's window": {time.Hour, 2}, "after it": {8 * 24 * time.Hour, 1}} {
		t.Run(name, func(t *testing.T) {
			file := ledgerFile(t)
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				group := s.group("Кофейня")
				vault := &safe{kept: map[string]string{}}
				var id string
				s.ledger(file, func(led *ledger.Ledger) {
					c := s.connect(s.srv.PartnerKey(), append(exactly(tries(1)), partner.WithLedger(led), botix.WithSecretStore(vault))...)
					s.srv.Script(botixtest.On("keysCreate").Nth(1).Do(botixtest.CutAfter()))
					var info botix.Info
					_, err := c.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, botix.WithIntent(intent("cust_42")), botix.WithInfo(&info))
					if retry.OutcomeOf(err) != retry.Unknown {
						s.Fatalf("Create = %v", err)
					}
					id = info.OperationID
				})
				vault.kept[id] = s.behind.Secret(s.behind.Keys(string(group))[0].ID) // as it would have been put
				time.Sleep(tt.wait)
				s.ledger(file, func(led *ledger.Ledger) {
					c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led), botix.WithSecretStore(vault))...)
					created, err := c.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, botix.WithIntent(intent("cust_42")))
					switch late := errors.Is(err, botix.ErrWindowClosed); {
					case late && tt.sent == 1: // it is looked up from then on
						s.worked(led, 5*time.Minute)
					case err != nil || created.Key.ID == "" || !created.Secret.IsZero():
						s.Errorf("Create = %+v, %v; want the key without its secret", created, err)
					}
					if op := s.operation(led, id); op.Status != ledger.StatusSucceeded || op.TargetID == "" {
						s.Errorf("it stands at %s, with %q", op.Status, op.TargetID)
					}
				})
				s.sent("keysCreate", tt.sent)
				s.effects("keysCreate", 1)
			})
		})
	}
}

// The end of the caller's context does not lose a secret, and without a ledger the
// store is asked by the key.
// Why a secret is lost is what the store said: the error tells it, and so does each
// warning before. A store that says the secret itself is not repeated.
func TestWhyASecretIsLost(t *testing.T) {
	for name, says := range map[string]func(string) error{
		"the disk is full":   func(string) error { return errSafe },
		"it says the secret": func(secret string) error { return errors.New("cannot write " + secret) },
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
			file := ledgerFile(t)
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				s.ledger(file, func(led *ledger.Ledger) {
					store := &stubborn{safe: &safe{}, says: says}
					c, group := s.reseller(led, store.safe, botix.WithSecretStore(store), botix.WithLogger(logger)), s.group("Кофейня")
					_, err := c.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, botix.WithIntent(intent("cust_42")))
					if !errors.Is(err, partner.ErrSecretLost) || strings.Count(err.Error(), partner.ErrSecretLost.Error()) != 1 {
						s.Fatalf("Create = %v", err)
					}
					leaks := errors.Is(says("x"), errSafe) != errors.Is(err, errSafe)
					if all := err.Error() + log.String(); leaks || store.secret == "" || strings.Contains(all, store.secret) || strings.Count(all, "did not take it") < 2 {
						s.Errorf("Create = %v, and the log is\n%s", err, &log)
					}
				})
			})
		})
	}
}

// stubborn is a store that takes nothing.
type stubborn struct {
	*safe
	says   func(secret string) error
	secret string
}

func (s *stubborn) Put(_ context.Context, _ string, secret botix.Secret) error {
	s.secret = secret.Reveal()
	return s.says(s.secret)
}

func TestSecretsWithoutALedger(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		group := s.group("Кофейня")
		vault := &safe{}
		c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithoutLedger(), botix.WithSecretStore(vault))...)
		ctx, cancel := context.WithCancel(s.Context())
		vault.onPut = func(string) { cancel() }
		const key = "create-key-for-customer:cust_42:grp_1:bot:v1"
		if _, err := c.Keys.Create(ctx, group, partner.CreateKey{Function: "bot"}, botix.WithIdempotencyKey(key)); err != nil {
			s.Errorf("Create = %v", err)
		}
		again, err := c.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, botix.WithIdempotencyKey(key))
		if err != nil || !again.Secret.IsZero() || vault.kept[key] == "" {
			s.Errorf("again = %+v, %v, the store has %d", again, err, len(vault.kept))
		}
		_, err = partner.New(s.srv.PartnerKey(), partner.WithoutLedger(), botix.WithSecretStore(nil))
		if err == nil {
			s.Error("a store that is nil is taken")
		}
	})
}
