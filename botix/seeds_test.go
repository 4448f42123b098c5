//go:build !race

package botix_test

// seeds is how many random histories the property tests look at.
const seeds = 2000
