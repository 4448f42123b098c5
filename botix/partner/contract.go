package partner

import (
	"maps"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/money"
)

// Contract is what the server calls things, and what it promises: all that this
// package takes for granted and cannot know, in one table. A server that differs
// is served by a changed copy, without a change of this package:
//
//	contract := partner.DefaultContract()
//	contract.Routes["keysGet"] = "GET /reseller/v2/groups/{group}/keys/{key}"
//	contract.Fields["group.external_id"] = "external_entity_id"
//	contract.Headers.IdempotencyKey = "X-Idempotency-Key"
//	client, err := partner.New(key, partner.WithContract(contract), …)
//
// [New] checks it, and takes a copy.
type Contract struct {
	// Routes has the method and path of every operation. {group}, {key} and
	// {project} stand for the ids that a call names; a path may use each that the
	// call has. What a path does not name is checked by the client.
	Routes map[string]string

	// Fields has the name of every member of the objects that go over the wire, by
	// object and the name it has here: "group.external_id". Of the objects,
	// "envelope", "error" and "meta" surround an answer, and "query" has the
	// parameters of lists.
	Fields map[string]string

	Headers Headers

	// Codes are the server's error codes that are called otherwise here, such as
	// "NO_FUNDS": [CodeInsufficientBalance].
	Codes map[string]botix.Code

	// Retention is how long the server answers a repeated Idempotency-Key from
	// memory.
	Retention time.Duration

	// StoresEveryAnswer: the server stores every final answer under its key, errors
	// too. With a ledger that is not relied on: a server error is looked into. Without
	// one it is answered by a repeat under the key; where this is false, it ends the
	// call with the outcome unknown.
	StoresEveryAnswer bool

	// Scopes has the scope that an operation needs, by its name in Routes. They are
	// looked for among [Balance.Scopes] before a machine's first step, where the
	// server tells those; an operation without one is not looked for.
	Scopes map[string]string

	// ProjectKeyPrefix begins the keys of the public API, which the Partner API
	// refuses. [New] refuses them too. "": it cannot be told by the key.
	ProjectKeyPrefix string

	// Currency is that of the account, which requests do not name: it is kept with
	// their amounts, and nothing is converted. Of [DefaultContract] it is RUB: an account
	// in another has to say so here. An [Auditor] fails where the server tells another
	// than the ledger has. "": it is not known.
	Currency string

	// MinimumTopUp refuses smaller top-ups before they are sent. Unset: only the
	// server judges.
	MinimumTopUp money.Amount
}

// Headers are the names of headers.
type Headers struct {
	IdempotencyKey string // of every POST, PATCH and DELETE
	Credential     string // that the API key goes out in
	Scheme         string // before the API key; "": nothing

	// Of answers.
	RequestID     string
	Replayed      string // says that the answer is a stored one
	RetryAfter    string
	RateLimit     string // requests in a window
	RateRemaining string // of them still free
	RateReset     string // when the next window starts
}

// DefaultContract returns the contract of the Partner API as far as it is known:
// money as strings, keys on every change, seven days of retention. Its paths and
// names are this package's own choice, since the platform shows them to partners
// only.
func DefaultContract() Contract {
	return Contract{
		Routes:            maps.Clone(defaultRoutes),
		Fields:            maps.Clone(defaultFields),
		Headers:           defaultHeaders,
		Codes:             map[string]botix.Code{},
		Scopes:            maps.Clone(defaultScopes),
		Retention:         7 * 24 * time.Hour,
		StoresEveryAnswer: true,
		Currency:          "RUB",
		ProjectKeyPrefix:  "btx_live_",
	}
}

