// Package botix is a client of the BOTIX public API, version 1.1.0: a chat-bot
// platform's contacts, messages, chats, scenarios, channels and webhooks.
//
//	led, err := sqlite.Open(ctx, "ops.db", ledger.Namespace("shop-prod"))
//	client, err := botix.New(os.Getenv("BOTIX_API_KEY"), botix.WithLedger(led))
//	sent, err := client.Messages.Send(ctx, botix.SendMessage{ContactID: 42, Content: "Заказ подтверждён"})
//	for contact, err := range client.Contacts.All(ctx, botix.ListContacts{Tag: "vip"}) { … }
//
// A mutating call is an operation that may take several requests. All carry one
// Idempotency-Key and the same bytes, and net/http is kept from sending any of
// them twice by itself. What may be repeated when no answer came, or one that
// leaves it open, follows from the operation: see docs/guarantees.md.
//
// With [WithLedger] every mutation is written down before it is sent, and
// [WithIntent] names one by what the business wants once: a repeat, also after a
// crash, is answered as the first was. [Client.Record] writes one down in a
// transaction of the program's own, for a worker to send: see docs/recorded.md.
// [WithoutLedger] keeps keys, retries and pacing, and forgets in a crash.
//
// # Errors
//
// Arguments that cannot be right are an *[InputError] before anything is sent.
// Every other failure is an *[Error] with the platform's code, the request id and
// all attempts. Before doing a mutation again ask what is known of its effect:
//
//	retry.OutcomeOf(err)   what happened                     what to do
//	Succeeded              done, and not recorded            use the result, see to the disk: a *ledger.UnrecordedError
//	NotSent                nothing: no connection            call again
//	Throttled              nothing: rate limit               call again after RetryAt
//	Refused                nothing: key, scope, plan         a person corrects it
//	Rejected               nothing: the request is wrong     correct it
//	Conflict               nothing now: the key was used     find out which is meant
//	Unknown                perhaps done                      same key, or look it up; never a new key
//
// errors.Is knows each code: [ErrContactBusy], [ErrRateLimited], …
//
// # Limits
//
// One [Client] serves all goroutines. It spreads calls over the window that the
// X-RateLimit headers describe, on the server's clock; [WithPace] changes how.
// Retry-After is a floor. All retries together draw on one budget.
//
// # Testing
//
// Package botix/botixtest is the API as a local server with state, limits and
// scripted faults, on loopback or in memory for tests in virtual time.
package botix
