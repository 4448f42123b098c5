//go:build unix && race

package crash_test

// racing: the detector makes each process start several times slower, and finds what it
// can find in few of them. What is particular about a scenario is there once, and not
// every combination.
const racing = true

// atOnce is how many scenarios are under way at most.
const atOnce = 8
