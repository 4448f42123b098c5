//go:build unix && !race

package crash_test

const racing = false

const atOnce = 64
