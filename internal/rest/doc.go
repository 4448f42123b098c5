// Package rest does one HTTP exchange and reports all that can be known of it:
// the answer, the evidence of what left, and the times. It never tries twice
// and sees to it that net/http does not either; what an exchange means is
// decided by its callers.
package rest
