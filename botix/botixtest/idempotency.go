package botixtest

import (
	"net/http"
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
	request  request
	working  int           // requests being executed
	idle     chan struct{} // closed when working falls to zero
	answer   *Answer       // nil until one is stored
	storedAt time.Time
}

// request is what a repeat must share with the first one: to the byte, since a server that parses before it compares is
// the kinder one.
type request struct{ method, path, bodyHash string }

// promise is what one half of the API promises about a key.
type promise struct {
	retention time.Duration
	inFlight  InFlight
	reused    int // status for another request under the key; 0 answers it as the first one
	keeps     func(status int) bool
}

// promise returns what holds for a request. It is called with Server.mu held.
func (s *Server) promise(x *exchange) promise {
	if p := s.config.Partner; x.partner {
		inFlight := RefuseInFlight
		if p.Unlocked {
			inFlight = ExecuteBoth
		}
		return promise{p.Retention, inFlight, http.StatusConflict, p.Storage.keeps}
	}
	reused := 0
	if s.config.Reuse == RefuseReuse {
		reused = statusOf["IDEMPOTENCY_KEY_REUSED"]
	}
	storeErrors := s.config.StoreServerErrors
	return promise{s.config.Retention, s.config.InFlight, reused, func(status int) bool {
		return status/100 == 2 || storeErrors && status >= 500
	}}
}

// begin decides what an Idempotency-Key means for this request: a non-nil answer ends it; nil means execute, and then
// call end. It may wait, under [WaitForFirst], so Server.mu must not be held.
func (s *Server) begin(x *exchange) *Answer {
	if x.op.idempotent && x.partner && x.call.IdempotencyKey == "" {
		return refuse("IDEMPOTENCY_KEY_REQUIRED", "the "+x.called("Idempotency-Key")+" header is missing")
	}
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
	promise := s.promise(x)
	id := keyID{x.key.id, x.call.IdempotencyKey}
	record := s.records[id]
	if record != nil && record.answer != nil && s.clock.Now().Sub(record.storedAt) >= promise.retention {
		record.answer = nil // forgotten: the key may now mean something else
	}
	if record == nil {
		record = &keyRecord{}
		s.records[id] = record
	}
	asked := request{x.call.Method, x.call.Path, x.call.BodyHash}
	known := record.answer != nil || record.working > 0
	switch {
	case known && record.request != asked && promise.reused != 0:
		return failure(promise.reused, "IDEMPOTENCY_KEY_REUSED", "the key belongs to another request", nil), nil
	case record.answer != nil:
		x.call.Replayed = true
		return s.replay(record.answer), nil
	case record.working > 0 && promise.inFlight == WaitForFirst:
		return nil, record.idle
	case record.working > 0 && promise.inFlight == RefuseInFlight:
		answer := refuse("IDEMPOTENCY_IN_PROGRESS", "a request with this key is being worked on")
		answer.Header.Set("Retry-After", "1")
		return answer, nil
	}
	if record.working == 0 {
		record.idle = make(chan struct{})
		record.request = asked
	}
	record.working++
	x.record = record
	return nil, nil
}

// replay answers as the first request under a key was answered.
func (s *Server) replay(stored *Answer) *Answer {
	answer := stored.clone()
	if stored.replay != nil {
		if other := stored.replay(s); other != nil {
			answer = other
		}
	}
	answer.Header.Set("Idempotent-Replayed", "1")
	return answer
}

// ForgetKeys makes both halves forget every Idempotency-Key that is not being worked on, as if its retention were over: a
// server that keeps less than it promises.
func (s *Server) ForgetKeys() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, record := range s.records {
		record.answer = nil
	}
}

// store keeps the answer of an executed request for its key, if the API keeps such answers. The first one stays:
// retention counts from it. It is called with Server.mu held.
func (s *Server) store(x *exchange, answer *Answer) {
	if x.record == nil || x.record.answer != nil || !s.promise(x).keeps(answer.Status) {
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
