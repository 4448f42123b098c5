package botix

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/friend"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// Option changes a default of [New].
type Option func(*config)

type config struct {
	ledgers []*ledger.Ledger // one for each word on where operations are recorded; nil: nowhere
	keeping keeping
	vault   call.Vault // nil: none

	baseURL    string
	httpClient *http.Client
	http2      bool
	appInfo    string
	maxBytes   int64

	timeout        time.Duration
	attemptTimeout time.Duration
	serverTime     time.Duration
	careful        bool
	settle         time.Duration
	windowMargin   time.Duration
	wall           func() time.Time // for tests: the host's clock, which may jump

	policy retry.Policy
	budget *retry.Budget
	pace   retry.Pace

	misuse string // what an option was given that it cannot use
	friend friend.Client

	log         *slog.Logger
	hooks       Hooks
	noticeEvery time.Duration
	onNotice    func(Notice)
}

const (
	defaultAttemptTimeout = 10 * time.Second
	defaultMaxBytes       = 8 << 20
	defaultSettle         = time.Minute
	defaultWindowMargin   = 15 * time.Minute
	defaultNoticeEvery    = 24 * time.Hour
)

func defaults() config {
	return config{
		baseURL:        DefaultBaseURL,
		maxBytes:       defaultMaxBytes,
		attemptTimeout: defaultAttemptTimeout,
		settle:         defaultSettle,
		windowMargin:   defaultWindowMargin,
		policy:         retry.Default(),
		budget:         retry.NewBudget(retry.BudgetConfig{}),
		log:            slog.New(slog.DiscardHandler),
		noticeEvery:    defaultNoticeEvery,
	}
}

func (c *config) check() error {
	switch len(c.ledgers) {
	case 0:
		return errors.New("say where operations are recorded: WithLedger(led), or WithoutLedger(), " +
			"which records nothing, so that an operation interrupted by a crash is not known after a restart")
	case 1:
	default:
		return errors.New("where operations are recorded is said more than once (WithLedger, WithoutLedger)")
	}
	for _, d := range []struct {
		option string
		value  time.Duration
	}{
		{"WithTimeout", c.timeout},
		{"WithAttemptTimeout", c.attemptTimeout},
		{"WithServerTime", c.serverTime},
		{"WithSettle", c.settle},
		{"WithWindowMargin", c.windowMargin},
		{"WithNoticeInterval", c.noticeEvery},
	} {
		if d.value < 0 {
			return fmt.Errorf("%s: %v is negative", d.option, d.value)
		}
	}
	switch {
	case c.misuse != "":
		return errors.New(c.misuse)
	case c.careful && c.ledgers[0] == nil:
		return errors.New("WithCareful: needs a ledger, which tells one operation's effect from another's (WithLedger)")
	case c.windowMargin >= cmp.Or(c.friend.Retention, keyRetention):
		return fmt.Errorf("WithWindowMargin: %v leaves nothing of the %v for which keys are remembered",
			c.windowMargin, cmp.Or(c.friend.Retention, keyRetention))
	case c.friend.Misuse != nil:
		return c.friend.Misuse
	case c.friend.API == "" && c.friend.Own != nil:
		return errors.New("an option of another package's client was given: that client's New takes it")
	case c.http2 && c.httpClient != nil:
		return errors.New("WithHTTP2 changes the default transport, and WithHTTPClient brings another: set HTTP/2 there")
	case c.attemptTimeout == 0:
		return errors.New("WithAttemptTimeout: an attempt needs a time-out")
	case c.maxBytes <= 0:
		return fmt.Errorf("WithMaxResponseBytes: %d is not positive", c.maxBytes)
	case c.log == nil:
		return errors.New("WithLogger: the logger is nil")
	case !printable(c.appInfo) || strings.ContainsAny(c.appInfo, "()"):
		return fmt.Errorf("WithUserAgent: %q cannot stand in a header comment", c.appInfo)
	}
	return errors.Join(c.keeping.check(c.ledgers[0], rowsOf(&c.friend)), c.policy.Validate())
}

// WithLedger records every mutation in l before it is sent, so that nothing is
// done twice or forgotten after a crash, and [WithIntent] can name operations.
// Clients may share a ledger.
func WithLedger(l *ledger.Ledger) Option {
	return func(c *config) {
		if l == nil {
			c.misuse = "WithLedger: the ledger is nil"
		}
		c.ledgers = append(c.ledgers, l)
	}
}

// WithoutLedger runs the client without a record of its operations. Keys,
// retries and pacing work; what a crash interrupts is not known afterwards.
func WithoutLedger() Option { return func(c *config) { c.ledgers = append(c.ledgers, nil) } }

// WithBaseURL sends requests to another server, such as a sandbox. The URL is
// scheme and host only: https, or http to a loopback address.
// Default [DefaultBaseURL].
func WithBaseURL(url string) Option { return func(c *config) { c.baseURL = url } }

