package botixtest

import (
	"context"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/botix-pro/sdk-go/internal/memnet"
)

// Config says how the sandbox behaves. The zero value works: a business plan, the real clock, no faults, and for
// everything the contract leaves open the behaviour that promises least.
type Config struct {
	Addr  string // where Start listens, default "127.0.0.1:0": loopback, a free port
	Clock *Clock // default follows time.Now
	Seed  uint64 // of everything random: keys, ids, the probabilities of a script. 0 is a seed like any other

	Plan       Plan           // of keys that name none, default [PlanBusiness]
	PerMinute  int            // requests a window for each key, default the plan's; [Unlimited] for none
	PerDay     int            // requests a UTC day for each key, likewise
	Window     time.Duration  // length of the fixed rate window, default one minute
	RetryAfter RetryAfterForm // default seconds

	InFlight          InFlight      // same Idempotency-Key while the first is worked on, default [ExecuteBoth]
	Reuse             Reuse         // same Idempotency-Key with another body, default [ReplayFirst]
	StoreServerErrors bool          // keep a 5xx that follows the work under its key; by default only 2xx is kept
	Retention         time.Duration // how long a stored answer lives, default 24 h

	Paging  Paging        // awkward pages, default none
	Latency time.Duration // of every request: half before it counts as arrived, half before the answer leaves
	Lag     time.Duration // how long a new object stays out of lists, on Clock

	Partner PartnerConfig // of the partner half; the fields above hold for it too, but for those about Idempotency-Key

	Deprecation *Deprecation // of the public half, default: this version is current
	Notice      *Notice      // default none

	// WebhookTransport carries webhook deliveries. Default: a plain transport over TCP for Start; none for
	// StartInMemory, where deliveries fail. [ToHandler] makes one for a receiver in the same process.
	WebhookTransport http.RoundTripper
	// FreshWebhookIDs gives every try of a delivery its own X-Botix-Request-Id. By default they share one: the
	// contract does not say.
	FreshWebhookIDs bool

	// OnCall, if set, gets every request once its answer is decided, from the goroutine that serves it.
	OnCall func(Call)
}

// Server is a running sandbox. Its methods are safe for concurrent use. Close it.
type Server struct {
	clock     *Clock
	hooks     http.RoundTripper // carries webhook deliveries
	onCall    func(Call)
	script    script
	spelling  *spelling // of the partner half
	gate      gate
	dial      func(ctx context.Context, network, addr string) (net.Conn, error)
	http      *http.Server
	defaultID string // value of the default key
	partnerID string // value of the default partner key

	life    context.Context // ends when the server closes
	stop    context.CancelFunc
	closing <-chan struct{} // life.Done()
	running sync.WaitGroup  // the accept loop, handlers, webhook deliveries

	mu        sync.Mutex // guards all below; never held while waiting or writing
	config    Config
	closed    bool
	tariff    tariff // the money of config.Partner
	random    *rand.Rand
	keys      map[string]*apiKey
	lastKeyID int64
	banned    map[string]bool
	projects  map[int64]*project
	accounts  map[int64]*account
	records   map[keyID]*keyRecord
	journal   journal

	partnerRandom *rand.Rand

	deliveries []*outbound // in order of events
}

// Start serves the sandbox on loopback TCP.
func Start(cfg Config) (*Server, error) {
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	if cfg.WebhookTransport == nil {
		cfg.WebhookTransport = &http.Transport{DisableKeepAlives: true}
	}
	s, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	gate, err := listenTCP(cfg.Addr, s.connecting)
	if err != nil {
		return nil, err
	}
	s.dial = new(net.Dialer).DialContext
	s.serve(gate)
	return s, nil
}

// StartInMemory serves the sandbox on a network that exists only in memory, so that it can live in a testing/synctest
// bubble. Start and Close it inside that bubble, and reach it through [Server.Transport].
func StartInMemory(cfg Config) (*Server, error) {
	s, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	listener := memnet.Listen(memoryPort)
	listener.Decide(s.connecting)
	s.dial = listener.Dial
	s.serve(&memoryGate{Listener: listener})
	return s, nil
}

// memoryPort only makes the URL look real. It is one where nobody listens, so that a client with the wrong transport is
// refused rather than served by a stranger.
const memoryPort = 1

