package botixtest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// operation is one row of the API: what the contract says about it, and who does the work.
type operation struct {
	id         string // operationId of the OpenAPI file
	method     string
	segments   []string // path below /public/v1/ or the partner half's prefix; "{…}" matches any one segment
	scope      string   // a key needs it; "" = any key
	idempotent bool     // honours Idempotency-Key
	do         func(*Server, *exchange) *Answer

	body, data string // partner half: the kinds of object that come in and go out, in partnerFields
}

func (op *operation) writes() bool { return op.method != http.MethodGet }

const basePath = "/public/v1/"

// operations is the whole API. Literal segments stand before "{id}" rows of the same length, since the first match wins.
var operations = []operation{
	row("meGet", "GET me", "", false, (*Server).meGet),

	row("contactsList", "GET contacts", "contacts:read", false, (*Server).contactsList),
	row("contactsCreate", "POST contacts", "contacts:write", true, (*Server).contactsCreate),
	row("contactsBulkCreate", "POST contacts/bulk-create", "contacts:write", true, (*Server).contactsBulkCreate),
	row("contactsBulkUpdate", "POST contacts/bulk-update", "contacts:write", true, (*Server).contactsBulkUpdate),
	row("contactsGet", "GET contacts/{id}", "contacts:read", false, (*Server).contactsGet),
	row("contactsUpdate", "PUT contacts/{id}", "contacts:write", false, (*Server).contactsUpdate),
	row("contactsDelete", "DELETE contacts/{id}", "contacts:write", false, (*Server).contactsDelete),
	row("contactsAddTag", "POST contacts/{id}/tags", "contacts:write", false, (*Server).contactsAddTag),
	row("contactsRemoveTag", "DELETE contacts/{id}/tags/{tag}", "contacts:write", false, (*Server).contactsRemoveTag),

	row("messagesList", "GET messages", "messages:read", false, (*Server).messagesList),
	row("messagesSend", "POST messages", "messages:write", true, (*Server).messagesSend),
	row("messagesBulkSend", "POST messages/bulk-send", "messages:write", true, (*Server).messagesBulkSend),

	row("scenariosList", "GET scenarios", "scenarios:read", false, (*Server).scenariosList),
	row("scenariosRun", "POST scenarios/{id}/run", "scenarios:run", true, (*Server).scenariosRun),

	row("chatsList", "GET chats", "chats:read", false, (*Server).chatsList),
	row("chatsMessages", "GET chats/{id}/messages", "chats:read", false, (*Server).chatsMessages),

	row("channelsList", "GET channels", "channels:read", false, (*Server).channelsList),

	row("webhooksList", "GET webhooks", "webhooks:read", false, (*Server).webhooksList),
	row("webhooksCreate", "POST webhooks", "webhooks:write", false, (*Server).webhooksCreate),
	row("webhooksUpdate", "PUT webhooks/{id}", "webhooks:write", false, (*Server).webhooksUpdate),
	row("webhooksDelete", "DELETE webhooks/{id}", "webhooks:write", false, (*Server).webhooksDelete),
	row("webhooksTest", "POST webhooks/{id}/test", "webhooks:write", false, (*Server).webhooksTest),
}

func row(id, route, scope string, idempotent bool, do func(*Server, *exchange) *Answer) operation {
	method, path, _ := strings.Cut(route, " ")
	return operation{id: id, method: method, segments: strings.Split(path, "/"), scope: scope, idempotent: idempotent, do: do}
}

// Scopes returns every scope the sandbox knows, the ones a key has unless told otherwise. The contract names only
// contacts:read; the rest follow its pattern.
func Scopes() []string { return scopesOf(operations) }

func scopesOf(operations []operation) []string {
	var scopes []string
	seen := map[string]bool{"": true}
	for i := range operations {
		if scope := operations[i].scope; !seen[scope] {
			seen[scope] = true
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// find returns the operation for a request and the values of its path parameters, or nil, and which half of the API the
// path belongs to. It splits the path as it was escaped, so a tag "a/b" written a%2Fb is one segment.
func (s *spelling) find(method, escapedPath string) (op *operation, params []string, partner bool) {
	if rest, ok := strings.CutPrefix(escapedPath, s.prefix); ok {
		op, params = findIn(s.operations, method, rest)
		return op, params, true
	}
	if rest, ok := strings.CutPrefix(escapedPath, basePath); ok {
		op, params = findIn(operations, method, rest)
	}
	return op, params, false
}

func knownOperation(operations []operation, id string) bool {
	return slices.ContainsFunc(operations, func(op operation) bool { return op.id == id })
}

func findIn(operations []operation, method, rest string) (*operation, []string) {
	segments := strings.Split(rest, "/")
	for i := range operations {
		op := &operations[i]
		if op.method != method || len(op.segments) != len(segments) {
			continue
		}
		if params, ok := match(op.segments, segments); ok {
			return op, params
		}
	}
	return nil, nil
}

func match(template, segments []string) (params []string, ok bool) {
	for i, want := range template {
		if want[0] != '{' {
			if want != segments[i] {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(segments[i])
		if err != nil || value == "" {
			return nil, false
		}
		params = append(params, value)
	}
	return params, true
}