// WithHTTPClient uses the transport and the cookies of client for the exchanges,
// and bounds each attempt by its Timeout as well. Redirects are not followed. The
// transport must not send a request twice by itself.
//
// The default keeps up to 256 idle connections and speaks HTTP/1.1.
func WithHTTPClient(client *http.Client) Option { return func(c *config) { c.httpClient = client } }

// WithHTTP2 lets the default transport speak HTTP/2 where the server offers it.
// A connection that fell silent is found by pings within 20 s. Beside
// [WithHTTPClient] it is refused.
func WithHTTP2() Option { return func(c *config) { c.http2 = true } }

// WithTimeout bounds a whole call: waits for the rate limit, all attempts and
// the pauses between them. A wait that would end after it is not begun.
// Default 0: only the call's context bounds it.
func WithTimeout(d time.Duration) Option { return func(c *config) { c.timeout = d } }

// WithAttemptTimeout bounds one exchange, from asking for a connection to the
// last byte of the answer. Default 10 s.
func WithAttemptTimeout(d time.Duration) Option { return func(c *config) { c.attemptTimeout = d } }

// WithServerTime says how long the server may still work on a request whose
// answer never came, counted from when the attempt began. A mutation is not
// sent again before that, since the platform does not promise to serialise two
// requests under one key, nor two changes of one object: a late one would undo what
// came after it. Default: the time-out of an attempt.
func WithServerTime(d time.Duration) Option { return func(c *config) { c.serverTime = d } }

// WithCareful makes the client send nothing again on the word of a key: after
// whatever may have arrived, the server's state is looked up first. What is found
// is adopted; what is absent is looked up once more after a while ([WithSettle])
// and sent again only then; where it cannot be told, the operation is left to a
// look or to a person. So a send that got no answer takes a minute longer, and
// has one effect even with a server that forgets keys or runs two requests under
// one side by side. It needs a ledger.
//
// What only sets a state, such as an update, is repeated in any mode.
func WithCareful() Option { return func(c *config) { c.careful = true } }

// WithSettle says how long after an attempt its effect may still be missing from
// what the server lists. Careful calls go by it, and in package botix/partner every
// look, Client.Reconcile and the Auditor: sooner than that, what is not listed is not
// taken for undone. Default 1 min.
func WithSettle(d time.Duration) Option { return func(c *config) { c.settle = d } }

// WithWindowMargin keeps d free at the end of the 24 hours for which the platform
// remembers a key: an operation that may have had its effect is not sent again
// after that. What the clocks leave in doubt is taken off as well. Default 15 min.
func WithWindowMargin(d time.Duration) Option { return func(c *config) { c.windowMargin = d } }

// WithRetry sets when and how often a call is tried again.
// Default [retry.Default]; [retry.Platform] is what the platform's articles
// recommend.
func WithRetry(p retry.Policy) Option { return func(c *config) { c.policy = p } }

// WithRetryBudget bounds what all calls of the client together may spend on
// retries. Clients may share one. nil removes the bound.
// Default: a budget of its own, [retry.NewBudget] of the zero config.
func WithRetryBudget(b *retry.Budget) Option { return func(c *config) { c.budget = b } }

// WithPace sets how calls are spread over the rate limit. Default: evenly, with
// the last five requests of a window released one at a time.
func WithPace(p retry.Pace) Option { return func(c *config) { c.pace = p } }

// WithLogger makes the client log: Debug for each attempt, Warn for each retry
// and for notices of the platform. No credential, body, phone or e-mail is ever
// logged. Default: silent.
func WithLogger(log *slog.Logger) Option { return func(c *config) { c.log = log } }

// WithHooks calls h at the start and end of calls and attempts. Given more than
// once, the first are the outermost.
func WithHooks(h Hooks) Option { return func(c *config) { c.hooks = c.hooks.then(h) } }

// WithNoticeInterval is how long a deprecation or notice that was logged stays
// unlogged when it comes again. Default 24 h; 0 logs every one.
func WithNoticeInterval(d time.Duration) Option { return func(c *config) { c.noticeEvery = d } }

// WithNoticeFunc calls f for each deprecation or notice that is logged, on the
// goroutine of the call that met it, so on several at once.
func WithNoticeFunc(f func(Notice)) Option { return func(c *config) { c.onNotice = f } }

// WithMaxResponseBytes bounds the body of an answer. A larger one is an error,
// of unknown outcome for a mutation. Default 8 MiB.
func WithMaxResponseBytes(n int64) Option { return func(c *config) { c.maxBytes = n } }

// WithUserAgent names the program that uses the SDK, such as "shop/2.1", in the
// User-Agent, where the platform's support sees it.
func WithUserAgent(app string) Option { return func(c *config) { c.appInfo = app } }

const modulePath = "github.com/botix-pro/sdk-go"

func userAgent(app string) string {
	ua := "botix-go/" + version() + " (" + runtime.Version()
	if app != "" {
		ua += "; " + app
	}
	return ua + ")"
}

// version is the module's version as the program was built with it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == modulePath && m.Version != "" && m.Version != "(devel)" {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return "devel"
}
