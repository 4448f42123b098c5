package botixtest

// partnerOperations is the whole partner half, as [DefaultPartnerTable] spells it. Everything that writes needs an
// Idempotency-Key.
var partnerOperations = []operation{
	partnerRow("balanceGet", "GET balance", "balance:read", "query", "balance", (*Server).balanceGet),
	partnerRow("auditEventsList", "GET audit-events", "audit:read", "query", "audit_event", (*Server).auditEventsList),

	partnerRow("groupsList", "GET groups", "groups:read", "query", "group", (*Server).groupsList),
	partnerRow("groupsCreate", "POST groups", "groups:write", "group", "group", (*Server).groupsCreate),
	partnerRow("groupsGet", "GET groups/{group}", "groups:read", "query", "group", (*Server).groupsGet),
	partnerRow("groupsUpdate", "PATCH groups/{group}", "groups:write", "group", "group", (*Server).groupsUpdate),
	partnerRow("groupsDelete", "DELETE groups/{group}", "groups:write", "group", "", (*Server).groupsDelete),

	partnerRow("keysList", "GET groups/{group}/keys", "keys:read", "query", "key", (*Server).keysList),
	partnerRow("keysCreate", "POST groups/{group}/keys", "keys:write", "key", "created_key", (*Server).keysCreate),
	partnerRow("keysGet", "GET keys/{key}", "keys:read", "query", "key", (*Server).keysGet),
	partnerRow("keysUpdate", "PATCH keys/{key}", "keys:write", "key", "key", (*Server).keysUpdate),
	partnerRow("keysDelete", "DELETE keys/{key}", "keys:write", "key", "", (*Server).keysDelete),

	partnerRow("spendLimitUpdate", "PATCH groups/{group}/spend-limit", "limits:write", "spend_limit", "spend_limit", (*Server).spendLimitUpdate),
	partnerRow("topUpsCreate", "POST groups/{group}/top-ups", "top-ups:write", "transaction", "transaction", (*Server).topUpsCreate),
	partnerRow("transactionsList", "GET transactions", "transactions:read", "query", "transaction", (*Server).transactionsList),
	partnerRow("requestsList", "GET requests", "usage:read", "query", "usage_request", (*Server).requestsList),

	partnerRow("projectsList", "GET projects", "projects:read", "query", "project", (*Server).projectsList),
	partnerRow("projectsCreate", "POST projects", "projects:write", "project", "project", (*Server).projectsCreate),
	partnerRow("projectKeysList", "GET projects/{project}/keys", "keys:read", "query", "key", (*Server).projectKeysList),
	partnerRow("projectUsageGet", "GET projects/{project}/usage", "usage:read", "query", "usage", (*Server).projectUsageGet),
}

func partnerRow(id, route, scope, body, data string, do func(*Server, *exchange) *Answer) operation {
	op := row(id, route, scope, true, do)
	op.idempotent, op.body, op.data = op.writes(), body, data
	return op
}

// PartnerScopes returns every scope of the partner half, the ones a partner key has unless told otherwise.
func PartnerScopes() []string { return scopesOf(partnerOperations) }
