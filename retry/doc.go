// Package retry holds the rules for trying again: what one attempt proved, how
// long to stay away, how much trying an outage may cost, and how to spread
// calls over a rate limit so that no limit is met at all.
//
// The parts stand alone and know nothing of any particular API:
//
//   - [Classify] turns the facts of one exchange into an [Outcome], by the
//     table [Rules]; [Trace] collects the evidence of what left this process.
//   - [Policy] makes one [BackOff] per call, on top of cenkalti/backoff.
//     [After] reads Retry-After; a wait the server asked for is never shortened.
//   - [Budget] keeps retries from multiplying the load of an outage.
//   - [Pacer] spaces calls by the X-RateLimit-* headers.
//
// The one rule behind all of it: a failed write is not one thing. Ask
// [OutcomeOf] before doing anything again.
//
//	switch retry.OutcomeOf(err) {
//	case retry.Unknown: // perhaps done: same key, or find out; never a new key
//	case retry.NotSent, retry.Throttled: // nothing happened: try later
//	case retry.Refused: // nothing happened: a person corrects key, scope or plan
//	case retry.Rejected, retry.Conflict: // nothing happened: correct it first
//	}
package retry
