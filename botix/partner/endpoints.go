package partner

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/friend"
	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/ledger"
)

// operation is what is known of an operation whatever its route.
type operation struct {
	name   string
	method string   // in the default contract
	ids    []string // that a call names; the path has to name the last

	takes string // the object of the request's body; "": no body
	moves string // its member that says how much money is moved,
	sets  string // or to how much a bound is set: 10 and 10.00 are one
	gives string // the object, or those of the list, in the answer; "": none

	lane, group string      // see [call.Endpoint]
	audit       AuditAction // of the events that it leaves in the audit log
	source      string

	// revive describes a recorded call for whoever carries it on, and makes its
	// request again; nil for reads.
	revive func(*input) friend.Call
	// find finds the operation's effect among what the server has; nil for reads.
	// known says by what it is known.
	find  func(context.Context, *lookout) error
	known string
}

const (
	arrangement = "the platform's article on reseller APIs: partner operations, sub-projects, usage and audit log"
	ledgerGuide = "the platform's guide to the Partner API: groups, keys, limits, credits, requests and transactions"
)

// operations is the table of the Partner API. The retry rule, span names, the
// coverage test and the documents read it.
//
// Every change honours its key, which the API requires on POST, PATCH and DELETE.
// A lane is a target whose state is set, a group what an unknown outcome blocks;
// revoking a key is never blocked. Names in braces are ids of the call, fields of
// its body, or {customer}, that of the intent.
var operations = []operation{
	{name: "balanceGet", method: http.MethodGet, gives: "balance", source: ledgerGuide},
	{name: "auditEventsList", method: http.MethodGet, gives: "audit_event", source: ledgerGuide},

	{name: "groupsList", method: http.MethodGet, gives: "group", source: ledgerGuide},
	{name: "groupsCreate", method: http.MethodPost, takes: "group", gives: "group", group: "group:{customer}", audit: AuditGroupCreate, source: ledgerGuide, revive: revived[Group, CreateGroup],
		find: findGroup, known: "groups: the external id, name and project, and not older than the request"},
	{name: "groupsGet", method: http.MethodGet, ids: []string{"group"}, gives: "group", source: ledgerGuide},
	{name: "groupsUpdate", method: http.MethodPatch, ids: []string{"group"}, takes: "group", gives: "group", lane: "group:{group}", audit: AuditGroupUpdate, source: ledgerGuide, revive: revived[Group, GroupUpdate],
		find: findGroupUpdate, known: "the group: it is as was asked for; if not, the audit log since"},
	{name: "groupsDelete", method: http.MethodDelete, ids: []string{"group"}, lane: "group:{group}", group: "group:{customer}", audit: AuditGroupDelete, source: ledgerGuide, revive: revived[botix.RawJSON, struct{}],
		find: findGroupDeletion, known: "the group: it is gone"},
	{name: "spendLimitUpdate", method: http.MethodPatch, ids: []string{"group"}, takes: "spend_limit", sets: "spend_limit", gives: "spend_limit",
		lane: "limit:{group}", group: "limit:{group}", audit: AuditSpendLimitUpdate, source: ledgerGuide, revive: revived[SpendLimit, SpendLimitUpdate],
		find: findLimit, known: "the group: its limit; if not, the audit log since"},

	{name: "topUpsCreate", method: http.MethodPost, ids: []string{"group"}, takes: "transaction", moves: "amount", gives: "transaction",
		group: "wallet:{group}", audit: AuditTopUpCreate, source: ledgerGuide, revive: revived[Transaction, CreateTopUp],
		find: findTopUp, known: "transactions of the group: the reference and amount, and not older than the request"},
	{name: "transactionsList", method: http.MethodGet, gives: "transaction", source: ledgerGuide},
	{name: "requestsList", method: http.MethodGet, gives: "usage_request", source: ledgerGuide},

	{name: "keysList", method: http.MethodGet, ids: []string{"group"}, gives: "key", source: ledgerGuide},
	{name: "keysCreate", method: http.MethodPost, ids: []string{"group"}, takes: "key", gives: "created_key", group: "key:{group}:{function}", audit: AuditKeyCreate, source: ledgerGuide, revive: revived[CreatedKey, CreateKey],
		find: findKey, known: "keys of the group: the function, name and external id, and not older than the request; without an external id not younger either"},
	{name: "keysGet", method: http.MethodGet, ids: []string{"group", "key"}, gives: "key", source: ledgerGuide},
	{name: "keysUpdate", method: http.MethodPatch, ids: []string{"group", "key"}, takes: "key", gives: "key", lane: "key:{key}", audit: AuditKeyUpdate, source: ledgerGuide, revive: revived[Key, KeyUpdate],
		find: findKeyUpdate, known: "the key: it is as was asked for; if not, the audit log since"},
	{name: "keysDelete", method: http.MethodDelete, ids: []string{"group", "key"}, lane: "key:{key}", audit: AuditKeyDelete, source: ledgerGuide, revive: revived[botix.RawJSON, struct{}],
		find: findRevocation, known: "the key: it is revoked or gone"},

	{name: "projectsList", method: http.MethodGet, gives: "project", source: arrangement},
	{name: "projectsCreate", method: http.MethodPost, takes: "project", gives: "project", group: "project:{customer}", audit: AuditProjectCreate, source: arrangement, revive: revived[Project, CreateProject],
		find: findProject, known: "projects: the external id and name, and not older than the request"},
	{name: "projectKeysList", method: http.MethodGet, ids: []string{"project"}, gives: "key", source: arrangement},
	{name: "projectUsageGet", method: http.MethodGet, ids: []string{"project"}, gives: "usage", source: arrangement},
}

