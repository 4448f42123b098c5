// Package idemkey knows what an Idempotency-Key is made of: how one is built from
// what the business wants, so that two intents never share one; what cannot be
// sent as one; and what should not be, because two operations could meet in it or
// a person could be read out of it.
package idemkey
