package call

import "time"

// Span is when the effect of an operation can have come to be, on the server's clock.
type Span struct {
	From  time.Time // not before
	Since time.Time // then, and later, it was after the first send for certain; zero: the clocks do not tell
	Done  time.Time // by then the server was done with the last attempt, as far as anybody knows; zero: likewise
}

const (
	// Slack is how far two clocks may differ that are not compared, such as the one in
	// an answer's Date and the one of the objects in a list.
	Slack = 2 * time.Minute
	// blind is how far back a look goes that knows no time of the server's.
	blind = 25 * time.Hour
	// MostRead is how many objects a look reads of one list. A longer one is not read to
	// its end, and so does not tell what is absent.
	MostRead = 1000
)

// Span is what a search has to look at.
func (s *Search) Span() Span {
	at, known := s.First.Server()
	if !known {
		return Span{From: s.First.blind()}
	}
	return Span{at.Add(-Slack), at, s.First.Date.Add(s.Done.Sub(s.First.Received) + time.Second)}
}