// endpoint is an operation as a contract has it.
type endpoint struct {
	call.Endpoint
	args         []string // the ids in the order of the path
	takes, gives string
	revive       func(*input) friend.Call
	find         func(context.Context, *lookout) error
	audit        AuditAction
	creates      bool // what the answer is about came into being by the call
}

// names reports whether the path names an id.
func (e *endpoint) names(id string) bool { return slices.Contains(e.args, id) }

// rows are all operations as the contract has them.
func (c *Contract) rows(names *spelling) map[string]*endpoint {
	rows := make(map[string]*endpoint, len(operations))
	for i := range operations {
		rows[operations[i].name] = c.row(&operations[i], names)
	}
	return rows
}

func (c *Contract) row(op *operation, names *spelling) *endpoint {
	method, path, _ := strings.Cut(c.Routes[op.name], " ")
	e := &endpoint{args: placeholders(path), takes: op.takes, gives: op.gives, revive: op.revive, find: op.find, audit: op.audit, creates: op.method == http.MethodPost}
	e.Endpoint = call.Endpoint{
		Name: op.name, Method: method, Path: path, Source: op.source,
		EmptyOK: op.gives == "", Secret: op.gives == "created_key",
		Lane: op.spelled(op.lane, names), Group: op.spelled(op.group, names),
	}
	if op.method == http.MethodGet {
		return e
	}
	e.Class, e.Retention = call.HonoursKeys, c.Retention
	if c.StoresEveryAnswer {
		e.Proof = call.ProofKey
	}
	e.Money = call.Money{Field: op.moves, Kind: ledger.AmountMoved, Currency: c.Currency}
	if op.sets != "" {
		e.Money.Field, e.Money.Kind = op.sets, ledger.AmountSet
	}
	if e.Money.Field != "" {
		e.Money.Field = names.name(op.takes, e.Money.Field)
		e.Significance.Decimals = []string{e.Money.Field}
	}
	return e
}

// spelled is a template of the table with fields of the body as the contract has
// them.
func (op *operation) spelled(template string, names *spelling) string {
	for _, name := range placeholders(template) {
		if theirs := names.name(op.takes, name); theirs != "" && !slices.Contains(op.ids, name) {
			template = strings.ReplaceAll(template, "{"+name+"}", "{"+theirs+"}")
		}
	}
	return template
}

// path fills the ids of a call into the route.
func (e *endpoint) path(ids map[string]string) (rest.Path, error) {
	args := make([]string, len(e.args))
	for i, name := range e.args {
		args[i] = ids[name]
	}
	return rest.BuildPath(e.Path, args...)
}
