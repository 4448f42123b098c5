package call

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// The age of a first send, for what the clocks may have done since. Virtual time
// is the monotonic clock and the truth; the host's clock is set apart from it.
func TestAge(t *testing.T) {
	const hour = time.Hour
	for _, tt := range []struct {
		name string
		// earlier: the send was recorded by another process, which has ended.
		earlier bool
		// hostThen and hostNow are how far the host's clock was off at the send
		// and is at the end; it is set in the middle of this process.
		hostThen, hostNow time.Duration
		// toldThen: the answer told the server's time. toldNow: a later one of
		// this process did.
		toldThen, toldNow bool
		want              time.Duration // after one hour
		// handled: another process has changed the record after that.
		handled bool
		unknown bool
	}{
		{name: "own, all clocks well", want: hour},
		{name: "own, host set forward", hostNow: 2 * hour, want: 3 * hour},
		{name: "own, host set back", hostNow: -2 * hour, want: 3 * hour},
		{name: "own, host corrected a little", hostNow: 30 * time.Second, want: hour},
		{name: "own, host set back, server known", hostNow: -2 * hour, toldThen: true, toldNow: true, want: hour},

		{name: "recorded, all clocks well", earlier: true, want: hour},
		{name: "recorded, host was always wrong", earlier: true, hostThen: -2 * hour, hostNow: -2 * hour, want: hour},
		{name: "recorded, host set forward meanwhile", earlier: true, hostNow: 2 * hour, want: 5 * hour},
		{name: "recorded, host set back a little", earlier: true, hostNow: -20 * time.Second, want: hour - 20*time.Second},
		{name: "recorded, host runs behind the ledger", earlier: true, hostNow: -2 * hour, unknown: true},
		{name: "recorded, host runs behind the ledger, server known now", earlier: true, hostNow: -2 * hour, toldNow: true, unknown: true},
		{name: "recorded, sent in the host's future, and handled since", earlier: true, hostNow: -2 * hour, handled: true, unknown: true},
		{name: "recorded, the same, and server known now", earlier: true, hostNow: -2 * hour, handled: true, toldNow: true, unknown: true},
		{name: "recorded, host always ahead, server known then only", earlier: true, hostThen: 24 * hour, hostNow: 24 * hour, toldThen: true, want: 25 * hour},
		{name: "recorded, host set back and come to that time again, server known then only", earlier: true, hostThen: 45 * time.Minute, toldThen: true, want: hour},
		{name: "recorded, server known then and now", earlier: true, hostNow: -2 * hour, toldThen: true, toldNow: true, want: hour},
		{name: "recorded, server known then only", earlier: true, toldThen: true, want: hour},
		{name: "recorded, host found wrong by the server", earlier: true, hostThen: 2 * hour, hostNow: 2 * hour, toldNow: true, want: 3 * hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				off := tt.hostThen
				host := func() time.Time { return time.Now().Round(0).Add(off) }
				c := NewClock(host)
				answer := func() (http.Header, time.Time) {
					return http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}, time.Now()
				}

				first := Send{Local: time.Now()}
				if tt.earlier {
					first = Send{Local: host(), Recorded: host()}
				}
				if tt.toldThen {
					first.Date, first.Received = time.Now(), first.Local
				}
				time.Sleep(30 * time.Minute)
				off = tt.hostNow
				time.Sleep(30*time.Minute - time.Second)
				if tt.handled {
					first.Recorded = host()
				}
				if tt.toldNow {
					c.hear(answer())
				}
				time.Sleep(time.Second)

				age, known := c.age(first)
				if known == tt.unknown {
					t.Fatalf("known: %t", known)
				}
				if d := age - tt.want; known && d.Abs() > 2*time.Second { // dates are whole seconds
					t.Errorf("age %v, want %v", age, tt.want)
				}
			})
		})
	}
}

// A machine that slept does not know the server's time any more.
func TestTheServersTimeIsForgottenInSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slept time.Duration
		c := NewClock(func() time.Time { return time.Now().Round(0).Add(slept) })
		if c.knowsServer() {
			t.Error("known before any answer")
		}
		c.hear(http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}, time.Now())
		time.Sleep(time.Hour)
		if !c.knowsServer() {
			t.Error("not known after an answer")
		}
		slept = 8 * time.Hour // the monotonic clock stood still
		if c.knowsServer() {
			t.Error("still known after a sleep")
		}
	})
}
