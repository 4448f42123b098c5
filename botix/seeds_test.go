//go:build !race

package botix_test

// seeds is how many random histories the property tests look at.
const seeds = 2000

// recorded is how many operations meet an outage.
const recorded = 10_000
