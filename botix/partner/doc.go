// Package partner is a client of the Partner API: the layer for resellers, who make
// groups for their customers, give them keys, limit what they spend and credit their
// wallets.
//
//	led, err := sqlite.Open(ctx, "ops.db", ledger.Namespace("shop-prod"))
//	client, err := partner.New(os.Getenv("BOTIX_PARTNER_KEY"), partner.WithLedger(led), botix.WithSecretStore(secrets))
//
//	customer, err := client.Provision(ctx, partner.Customer{ID: "cust_42", SignupVersion: "v1", SpendLimit: money.MustParse("100.00")})
//	credit, err := client.TopUp(ctx, partner.Payment{Customer: "cust_42", GroupID: customer.GroupID,
//		Amount: money.MustParse("50.00"), EventID: payment.EventID, EntryID: payment.EntryID})
//
// [Client.Provision], [Client.TopUp], [Client.SetLimit], [Client.RotateKey],
// [Client.RevokeKey] and [Client.CloseCustomer] are named by what the business wants
// once: however often they are called, by however many processes, and wherever one is
// killed, they are done once. The services below them have every call of the API, for
// whoever names operations by himself:
//
//	keys, err := partner.NewKeyBuilder(led.Namespace())
//	key, err := keys.CreateGroup("cust_42", "v1")
//	group, err := client.Groups.Create(ctx, partner.CreateGroup{Name: "Кофейня", ExternalID: "cust_42"},
//		botix.WithIdempotencyKey(key))
//
// It works as package botix does, whose options, call options, errors and hooks it
// has: every change carries an Idempotency-Key over all its attempts, which send the
// same bytes; with a ledger it is written down before it is sent. A partner key is
// another kind of key, with wider rights: [New] refuses that of a project, and a
// client has one key for ever.
//
// # Keys
//
// The Partner API requires an Idempotency-Key on POST, PATCH and DELETE, remembers it
// for seven days, answers a repeat with the stored answer, and another request under
// it with a conflict. Without a key of its own a call gets a new UUID, which covers
// the call's own retries. A key that a [KeyBuilder] makes of what the business wants
// covers the program's as well: a worker that starts again, a payment event that is
// delivered twice, a double click.
//
// # Money
//
// Amounts are [money.Amount]: the text they came in and the exact decimal of it, sent
// and read as JSON strings. They are compared with Equal and Cmp, exactly; an answer
// with a JSON number in place of an amount is refused. What an answer does not tell is
// an unset amount, which is not 0.
//
// # Tenancy
//
// Every call names its group or project, or says WholeAccount. An answer about
// another one is a *[TenantError], and is handed to nobody. Where a route does not
// name the group, as those of single keys, a change reads the key first.
//
// # Errors
//
// Arguments that cannot be right are a *[botix.InputError] before anything is sent.
// Every other failure of a call is a *[botix.Error]; its Next says what is safe now.
//
//	errors.Is(err, …)                  what happened                        what to do
//	partner.ErrPartnerKeyRequired      nothing: the key is a project's      give New a partner key
//	partner.ErrInsufficientBalance     nothing                              raise the balance, same call, same key
//	partner.ErrTopUpBelowMinimum       nothing                              a larger one, under a new key
//	partner.ErrAlreadyExists           nothing now                          look it up by its external id
//	partner.ErrGroupNotReady           nothing                              wait, then under a new key
//	partner.ErrGroupHasLiveKeys        nothing                              revoke them, then under a new key
//	partner.ErrKeyNotLive              nothing                              create another key
//	partner.ErrSecretLost              the key exists, its secret is gone   have it replaced (Client.ReplaceLostKey)
//	partner.ErrOtherTenant             nothing                              find out whose id it is
//	botix.ErrNotFound                  nothing                              the id is wrong, or another partner's
//	botix.ErrIdempotencyKeyReused      nothing now: another payload         find out which is meant
//	botix.ErrRateLimited               nothing                              after RetryAt
//	ledger.ErrBlocked                  nothing: another one is unknown      settle that one first
//	ledger.ErrSuperseded               nothing: a newer one was sent        nothing
//	ledger.ErrInDoubt                  nothing now: an older or copied one  docs/safekeeping.md
//	ledger.ErrResultNotKept            it was done before                   the secret was shown then
//
// and, before doing anything again, [retry.OutcomeOf]: when it is Unknown the change
// may have been made, and is repeated under the same intent or key, never under a new
// one. With a ledger that is always safe; without one [botix.Error.Next] says whether
// it is.
//
// # Reconciling
//
// With a ledger, what got no answer can be found out. [Client.Reconcile] asks the
// ledger, the audit log and the lists, sends nothing, and records a verdict with what
// it read; [Client.Sweep] does so for whatever has been unknown for a while. An
// [Auditor] compares the ledger with the server: a group's wallet to the last digit,
// and the audit log. When the ledger itself is lost, [Auditor.PlanRebuild] plans what
// it can be given back. What waits for a person is in [ledger.Ledger.Queue].
//
// # Contract
//
// The platform shows the routes of the Partner API to partners only. Those here are
// this package's own, and so are the names of headers and fields: a [Contract] holds
// them all, and a server that calls things otherwise gets another one.
//
// # Testing
//
// Package botix/botixtest serves the Partner API too, with state, money that moves,
// limits and scripted faults.
package partner
