package botix

import "strconv"

// Every kind of object has an id type of its own, so that handing a chat's id
// to a call that wants a contact's does not compile. All are positive; zero
// means "none". Source: OpenAPI 1.1.0, where each is an integer.
type (
	// ContactID identifies a contact, the CRM card of one person.
	ContactID int64
	// MessageID identifies one message of a chat.
	MessageID int64
	// ChatID identifies a chat between the bot and a contact. The wire calls it
	// conversation_id, and chat_id where messages are filtered.
	ChatID int64
	// ScenarioID identifies a scenario of the visual builder.
	ScenarioID int64
	// WebhookID identifies a webhook subscription.
	WebhookID int64
	// ProjectID identifies the project that an API key belongs to.
	ProjectID int64
	// APIKeyID identifies an API key without revealing it.
	APIKeyID int64
)

// pathArgs renders ids as path parameters.
func pathArgs[ID ~int64](id ID, more ...string) []string {
	return append([]string{strconv.FormatInt(int64(id), 10)}, more...)
}
