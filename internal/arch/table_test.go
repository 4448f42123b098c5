package arch

const module = "github.com/botix-pro/sdk-go"

// The modules of others that our packages build on. docs/dependencies.md says
// why each is here.
const (
	backoff = "github.com/cenkalti/backoff/v4"
	decimal = "github.com/shopspring/decimal"
	uuid    = "github.com/google/uuid"
	sqlite  = "modernc.org/sqlite"
	libc    = "modernc.org/libc" // at the version that sqlite names, always
)

// rows is the import table. It is read from the bottom of the module to its
// top, and a row may name only packages of the rows above it: nothing imports
// upward. What is not listed is not allowed; the standard library always is.
// Tests may import more than the package they test.
//
// A new package fails the test until it has a row here, which is the moment to
// decide where it belongs. A row whose package is gone fails it too.
var rows = []row{
	{pkg: "internal/arch"},
	{pkg: "internal/memnet"},
	{pkg: "money", outside: []string{decimal}},
	{pkg: "internal/versus"}, // for benchmarks: no package that is not a test imports it

	// Signatures of what others send. Useful without anything else here.
	{pkg: "webhookverify"},

	// When to try again, and what an attempt proved. Useful without the client.
	{pkg: "retry", outside: []string{backoff}},

	// Operations: their meaning, and the seam to the database that keeps them.
	// What an attempt proved has one vocabulary, retry's.
	{pkg: "internal/canonical"},
	{pkg: "internal/idemkey"},
	{pkg: "ledger/internal/store"},
	{pkg: "ledger/internal/durable"},
	{pkg: "ledger/internal/storetest", ours: []string{"ledger/internal/store"}},
	{pkg: "ledger/internal/faultvfs", outside: []string{sqlite, libc}}, // for tests: no package that is not a test imports it
	{pkg: "ledger/internal/crash"},                                     // tests only, of everything from the client to the file
	{pkg: "ledger", ours: []string{"retry", "internal/canonical", "internal/idemkey", "ledger/internal/store", "ledger/internal/durable"}},
	{pkg: "ledger/sqlite", ours: []string{"ledger", "ledger/internal/store", "ledger/internal/durable"}, outside: []string{sqlite}},

	// One exchange; then an operation as attempts, where the invariants meet.
	{pkg: "internal/rest", ours: []string{"retry"}},
	{pkg: "internal/call", ours: []string{"retry", "ledger", "internal/rest"}},

	{pkg: "internal/answer", ours: []string{"internal/call"}},
	{pkg: "internal/friend", ours: []string{"retry", "ledger", "internal/rest", "internal/call"}},
	{pkg: "botix", ours: []string{"retry", "ledger", "internal/idemkey", "internal/rest", "internal/call", "internal/answer", "internal/friend"}, outside: []string{uuid}},
	{pkg: "botix/partner", ours: []string{"retry", "ledger", "money", "internal/idemkey", "internal/rest", "internal/call",
		"internal/answer", "internal/friend", "botix"}},
	{pkg: "botix/botixtest", ours: []string{"internal/memnet"}},

	// Whole programs. An example is written as a user would write it, so none
	// may reach into the SDK's internal/.
	{pkg: "examples/internal/process", ours: []string{"botix/botixtest"}},
	{pkg: "examples/...", ours: []string{"webhookverify", "retry", "ledger", "ledger/sqlite", "money", "botix", "botix/partner", "botix/botixtest",
		"examples/internal/process"}},
	{pkg: "cmd/...", ours: []string{"webhookverify", "retry", "ledger", "ledger/sqlite", "money", "botix", "botix/partner", "botix/botixtest"}},
}

// promises say what somebody who imports one package compiles with it, however
// deep the imports go. The rows could keep to each of these and, after an edit
// far below, no longer add up to them; these lines are to be edited last.
var promises = []promise{
	{
		pkg:   "internal/memnet",
		never: []string{"..."},
		why:   "botixtest is built on it",
	},
	{
		pkg:     "money",
		outside: []string{decimal},
		never:   []string{"..."},
		why:     "an amount is the same for every program, ours or not",
	},
	{
		pkg:   "botix/botixtest",
		never: []string{"botix", "botix/partner", "retry", "money", "internal/idemkey", "internal/rest", "internal/call", "internal/answer", "internal/friend", "ledger/..."},
		why:   "a sandbox that shared code with the client would share its mistakes and could not contradict it",
	},
	{
		pkg:     "retry",
		outside: []string{backoff},
		never:   []string{"..."},
		why:     "it serves any HTTP client, not only ours",
	},
	{
		pkg:     "botix",
		outside: []string{backoff, uuid},
		never:   []string{"botix/botixtest", "botix/partner", "ledger/sqlite", "ledger/postgres"},
		why:     "who only calls the API compiles no sandbox and no database driver, and partner credentials stay out of reach",
	},
	{
		pkg:     "botix/partner",
		outside: []string{backoff, uuid, decimal},
		never:   []string{"botix/botixtest", "ledger/sqlite", "ledger/postgres"},
		why:     "who only calls the API compiles no sandbox and no database driver",
	},
	{
		pkg:   "webhookverify",
		never: []string{"..."},
		why:   "a receiver of webhooks compiles the standard library and nothing else",
	},
	{
		pkg:     "ledger",
		outside: []string{backoff},
		never:   []string{"botix/...", "internal/rest", "internal/call", "ledger/sqlite", "ledger/postgres"},
		why:     "the meaning of operations knows no driver and no client",
	},
}

// announced are packages that a promise already names though they are not
// written. When one arrives, the test asks to take it off this list and to give
// it a row.
var announced = []string{
	"ledger/postgres",
}
