package botix

import (
	"net/http"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/ledger"
)

// keyRetention is how long the platform answers a repeated Idempotency-Key from
// memory, counted from the first success. Later the same key runs again.
const keyRetention = 24 * time.Hour

// unkept is for requests whose URL is often a secret: whoever has the token in it
// can post events to the program. The answer repeats it.
var unkept = ledger.Keeping{Bodies: ledger.BodyNone, Results: ledger.ResultIDs}

// One row for each operation of the public API. The retry rule, the proof after
// an unknown outcome, the span name, the coverage test and the documentation all
// come from here.
//
// The class answers one question: what may be sent again when no answer came.
//   - Safe: it only reads.
//   - HonoursKeys: under the same Idempotency-Key, for keyRetention.
//   - ByNature: doing it twice is doing it once.
//   - Neither: nothing, not even under the same key.
var (
	meGet = &call.Endpoint{Name: "meGet", Method: http.MethodGet, Path: "/public/v1/me",
		Class: call.Safe, Source: "OpenAPI 1.1.0, operation meGet"}

	contactsList = &call.Endpoint{Name: "contactsList", Method: http.MethodGet, Path: "/public/v1/contacts",
		Class: call.Safe, Source: "OpenAPI 1.1.0, operation contactsList"}
	contactsCreate = &call.Endpoint{Name: "contactsCreate", Method: http.MethodPost, Path: "/public/v1/contacts",
		Class: call.HonoursKeys, Retention: keyRetention, Proof: call.ProofLook,
		Source: "OpenAPI 1.1.0, operation contactsCreate; the key: the platform's article on idempotency"}
	contactsGet = &call.Endpoint{Name: "contactsGet", Method: http.MethodGet, Path: "/public/v1/contacts/{id}",
		Class: call.Safe, Source: "OpenAPI 1.1.0, operation contactsGet"}
	contactsUpdate = &call.Endpoint{Name: "contactsUpdate", Method: http.MethodPut, Path: "/public/v1/contacts/{id}",
		Class: call.ByNature, Lane: "contact:{id}", Source: "OpenAPI 1.1.0, operation contactsUpdate"}
	contactsDelete = &call.Endpoint{Name: "contactsDelete", Method: http.MethodDelete, Path: "/public/v1/contacts/{id}",
		Class: call.ByNature, Lane: "contact:{id}", EmptyOK: true, Source: "OpenAPI 1.1.0, operation contactsDelete"}
	contactsAddTag = &call.Endpoint{Name: "contactsAddTag", Method: http.MethodPost, Path: "/public/v1/contacts/{id}/tags",
		Class: call.ByNature, Lane: "tag:{id}:{tag}", Source: "OpenAPI 1.1.0, operation contactsAddTag"}
	contactsRemoveTag = &call.Endpoint{Name: "contactsRemoveTag", Method: http.MethodDelete, Path: "/public/v1/contacts/{id}/tags/{tag}",
		Class: call.ByNature, Lane: "tag:{id}:{tag}", EmptyOK: true, Source: "OpenAPI 1.1.0, operation contactsRemoveTag"}
	contactsBulkCreate = &call.Endpoint{Name: "contactsBulkCreate", Method: http.MethodPost, Path: "/public/v1/contacts/bulk-create",
		Class: call.HonoursKeys, Retention: keyRetention, Proof: call.ProofLook,
		Source: "OpenAPI 1.1.0, operation contactsBulkCreate"}
	// A bulk update honours keys as well, but does not need to: setting fields
	// twice is setting them once, so a repeat needs no proof.
	contactsBulkUpdate = &call.Endpoint{Name: "contactsBulkUpdate", Method: http.MethodPost, Path: "/public/v1/contacts/bulk-update",
		Class: call.ByNature, Retention: keyRetention,
		Source: "OpenAPI 1.1.0, operation contactsBulkUpdate"}

	messagesList = &call.Endpoint{Name: "messagesList", Method: http.MethodGet, Path: "/public/v1/messages",
		Class: call.Safe, Source: "OpenAPI 1.1.0, operation messagesList"}
	messagesSend = &call.Endpoint{Name: "messagesSend", Method: http.MethodPost, Path: "/public/v1/messages",
		Class: call.HonoursKeys, Retention: keyRetention, Proof: call.ProofLook,
		Source: "OpenAPI 1.1.0, operation messagesSend"}
	messagesBulkSend = &call.Endpoint{Name: "messagesBulkSend", Method: http.MethodPost, Path: "/public/v1/messages/bulk-send",
		Class: call.HonoursKeys, Retention: keyRetention, Proof: call.ProofLook,
		Source: "OpenAPI 1.1.0, operation messagesBulkSend"}

	scenariosList = &call.Endpoint{Name: "scenariosList", Method: http.MethodGet, Path: "/public/v1/scenarios",
		Class: call.Safe, Source: "OpenAPI 1.1.0, operation scenariosList"}
	scenariosRun = &call.Endpoint{Name: "scenariosRun", Method: http.MethodPost, Path: "/public/v1/scenarios/{id}/run",
		Class: call.HonoursKeys, Retention: keyRetention, Proof: call.ProofLook,
		Source: "OpenAPI 1.1.0, operation scenariosRun"}

	chatsList = &call.Endpoint{Name: "chatsList", Method: http.MethodGet, Path: "/public/v1/chats",
		Class: call.Safe, Source: "OpenAPI 1.1.0, operation chatsList"}
	chatsMessages = &call.Endpoint{Name: "chatsMessages", Method: http.MethodGet, Path: "/public/v1/chats/{id}/messages",
		Class: call.Safe, Source: "OpenAPI 1.1.0, operation chatsMessages"}

	channelsList = &call.Endpoint{Name: "channelsList", Method: http.MethodGet, Path: "/public/v1/channels",
		Class: call.Safe, Source: "OpenAPI 1.1.0, operation channelsList"}

	webhooksList = &call.Endpoint{Name: "webhooksList", Method: http.MethodGet, Path: "/public/v1/webhooks",
		Class: call.Safe, Source: "OpenAPI 1.1.0, operation webhooksList"}
	webhooksCreate = &call.Endpoint{Name: "webhooksCreate", Method: http.MethodPost, Path: "/public/v1/webhooks",
		Class: call.Neither, Group: "webhook:{url}", Secret: true, Keeping: unkept, Source: "OpenAPI 1.1.0, operation webhooksCreate"}
	// The file gives the 200 of an update no schema: whatever comes is a success.
	webhooksUpdate = &call.Endpoint{Name: "webhooksUpdate", Method: http.MethodPut, Path: "/public/v1/webhooks/{id}",
		Class: call.ByNature, Lane: "webhook:{id}", EmptyOK: true, Keeping: unkept, Source: "OpenAPI 1.1.0, operation webhooksUpdate"}
	webhooksDelete = &call.Endpoint{Name: "webhooksDelete", Method: http.MethodDelete, Path: "/public/v1/webhooks/{id}",
		Class: call.ByNature, Lane: "webhook:{id}", EmptyOK: true, Source: "OpenAPI 1.1.0, operation webhooksDelete"}
	webhooksTest = &call.Endpoint{Name: "webhooksTest", Method: http.MethodPost, Path: "/public/v1/webhooks/{id}/test",
		Class: call.Neither, Source: "OpenAPI 1.1.0, operation webhooksTest"}
)

// endpoints lists the rows in the order of the OpenAPI file's tags.
var endpoints = []*call.Endpoint{
	meGet,
	contactsList, contactsCreate, contactsGet, contactsUpdate, contactsDelete,
	contactsAddTag, contactsRemoveTag, contactsBulkCreate, contactsBulkUpdate,
	messagesList, messagesSend, messagesBulkSend,
	chatsList, chatsMessages,
	scenariosList, scenariosRun,
	channelsList,
	webhooksList, webhooksCreate, webhooksUpdate, webhooksDelete, webhooksTest,
}
