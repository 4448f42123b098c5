//go:build !race

package partner_test

// seeds is how many random histories the property test looks at.
const seeds = 40
