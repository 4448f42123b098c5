package versus

import (
	"runtime"
	"testing"
	"time"
)

const (
	shortTurn = 40 * time.Microsecond // one that the scheduler leaves alone, more often than not
	perRound  = 100                   // turns of each contender in one round
)

// Fastest compares contenders that only compute, for some microseconds. What
// else the machine does can only make such work slower, so the time of each is
// that of the fastest of its b.N × 100 turns of 40 µs; they take turns all the
// same, for the speed of the machine itself changes.
func Fastest(b *testing.B, contenders ...Contender) *Table {
	b.Helper()
	t := &Table{rounds: make([][]turn, len(contenders))}
	calls := make([]int, len(contenders))
	for i, c := range contenders {
		once := take(b, 1, 1000, c) // which also counts what it allocates
		t.names = append(t.names, c.Name)
		t.rounds[i] = []turn{once}
		calls[i] = max(1, int(float64(shortTurn)/once.ns))
	}
	runtime.GC() // not in the turns of those that make no garbage
	b.ResetTimer()
	for range b.N * perRound {
		for i, c := range contenders {
			start := time.Now()
			err := repeat(1, calls[i], c.Call)
			took := time.Since(start)
			if err != nil {
				b.Fatalf("%s: %v", c.Name, err)
			}
			fastest := &t.rounds[i][0].ns
			*fastest = min(*fastest, float64(took)/float64(calls[i]))
		}
	}
	b.StopTimer()
	b.ReportMetric(0, "ns/op") // the time of a round tells nothing
	return t
}
