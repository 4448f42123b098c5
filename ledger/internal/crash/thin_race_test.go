//go:build unix && race

package crash_test

// The detector makes each process start several times slower, and finds what it
// can find in few of them.
func thin() int { return 48 }

func scale(n int) int { return n / 10 }

// atOnce is how many scenarios are under way at most.
const atOnce = 8
