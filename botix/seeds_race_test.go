//go:build race

package botix_test

// The detector makes each history many times slower, and finds what it can find
// in few of them.
const seeds = 100

// recorded is how many operations meet an outage.
const recorded = 1_000
