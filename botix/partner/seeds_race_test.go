//go:build race

package partner_test

// The detector makes each history many times slower, and finds what it can find in few
// of them.
const seeds = 8
