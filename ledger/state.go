package ledger

// State says in the words of the business how far an operation of several steps
// has come, or where it is stuck. Its [Status] says what that means for sending.
// The set is open: a machine of a program's own has states of its own.
type State string

// The states of provisioning a customer, in their order.
//
// Source: the platform's guide to the Partner API.
const (
	StatePendingCreateGroup     State = "pending_create_group"
	StateGroupCreatedKeyPending State = "group_created_key_pending"
	StateKeyCreatedLimitPending State = "key_created_limit_pending"
	StateProvisioned            State = "provisioned"
)

// The states that something is stuck in: each has an entry in the runbook.
//
// Source: the platform's guide to the Partner API.
const (
	// StateKeyCreatedLocalSaveFailed: a key was made, and its secret, which is shown
	// once, reached no store. The key is live and of no use.
	StateKeyCreatedLocalSaveFailed State = "key_created_local_save_failed"
	// StateTopUpRequestedUnknown: a credit may have been made.
	StateTopUpRequestedUnknown State = "topup_requested_unknown"
	// StateWebhookReceivedProcessingFailed: an event is stored, and was given up.
	StateWebhookReceivedProcessingFailed State = "webhook_received_processing_failed"
	// StateReconciliationRequired: only a person can find out what happened.
	StateReconciliationRequired State = "reconciliation_required"
)

// CodeSecretLost is the error code of an operation that made something whose
// secret, shown once, reached no store.
const CodeSecretLost = "SECRET_LOST"
