package partner

import "github.com/botix-pro/sdk-go/botix"

// Every kind of object has an id type of its own, so that handing a key's id to a
// call that wants a group's does not compile. They are opaque; "" means "none".
type (
	// GroupID identifies a group: one customer of the partner, with a wallet, a
	// spend limit and keys.
	GroupID string
	// KeyID identifies an API key without revealing it.
	KeyID string
	// TransactionID identifies one movement of money.
	TransactionID string
	// AuditEventID identifies one entry of the audit log.
	AuditEventID string
	// UsageRequestID identifies one request in the usage records.
	UsageRequestID string
	// ProjectID identifies a project, as in the public API.
	ProjectID = botix.ProjectID
)
