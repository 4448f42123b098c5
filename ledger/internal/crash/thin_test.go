//go:build unix && !race

package crash_test

import "testing"

// thin is the part of the matrix that a run does without -crash.full: 1/thin.
func thin() int {
	if testing.Short() {
		return 16
	}
	return 3
}

// atOnce is how many scenarios are under way at most.
const atOnce = 64

// scale is how much a run does of what is counted.
func scale(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}
