package retry

import "time"

// Attempt is one try of a call: one HTTP exchange, what it proved, and how
// long was waited afterwards. It holds no body and no credential.
type Attempt struct {
	Number    int       // counted from 1
	Started   time.Time // when the exchange began, after any wait for the rate limit
	Ended     time.Time
	Outcome   Outcome
	Rule      string // the row of [Rules] that decided
	Evidence  Evidence
	Status    int    // 0 when no answer came
	Code      string // the API's error code
	RequestID string // the server's name for this exchange; give it to support
	Replayed  bool   // the answer of an earlier attempt, stored under the key
	Bytes     int    // size of the answer's body
	Rate      Rate   // the rate limit as this answer stated it
	Err       error  // why no answer could be had or read

	// Pause is the wait decided after this attempt; 0 when none followed.
	Pause time.Duration
	// Absent: a look at the server afterwards showed that this attempt, whose
	// outcome was unknown, had no effect.
	Absent bool
}

// Duration is how long the exchange took.
func (a Attempt) Duration() time.Duration { return a.Ended.Sub(a.Started) }
