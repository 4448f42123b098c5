// Package botixtest is the BOTIX public API, and the Partner API beside it, as a local sandbox: a server with real state,
// real limits and scripted faults, for tests of programs that talk to them.
//
// It is written from the API's contract and imports nothing of the client in this module, so that it can contradict it.
//
// # A walkthrough
//
//	srv, err := botixtest.Start(botixtest.Config{})
//	defer srv.Close()
//	anna := srv.AddContact(botixtest.Contact{FirstName: "Анна", LastChannel: "telegram"})
//
//	// The second send does its work and loses its answer; one request in five meets a 503.
//	srv.Script(
//		botixtest.On("messagesSend").Nth(2).Do(botixtest.CutAfter()),
//		botixtest.On("*").WithProbability(0.2).Do(botixtest.Status(503)),
//	)
//
//	// Point a client at srv.URL() with srv.APIKey(), let it send, and ask what really happened.
//	srv.Journal().MessagesTo(anna)        // messages that reached Анна, and under which keys
//	srv.Journal().Gaps("messagesSend")    // how long the client waited between its tries
//	srv.Journal().Answered(429)           // how often it ran into the limit
//
// # The partner half
//
// Under /partner/v1 the same server is the API of resellers: groups with wallets, spend limits and keys, top-ups and
// transactions, projects and their usage, an audit log. Its keys are its own; see [Server.PartnerKey]. Money really moves,
// in exact decimals, and a group's key works on the public half, in the project of its group and for the group's money.
//
//	srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutAfter()))
//
//	// Let a client provision and pay, and ask what really happened.
//	partner := srv.Partner(1)
//	partner.GroupsOf("cust_42")       // one group, or a duplicate
//	partner.LiveKeys(group, "bot")    // one key, or an orphan
//	partner.Credits("payment-1024")   // one top-up, or money given twice
//
// The paths, headers, fields and codes of the real service are behind its login. Here they are the rows of one
// [PartnerTable], and a test can change them all.
//
// # Virtual time
//
// [StartInMemory] serves the same sandbox without a socket, so that it can live in a testing/synctest bubble: hours of
// retry and a thousand rate windows pass in milliseconds. Reach it through [Server.Transport], and Start and Close it
// inside the bubble. The [Clock] is the sandbox's own, and can be moved and skewed against the client's.
//
// # What a request goes through
//
//	connection         OnConnect rules, Refuse
//	authentication     401, IP_BANNED
//	half, plan, scope  403
//	rate limit         429, of the minute or of the day; a slot is taken
//	sunset             410
//	script             faults that strike before the work
//	Idempotency-Key    a stored answer, a conflict, or a wait
//	work               the state changes, the journal gets its effects, webhooks go out
//	Idempotency-Key    a 2xx is stored
//	script             faults that strike after the work
//	answer
//
// # What the contract leaves open
//
// Where the API's documents are silent or disagree, the default promises a client least, and an option turns it:
//
//	same key while the first is in flight   both execute         Config.InFlight
//	same key, other body                    the first answer     Config.Reuse
//	a 5xx of its own after the work         not stored           Config.StoreServerErrors
//	an empty cursor                         begins a walk        Paging.FirstCursor
//	"limit" without a cursor                means nothing        Paging.LimitStartsCursor
//	X-Botix-Request-Id of a repeated event  the same             Config.FreshWebhookIDs
//	Retry-After                             seconds              Config.RetryAfter
//
// The contract of the partner half says more: a key is required on every change and kept seven days, and another request
// under it is 409. What it only assumes can be turned off:
//
//	same key while the first is in flight   409, Retry-After     PartnerConfig.Unlocked
//	errors are stored under the key         all but 402          PartnerConfig.Storage
//	the secret in a replayed key create     left out             PartnerConfig.ReplaySecret
//	the secret of a key that is read        left out             PartnerConfig.ReadSecret
//	same external_id or reference twice     two objects          PartnerConfig.Unique
//	filters of lists                        honoured             PartnerConfig.IgnoreFilters
//	a change in lists and in the balance    at once              PartnerConfig.Lags
//	a new group                             ready                PartnerConfig.Pending
//
// Some answers are this sandbox's own choice, because a real one had to be chosen: the names of the scopes other than
// contacts:read; CONTACT_NOT_FOUND for a send to nobody; the codes VERSION_SUNSET, IDEMPOTENCY_IN_PROGRESS and
// IDEMPOTENCY_KEY_REUSED; the shape of a webhook's body (event, project_id, created_at, data); null in a contact's field
// clears it; five retries, so six tries, before a webhook delivery has failed. On the partner half the shapes of all
// objects and the codes are this sandbox's choice; a group with live keys cannot be deleted, and what is left in its wallet
// goes back to the partner; a deleted key can be read, and not deleted again.
package botixtest
