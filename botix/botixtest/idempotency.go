package botixtest

import (
	"time"
)

// InFlight is what happens to a request whose Idempotency-Key is being worked on right now. The contract is silent.
type InFlight int

const (
	ExecuteBoth    InFlight = iota // nothing is locked: both are executed
	WaitForFirst                   // the second waits and gets the first one's answer, or executes when the first stored none
	RefuseInFlight                 // 409 IDEMPOTENCY_IN_PROGRESS with Retry-After: 1
)

// Reuse is what happens to a known Idempotency-Key with another body. The contract is silent here too.
type Reuse int

const (
	ReplayFirst Reuse = iota // the first answer comes back, whatever the body says
	RefuseReuse              // 422 IDEMPOTENCY_KEY_REUSED
)

const maxKeyLength = 255

// keyID names a stored answer: the same Idempotency-Key under another API key is another operation.
type keyID struct {
	apiKey int64
	key    string
}

// keyRecord is what the sandbox knows of one key. Server.mu guards it.
type keyRecord struct {
	operation string
	bodyHash  string
	working   int           // requests being executed
	idle      chan struct{} // closed when working falls to zero
	answer    *Answer       // nil until one is stored
	storedAt  time.Time
}

// begin decides what an Idempotency-Key means for this request: a non-nil answer ends it; nil means execute, and then
// call end. It may wait, under [WaitForFirst], so Server.mu must not be held.
func (s *Server) begin(x *exchange) *Answer {
	if !x.op.idempotent || x.call.IdempotencyKey == "" {
		return nil
	}
	if len(x.call.IdempotencyKey) > maxKeyLength {
		return invalid("Idempotency-Key", "longer than 255 characters")
	}
	for {
		answer, wait := s.claim(x)
		if wait == nil {
			return answer
		}
		select {
		case <-wait:
		case <-s.closing:
			return nil // and then nothing is done: see Server.answer
		}
	}
}

// claim looks the key up once. It returns a channel when the caller has to wait and claim again.
func (s *Server) claim(x *exchange) (answer *Answer, wait <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := keyID{x.key.id, x.call.IdempotencyKey}
	record := s.records[id]
	if record != nil && record.answer != nil && s.clock.Now().Sub(record.storedAt) >= s.config.Retention {
		record.answer = nil
		record.bodyHash = "" // forgotten: the key may now mean something else
	}
	if record == nil {
		record = &keyRecord{operation: x.op.id}
		s.records[id] = record
	}
	known := record.answer != nil || record.working > 0
	other := known && (record.bodyHash != x.call.BodyHash || record.operation != x.op.id)
	switch {
	case other && s.config.Reuse == RefuseReuse:
		return refuse("IDEMPOTENCY_KEY_REUSED", "the key belongs to another request"), nil
	case record.answer != nil:
		replay := record.answer.clone()
		replay.Header.Set("Idempotent-Replayed", "1")
		x.call.Replayed = true
		return replay, nil
	case record.working > 0 && s.config.InFlight == WaitForFirst:
		return nil, record.idle
	case record.working > 0 && s.config.InFlight == RefuseInFlight:
		answer := refuse("IDEMPOTENCY_IN_PROGRESS", "a request with this key is being worked on")
		answer.Header.Set("Retry-After", "1")
		return answer, nil
	}
	if record.working == 0 {
		record.idle = make(chan struct{})
		record.bodyHash, record.operation = x.call.BodyHash, x.op.id
	}
	record.working++
	x.record = record
	return nil, nil
}

// store keeps the answer of an executed request for its key. Only success is kept, and the first one stays: retention
// counts from it. It is called with Server.mu held.
func (s *Server) store(x *exchange, answer *Answer) {
	success := answer.Status/100 == 2
	keep := success || s.config.StoreServerErrors && answer.Status >= 500
	if x.record == nil || x.record.answer != nil || !keep {
		return
	}
	x.record.answer, x.record.storedAt = answer.clone(), s.clock.Now()
}

// end tells waiters that the request is no longer in flight.
func (s *Server) end(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.record == nil {
		return
	}
	if x.record.working--; x.record.working == 0 {
		close(x.record.idle)
	}
	x.record = nil
}
