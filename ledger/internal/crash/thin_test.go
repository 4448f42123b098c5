//go:build unix

package crash_test

import "testing"

// brief: a run that is to see each kind of thing, and not many of each.
func brief() bool { return racing || testing.Short() }

// thin is the part of the matrices that a run does without -crash.full: 1/thin.
func thin() int {
	if testing.Short() {
		return 16
	}
	return 3
}

// scale is how much a run does of what is counted.
func scale(n int) int {
	if brief() {
		return n / 10
	}
	return n
}
