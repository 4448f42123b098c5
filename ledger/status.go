package ledger

// Status says how an operation stands. The set is open: a ledger written by a
// later version may have others, so give every switch a default case, and treat
// a status you do not know as [StatusReconciling].
//
// Which status can follow which is in [Transitions].
type Status string

const (
	// StatusPending: recorded, and its driver goes on by itself. An attempt may
	// be under way.
	StatusPending Status = "pending"
	// StatusSucceeded: done once, and the ledger has the result. Final.
	StatusSucceeded Status = "succeeded"
	// StatusFailedRetryable: provably without effect so far. Trying again may
	// help; dropping it is safe.
	StatusFailedRetryable Status = "failed_retryable"
	// StatusFailedFinal: it ended without success, and the same request will
	// not be sent again. Final, unless a late answer contradicts it.
	StatusFailedFinal Status = "failed_final"
	// StatusReconciling: it may have had its effect, and nothing says whether.
	// Dropping it is not safe; [NextStep] says what finds out.
	StatusReconciling Status = "reconciling"
)

// Final reports whether the operation has ended: its driver does nothing more.
func (s Status) Final() bool { return s == StatusSucceeded || s == StatusFailedFinal }

// known reports whether this version knows the status.
func (s Status) known() bool {
	switch s {
	case StatusPending, StatusSucceeded, StatusFailedRetryable, StatusFailedFinal, StatusReconciling:
		return true
	}
	return false
}

// NextStep says what brings an operation further that does not go on by itself.
// The set is open.
type NextStep string

const (
	// NextNone: nothing is asked of anybody. It has ended, or its driver goes on.
	NextNone NextStep = ""
	// NextResend: the same bytes under the same key may be sent again, not
	// before the operation's NotBefore and, if it was possibly sent, not after
	// its ResendUntil.
	NextResend NextStep = "resend"
	// NextLook: reading the server's state tells what happened. Nothing is sent
	// before that.
	NextLook NextStep = "look"
	// NextPerson: a person has to decide. Of a [StatusFailedRetryable] operation
	// it means that it is held: the server refused it for a reason that a person
	// has to remove, and only an explicit resume drives it.
	NextPerson NextStep = "person"
)

// Driver says who may send an operation. The set is open.
type Driver string

const (
	// DriverCaller: only its caller, a repeat of the same intent, or an explicit
	// resume. Workers look, and never send.
	DriverCaller Driver = "caller"
	// DriverWorker: workers drive it until it ends.
	DriverWorker Driver = "worker"
)

// Kind says what a row of the ledger is. The set is open.
type Kind string

const (
	// KindCall: one request to an API, in as many attempts as it takes.
	KindCall Kind = "call"
	// KindWorkflow: several calls that make one business operation. It has no
	// request of its own; its status is made of those of its steps.
	KindWorkflow Kind = "workflow"
)

// Actions of the partner integration. The set is open: an [Intent] may name any
// action, such as "order-confirmed".
//
// Source: the platform's article on automation with idempotency keys; closing,
// deleting, rotating, revoking, reconciling and fulfilling are ours.
const (
	ActionProvisionCustomer = "provision_customer"
	ActionCloseCustomer     = "close_customer"
	ActionCreateGroup       = "create_group"
	ActionDeleteGroup       = "delete_group"
	ActionCreateKey         = "create_key"
	ActionRotateKey         = "rotate_key"
	ActionRevokeKey         = "revoke_key"
	ActionSetLimit          = "set_limit"
	ActionTopUpCredit       = "top_up_credit"
	ActionReconcileWallet   = "reconcile_wallet"
	ActionFulfilWebhook     = "fulfil_webhook"
)