func newServer(cfg Config) (*Server, error) {
	if cfg.Clock == nil {
		cfg.Clock = NewClock(nil)
	}
	if cfg.Plan == "" {
		cfg.Plan = PlanBusiness
	}
	cfg, tariff, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	spelling, err := cfg.Partner.Table.spell()
	if err != nil {
		return nil, err
	}
	s := &Server{
		config:   cfg,
		tariff:   tariff,
		clock:    cfg.Clock,
		spelling: spelling,
		hooks:    cfg.WebhookTransport,
		onCall:   cfg.OnCall,
		random:   rand.New(rand.NewPCG(cfg.Seed, 1)),
		keys:     make(map[string]*apiKey),
		banned:   make(map[string]bool),
		projects: make(map[int64]*project),
		accounts: make(map[int64]*account),
		records:  make(map[keyID]*keyRecord),

		partnerRandom: rand.New(rand.NewPCG(cfg.Seed, 3)), // its own, so that one half leaves the other the same
	}
	s.life, s.stop = context.WithCancel(context.Background())
	s.closing = s.life.Done()
	s.script.random = rand.New(rand.NewPCG(cfg.Seed, 2)) // its own, so that a script draws the same whatever else happens
	s.journal.attempts = make(map[keyID]int)
	s.defaultID = s.addKey(Key{}).Value
	s.partnerID = s.addKey(Key{Partner: defaultPartner}).Value
	return s, nil
}

// withDefaults fills in what a running server may find changed.
func (c Config) withDefaults() (Config, tariff, error) {
	if c.Window <= 0 {
		c.Window = time.Minute
	}
	if c.Retention <= 0 {
		c.Retention = 24 * time.Hour
	}
	partner, tariff, err := c.Partner.withDefaults()
	c.Partner = partner
	return c, tariff, err
}

func (s *Server) serve(g gate) {
	s.gate = g
	s.http = &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}
	s.running.Go(func() { _ = s.http.Serve(g) }) // ends with ErrServerClosed, from Close
}

// Close ends the server: connections are cut, waits end, webhook deliveries are given up. It returns when nothing of the
// sandbox runs any more. What was recorded can still be read.
func (s *Server) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	var err error
	if first {
		s.stop()
		err = s.http.Close()
		if errors.Is(err, net.ErrClosed) {
			err = nil // a server that refuses connections has its listener closed already
		}
	}
	s.running.Wait()
	if first {
		if t, ok := s.hooks.(*http.Transport); ok {
			t.CloseIdleConnections()
		}
	}
	return err
}

// enter counts a goroutine in, unless the server is closing. A true result obliges the caller to call s.running.Done.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.running.Add(1)
	}
	return !s.closed
}

// sleep waits for d, or until the server closes. Deliberately not until the client leaves: a real server goes on
// working after its client gave up, and that is what makes a time-out dangerous.
func (s *Server) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.closing:
	}
}

// URL returns the address of the server without a path, http://127.0.0.1:port. A server in memory has one too, which
// only its Transport can reach.
func (s *Server) URL() string { return "http://" + s.gate.Addr().String() }

// Transport returns a new HTTP/1.1 transport that reaches this server. A server in memory answers it whatever host a
// URL names; [Call.Host] tells which one was asked for. The caller may change it, and closes its idle connections.
func (s *Server) Transport() *http.Transport {
	return &http.Transport{
		DialContext:         s.dial,
		MaxIdleConnsPerHost: 1024,
		IdleConnTimeout:     90 * time.Second,
	}
}

// APIKey returns the value of the key that exists from the start: project 1, every scope, the plan of the Config.
// It is the same for the same seed.
func (s *Server) APIKey() string { return s.defaultID }

// PartnerKey returns the value of the partner key that exists from the start: account 1, every scope. It is the same for
// the same seed.
func (s *Server) PartnerKey() string { return s.partnerID }

// Clock returns the sandbox's clock.
func (s *Server) Clock() *Clock { return s.clock }

// Configure changes the configuration of the running server. Requests that arrive afterwards see the change; Addr,
// Clock, Seed, WebhookTransport, OnCall and the Table of Partner are fixed and ignored. It panics on a configuration
// that Start refuses.
func (s *Server) Configure(change func(*Config)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.config
	change(&next)
	next, tariff, err := next.withDefaults()
	if err != nil {
		panic("botixtest: " + err.Error())
	}
	s.config, s.tariff = next, tariff
}
