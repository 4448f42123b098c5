// Package ledger writes business operations down before they are sent, so that
// a crash at any instruction never leads to two effects and what happened can
// always be told.
//
// An operation is what the business wants once, named by an [Intent]. Each HTTP
// exchange made for it is an attempt. Before the first byte of an attempt leaves,
// the operation, its key, its exact bytes and the attempt's start are durable;
// before the caller has an answer, so is the attempt's outcome.
//
//	led, err := sqlite.Open(ctx, "ops.db", ledger.Namespace("shop-prod"))
//	client, err := botix.New(key, botix.WithLedger(led))
//
// A call drives its own operation while it lasts. Operations can also be recorded
// in a transaction of the program's own, for a [Worker] to send; and what is left
// open is driven on by [Ledger.Resume]. docs/recorded.md tells who sends what. What
// a person or a program finds out about an operation is recorded by [Ledger.Decide]
// and [Ledger.Reconcile].
//
// An [Inbox] keeps the events that webhooks bring, in the same database: each is
// stored once before it is acknowledged, and worked later, and the operation that
// it leads to is recorded in the transaction that marks it as worked. A [Machine]
// ([NewMachine]) is an operation of several steps.
//
// # Errors
//
// Each method says which it returns. Besides, what reads or writes the database may
// fail with an *[UnavailableError], [ErrClosed] or the error of its context. [retry.OutcomeOf]
// tells of each what is known of the effect; what to do:
//
//	*MismatchError, ErrIntent, ErrAmount correct the call: nothing was sent now
//	*InProgressError, *BlockedError      make the same call again: nothing was sent now
//	*NoExecutorError                     open the client that it needs: nothing was sent now
//	*UnrecordedError                     use the result; a repeat asks the server, under the same key
//	*StandingError, *GuardError          read the story of the operation (Ledger.Story)
//	*DoubtError                          compare with the server, then Ledger.Vouch
//	*UnavailableError, *UnreadableError  mend the database: nothing was sent now
//
// This package holds the meaning and the rules; it knows no driver and no HTTP.
// Package ledger/sqlite keeps the rows.
package ledger
