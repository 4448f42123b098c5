// Package versus measures contenders against each other inside one run. They
// take turns in short slices of time, so that whatever else the machine does
// meets all of them alike; what is reported are medians over rounds, and
// ratios are taken inside one round.
package versus

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Contender is one of the ways to do the same work.
type Contender struct {
	Name string
	Call func() error // safe for concurrent use
}

// slice is how long one turn takes, about: long enough for a turn to pay for
// the garbage it makes, short enough for the machine not to change meanwhile.
const slice = 50 * time.Millisecond

// Table is what was measured, for each contender and round.
type Table struct {
	names  []string
	rounds [][]turn // by contender
}

type turn struct{ ns, allocs, bytes float64 } // for one call

// Run makes b.N rounds of one turn of each contender, whose calls are made by so
// many goroutines at once.
func Run(b *testing.B, goroutines int, contenders ...Contender) *Table {
	b.Helper()
	t := &Table{rounds: make([][]turn, len(contenders))}
	calls := make([]int, len(contenders))
	for i, c := range contenders {
		t.names = append(t.names, c.Name)
		calls[i] = calibrate(b, goroutines, c)
	}
	b.ResetTimer()
	for round := range b.N {
		for i := range contenders {
			if round%2 == 1 { // there and back: nobody always follows the same one
				i = len(contenders) - 1 - i
			}
			t.rounds[i] = append(t.rounds[i], take(b, goroutines, calls[i], contenders[i]))
		}
	}
	b.StopTimer()
	b.ReportMetric(0, "ns/op") // the time of a round tells nothing
	return t
}

// calibrate warms a contender up and returns how many calls fill a slice.
func calibrate(b *testing.B, goroutines int, c Contender) int {
	b.Helper()
	n := goroutines
	for {
		took := time.Duration(take(b, goroutines, n, c).ns) * time.Duration(n)
		if took >= slice/2 {
			return max(goroutines, int(float64(n)*float64(slice)/float64(took)))
		}
		n *= 2
	}
}

// take makes about n calls.
func take(b *testing.B, goroutines, n int, c Contender) turn {
	b.Helper()
	each := (n + goroutines - 1) / goroutines
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	err := repeat(goroutines, each, c.Call)
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if err != nil {
		b.Fatalf("%s: %v", c.Name, err)
	}
	made := float64(each * goroutines)
	return turn{
		ns:     float64(took) / made,
		allocs: float64(after.Mallocs-before.Mallocs) / made,
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / made,
	}
}

func repeat(goroutines, each int, call func() error) error {
	if goroutines == 1 {
		for range each {
			if err := call(); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() { errs[g] = repeat(1, each, call) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Ratio is the time of one contender in that of another.
func (t *Table) Ratio(of, to string) float64 {
	return median(t.pairs(of, to, func(a, b turn) float64 { return a.ns / b.ns }))
}

// Over is the time by which a call of one contender exceeds one of another.
func (t *Table) Over(of, to string) time.Duration {
	return time.Duration(median(t.pairs(of, to, func(a, b turn) float64 { return a.ns - b.ns })))
}

// Allocs is the number of allocations of one call.
func (t *Table) Allocs(of string) float64 {
	return median(t.pairs(of, of, func(a, _ turn) float64 { return a.allocs }))
}

// Bytes is the number of bytes that one call allocates.
func (t *Table) Bytes(of string) float64 {
	return median(t.pairs(of, of, func(a, _ turn) float64 { return a.bytes }))
}

// pairs compares two contenders round by round, the smallest value first.
func (t *Table) pairs(of, to string, compare func(a, b turn) float64) []float64 {
	a, b := t.rounds[t.index(of)], t.rounds[t.index(to)]
	all := make([]float64, len(a))
	for i := range a {
		all[i] = compare(a[i], b[i])
	}
	slices.Sort(all)
	return all
}

func (t *Table) index(name string) int {
	i := slices.Index(t.names, name)
	if i < 0 {
		panic("versus: no contender is called " + name)
	}
	return i
}

func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Text lays the table out, with ratios to one contender and, over more than one
// round, their quartiles. It has a line for each contender and one above: a
// benchmark may log ten.
func (t *Table) Text(to string) string {
	rounds := strconv.Itoa(len(t.rounds[0])) + " rounds"
	lines := []string{fmt.Sprintf("%-22s %9s %9s  %-14s %9s %9s %8s",
		rounds, "µs", "x "+to, "(quartiles)", "over, µs", "bytes", "allocs")}
	for _, name := range t.names {
		times := t.pairs(name, name, func(a, _ turn) float64 { return a.ns })
		ratios := t.pairs(name, to, func(a, b turn) float64 { return a.ns / b.ns })
		quartiles := ""
		if len(ratios) > 1 {
			quartiles = fmt.Sprintf("(%.3f–%.3f)", ratios[len(ratios)/4], ratios[len(ratios)*3/4])
		}
		lines = append(lines, fmt.Sprintf("%-22s %9.2f %9.3f  %-14s %9.2f %9.0f %8.1f",
			name, median(times)/1e3, median(ratios), quartiles, float64(t.Over(name, to))/1e3, t.Bytes(name), t.Allocs(name)))
	}
	return strings.Join(lines, "\n")
}
