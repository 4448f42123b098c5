package botixtest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// PartnerTable is how the partner half spells what its contract leaves to the real service: routes, headers, fields and
// error codes. Each map goes from the name in [DefaultPartnerTable] to the one to use instead; what it does not name stays
// as it is there.
type PartnerTable struct {
	Prefix  string            // of every path, such as "/partner/v1"
	Routes  map[string]string // of operations: "METHOD path", below Prefix. One of a key may name its {group} too
	Headers map[string]string // of requests and answers
	Scheme  string            // before the key. Default "Bearer", or [NoScheme] if Authorization is renamed
	Fields  map[string]string // of bodies, answers and queries. "group.name" renames only that of a group, "name" any
	Codes   map[string]string // of refusals
}

// NoScheme as the scheme of a [PartnerTable] means that the header holds the key and nothing else.
const NoScheme = "none"

// DefaultPartnerTable returns the table that holds unless [PartnerConfig.Table] says otherwise. The caller may change it.
func DefaultPartnerTable() PartnerTable {
	table := PartnerTable{
		Prefix: "/partner/v1",
		Routes: map[string]string{}, Headers: map[string]string{}, Fields: map[string]string{}, Codes: map[string]string{},
	}
	for _, op := range partnerOperations {
		table.Routes[op.id] = op.method + " " + strings.Join(op.segments, "/")
	}
	for _, name := range partnerHeaders {
		table.Headers[name] = name
	}
	for _, fields := range partnerFields {
		for _, name := range fields {
			table.Fields[name] = name
		}
	}
	for _, code := range partnerCodes {
		table.Codes[code] = code
	}
	return table
}

// partnerHeaders are the headers that can be called otherwise.
var partnerHeaders = []string{
	"Authorization", "Idempotency-Key", "Idempotent-Replayed", "X-Request-Id", "Retry-After",
	"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset",
}

// partnerFields are the fields of every kind of object on the partner half, and of its queries.
var partnerFields = map[string][]string{
	"envelope": {"success", "data", "meta", "error"},
	"meta":     {"next_cursor", "has_more"},
	"error":    {"code", "message", "details"},
	"query": {"cursor", "limit", "since", "until", "from", "to", "external_id", "project_id", "group_id", "key_id", "status",
		"function", "type", "reference", "action", "target_type", "target_id", "request_id"},

	"balance": {"balance", "currency", "minimum_top_up", "scopes", "updated_at"},
	"group": {"id", "name", "external_id", "project_id", "status", "balance", "spent", "spend_limit", "policy_version",
		"created_at", "updated_at"},
	"created_key": {"key", "secret"},
	"key": {"id", "group_id", "project_id", "name", "function", "external_id", "prefix", "status", "secret", "created_at",
		"last_used_at", "revoked_at"},
	"spend_limit": {"group_id", "spend_limit", "spent", "policy_version", "updated_at"},
	"transaction": {"id", "type", "group_id", "amount", "currency", "balance_after", "reference", "request_id", "created_at"},
	"audit_event": {"id", "request_id", "action", "target_type", "target_id", "group_id", "key_prefix", "source_ip", "status",
		"metadata", "created_at"},
	"metadata":      {"changed", "function", "amount", "reference", "spend_limit", "policy_version"},
	"usage_request": {"id", "request_id", "group_id", "key_id", "project_id", "method", "path", "status", "cost", "created_at"},
	"project":       {"id", "name", "external_id", "status", "created_at"},
	"usage":         {"project_id", "from", "to", "requests", "messages", "active_contacts", "cost"},
}

// inner is the kind of an object inside another.
var inner = map[string]string{
	"envelope.meta": "meta", "envelope.error": "error", "created_key.key": "key", "audit_event.metadata": "metadata",
}

// partnerCodes are the codes that the partner half refuses with.
var partnerCodes = []string{
	"MISSING_API_KEY", "INVALID_API_KEY", "KEY_REVOKED", "IP_BANNED", "INSUFFICIENT_SCOPE", "PARTNER_KEY_REQUIRED",
	"VALIDATION_ERROR", "INVALID_JSON", "INVALID_CURSOR", "NOT_FOUND", "RATE_LIMIT_EXCEEDED",
	"IDEMPOTENCY_KEY_REQUIRED", "IDEMPOTENCY_KEY_REUSED", "IDEMPOTENCY_IN_PROGRESS",
	"INSUFFICIENT_BALANCE", "TOP_UP_BELOW_MINIMUM", "ALREADY_EXISTS",
	"GROUP_HAS_LIVE_KEYS", "GROUP_NOT_READY", "KEY_NOT_LIVE", "SERVER_ERROR", "VERSION_SUNSET",
}

// spelling is a [PartnerTable] made ready.
type spelling struct {
	prefix     string // with a slash at the end
	operations []operation
	scheme     string
	headers    map[string]string // only what is renamed, as are the maps below; canonical names
	fields     map[string]string // "kind.field" → its name on the wire
	ours       map[string]string // "kind.name on the wire" → field; "" for a name that means nothing any more
	codes      map[string]string
}