var defaultRoutes = map[string]string{
	"balanceGet":      "GET /partner/v1/balance",
	"auditEventsList": "GET /partner/v1/audit-events",

	"groupsList":       "GET /partner/v1/groups",
	"groupsCreate":     "POST /partner/v1/groups",
	"groupsGet":        "GET /partner/v1/groups/{group}",
	"groupsUpdate":     "PATCH /partner/v1/groups/{group}",
	"groupsDelete":     "DELETE /partner/v1/groups/{group}",
	"spendLimitUpdate": "PATCH /partner/v1/groups/{group}/spend-limit",

	"topUpsCreate":     "POST /partner/v1/groups/{group}/top-ups",
	"transactionsList": "GET /partner/v1/transactions",
	"requestsList":     "GET /partner/v1/requests",

	"keysList":   "GET /partner/v1/groups/{group}/keys",
	"keysCreate": "POST /partner/v1/groups/{group}/keys",
	"keysGet":    "GET /partner/v1/keys/{key}",
	"keysUpdate": "PATCH /partner/v1/keys/{key}",
	"keysDelete": "DELETE /partner/v1/keys/{key}",

	"projectsList":    "GET /partner/v1/projects",
	"projectsCreate":  "POST /partner/v1/projects",
	"projectKeysList": "GET /partner/v1/projects/{project}/keys",
	"projectUsageGet": "GET /partner/v1/projects/{project}/usage",
}

var defaultScopes = map[string]string{
	"balanceGet": "balance:read",
	"groupsList": "groups:read", "groupsGet": "groups:read",
	"groupsCreate": "groups:write", "groupsUpdate": "groups:write", "groupsDelete": "groups:write",
	"spendLimitUpdate": "limits:write", "topUpsCreate": "top-ups:write",
	"keysList": "keys:read", "keysGet": "keys:read",
	"keysCreate": "keys:write", "keysUpdate": "keys:write", "keysDelete": "keys:write",
}

var defaultHeaders = Headers{
	IdempotencyKey: "Idempotency-Key", Credential: "Authorization", Scheme: "Bearer",
	RequestID: "X-Request-Id", Replayed: "Idempotent-Replayed", RetryAfter: "Retry-After",
	RateLimit: "X-Ratelimit-Limit", RateRemaining: "X-Ratelimit-Remaining", RateReset: "X-Ratelimit-Reset",
}

var defaultFields = fieldsOf(map[string][]string{
	"envelope": {"success", "data", "meta", "error"},
	"error":    {"code", "message", "details"},
	"meta":     {"next_cursor", "has_more"},
	"query": {"cursor", "limit", "group_id", "project_id", "key_id", "external_id", "status", "function", "type", "reference",
		"action", "target_type", "target_id", "request_id", "since", "until", "from", "to"},

	"balance": {"balance", "currency", "minimum_top_up", "scopes", "updated_at"},
	"group": {"id", "name", "external_id", "project_id", "status", "balance", "spent", "spend_limit", "policy_version",
		"created_at", "updated_at"},
	"spend_limit": {"group_id", "spend_limit", "spent", "policy_version", "updated_at"},
	"key": {"id", "group_id", "project_id", "name", "function", "external_id", "prefix", "status",
		"created_at", "last_used_at", "revoked_at"},
	"created_key": {"key", "secret"},
	"transaction": {"id", "type", "group_id", "amount", "currency", "balance_after", "reference", "request_id", "created_at"},
	"audit_event": {"id", "request_id", "action", "target_type", "target_id", "group_id", "key_prefix", "source_ip", "status",
		"metadata", "created_at"},
	"usage_request": {"id", "request_id", "group_id", "key_id", "project_id", "method", "path", "status", "cost", "created_at"},
	"project":       {"id", "name", "external_id", "status", "created_at"},
	"usage":         {"project_id", "from", "to", "requests", "messages", "active_contacts", "cost"},
})

// fieldsOf gives every field the name that it has here.
func fieldsOf(objects map[string][]string) map[string]string {
	fields := map[string]string{}
	for object, names := range objects {
		for _, name := range names {
			fields[object+"."+name] = name
		}
	}
	return fields
}
