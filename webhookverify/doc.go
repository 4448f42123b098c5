// Package webhookverify verifies webhooks: that a delivery comes from who shares
// the secret, that nobody changed it, and how old it is where that is signed. It
// imports the standard library and nothing else.
//
//	verifier, err := webhookverify.New(webhookverify.BOTIX(), webhookverify.NewSecret(secret))
//	hook, err := webhookverify.NewHandler(verifier, func(ctx context.Context, d *webhookverify.Delivery) error {
//		return store(ctx, d.Identity(), d.Body) // durable before the answer; the work comes after
//	})
//	http.Handle("/webhooks/botix", hook)
//
// # Senders
//
// A [Scheme] says how a sender signs, as data: [BOTIX], [StandardWebhooks],
// [Stripe] and [GitHub] are there, and any other that takes an HMAC of a text
// around the body is declared by its fields. No header ever chooses an algorithm.
//
// What is not signed proves nothing. BOTIX and GitHub sign the body alone: their
// headers of event type and request id can be changed by whoever repeats a
// delivery. So take the type from the body ([ParseEvent]) and tell events apart by
// [Verifier.Identity], which is made of what is signed.
//
// # Secrets
//
// Several secrets may hold at once, and [Match] names the one that matched.
// [Verifier.Rotate] replaces them under load, [Verifier.Uses] tells when an old one
// is no longer used. A secret that protects nothing, an empty one for instance, is
// refused when it is given; there is no mode without verification.
//
// # Errors
//
// A refusal is an *[Error], for errors.Is:
//
//	error           what is wrong                                    a handler answers
//	ErrMissing      no signature, or no id or time that is signed    401
//	ErrMalformed    one of them cannot be read                       401
//	ErrMismatch     another secret, or another body                  401
//	ErrTooOld       signed longer ago than the tolerance             401
//	ErrTooNew       signed further ahead than the tolerance          401
//	ErrEmptyBody    no body: none was sent, or it was read before    401
//	ErrTooLarge     more bytes than WithMaxBody says                 413
//	ErrTimeout      slower than WithReadTimeout says                 408
//	ErrUnreadable   the connection broke                             400
//	ErrMethod       not a POST                                       405
//	ErrContentType  not JSON, or not what WithContentTypes names     415
//	ErrBadEvent     verified, and not an event that can be read      400, when the receiver returns it
//
// All 401 are one to the sender. Every status but 2xx makes BOTIX come again,
// after 30 s, 5 min, 30 min, 2 h and 6 h, and then never: store what cannot be read
// as well, rather than refuse it. The log of a handler tells them apart,
// and names what it can prove about a body that does not match ([Diagnosis]): read
// by an earlier handler, or JSON that was written anew. It holds no secret, no
// signature and no body.
//
// # Cost
//
// The signed text is never built: the hash is fed in pieces, and keyed hashes are
// kept, so that a check allocates nothing, however large the body. A [Stream]
// checks a body that is not in memory at once. Each secret that is tried costs one
// pass over the body. Figures are in docs/benchmarks.md.
//
// # Testing
//
// [Scheme.Sign] makes the headers that a sender would. Package botix/botixtest
// delivers for real, retries included.
package webhookverify