// spell checks a table and makes it ready.
func (t PartnerTable) spell() (*spelling, error) {
	s := &spelling{
		prefix:  strings.TrimSuffix(t.Prefix, "/") + "/",
		headers: map[string]string{}, fields: map[string]string{}, ours: map[string]string{}, codes: map[string]string{},
	}
	if t.Prefix == "" {
		s.prefix = "/partner/v1/"
	}
	switch {
	case !strings.HasPrefix(s.prefix, "/"):
		return nil, fmt.Errorf("the prefix %q of the partner table does not begin with a slash", t.Prefix)
	case strings.HasPrefix(basePath, s.prefix) || strings.HasPrefix(s.prefix, basePath):
		return nil, fmt.Errorf("the prefix %q of the partner table overlaps %q", t.Prefix, basePath)
	}
	for _, step := range []func(PartnerTable) error{s.spellRoutes, s.spellHeaders, s.spellFields, s.spellCodes} {
		if err := step(t); err != nil {
			return nil, fmt.Errorf("the partner table: %w", err)
		}
	}
	switch _, renamed := s.headers["Authorization"]; {
	case t.Scheme != "":
		s.scheme = t.Scheme
	case renamed:
		s.scheme = NoScheme
	default:
		s.scheme = "Bearer"
	}
	return s, nil
}

func (s *spelling) spellRoutes(t PartnerTable) error {
	s.operations = slices.Clone(partnerOperations)
	routes := map[string]string{} // → operation
	for i := range s.operations {
		op := &s.operations[i]
		if route, ok := t.Routes[op.id]; ok {
			method, path, _ := strings.Cut(route, " ")
			segments := strings.Split(strings.Trim(path, "/"), "/")
			if method == "" || slices.Contains(segments, "") || !sameParameters(op, segments) {
				return fmt.Errorf("the route of %s must be METHOD path with the ids of %q, not %q", op.id,
					strings.Join(op.segments, "/"), route)
			}
			op.method, op.segments = method, segments
		}
		key := op.method + " " + shape(op.segments)
		if other := routes[key]; other != "" {
			return fmt.Errorf("%s and %s have one route, %s", other, op.id, key)
		}
		routes[key] = op.id
	}
	for id := range t.Routes {
		if !slices.ContainsFunc(s.operations, func(op operation) bool { return op.id == id }) {
			return fmt.Errorf("there is no operation %q", id)
		}
	}
	// A literal segment wins over an id: the first match counts.
	slices.SortStableFunc(s.operations, func(a, b operation) int { return len(parameters(a.segments)) - len(parameters(b.segments)) })
	return nil
}

func parameters(segments []string) []string {
	return filter(segments, func(segment string) bool { return strings.HasPrefix(segment, "{") })
}

// sameParameters reports whether a path names what the operation needs. That of a key may say whose it is.
func sameParameters(op *operation, segments []string) bool {
	need, have := parameters(op.segments), parameters(segments)
	if slices.Contains(need, "{key}") {
		have = filter(have, func(name string) bool { return name != "{group}" })
	}
	slices.Sort(have)
	return slices.Equal(need, have)
}

// shape is a path whose ids have no names.
func shape(segments []string) string {
	all := slices.Clone(segments)
	for i, segment := range all {
		if strings.HasPrefix(segment, "{") {
			all[i] = "{}"
		}
	}
	return strings.Join(all, "/")
}

func (s *spelling) spellHeaders(t PartnerTable) error {
	taken := map[string]string{}
	for _, name := range partnerHeaders {
		taken[name] = name
	}
	for name, called := range t.Headers {
		name, called = http.CanonicalHeaderKey(name), http.CanonicalHeaderKey(called)
		if taken[name] == "" {
			return fmt.Errorf("there is no header %q", name)
		}
		taken[name] = called
		if called != name {
			s.headers[name] = called
		}
	}
	return distinct("header", taken)
}

func (s *spelling) spellFields(t PartnerTable) error {
	known := map[string]bool{}
	for kind, fields := range partnerFields {
		names := map[string]string{}
		for _, field := range fields {
			known[field], known[kind+"."+field] = true, true
			names[field] = field
			for _, key := range []string{field, kind + "." + field} { // the narrower one wins
				if called, ok := t.Fields[key]; ok {
					names[field] = called
				}
			}
		}
		if err := distinct("field of "+kind, names); err != nil {
			return err
		}
		for field, called := range names {
			if called != field {
				s.fields[kind+"."+field] = called
				s.ours[kind+"."+field] = ""
			}
		}
		for field, called := range names { // after all of them, so that two fields can swap their names
			if called != field {
				s.ours[kind+"."+called] = field
			}
		}
	}
	for key := range t.Fields {
		if !known[key] {
			return fmt.Errorf("there is no field %q", key)
		}
	}
	return nil
}

func (s *spelling) spellCodes(t PartnerTable) error {
	taken := map[string]string{}
	for _, code := range partnerCodes {
		taken[code] = code
	}
	for code, called := range t.Codes {
		if taken[code] == "" {
			return fmt.Errorf("there is no code %q", code)
		}
		taken[code] = called
		if called != code {
			s.codes[code] = called
		}
	}
	return distinct("code", taken)
}

// distinct refuses a renaming after which two things have one name, or one has none.
func distinct(what string, names map[string]string) error {
	of := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		called := names[name]
		if called == "" {
			return fmt.Errorf("the %s %q has no name", what, name)
		}
		if other := of[called]; other != "" {
			return fmt.Errorf("the %ss %q and %q are both called %q", what, other, name, called)
		}
		of[called] = name
	}
	return nil
}
