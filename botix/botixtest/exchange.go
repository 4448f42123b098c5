package botixtest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"time"
)

// exchange is one request on its way through the sandbox.
type exchange struct {
	request *http.Request
	body    []byte
	op      *operation // nil: no such path
	partner bool       // the path belongs to the partner half
	params  []string   // path parameters, in order
	call    *Call      // its row in the journal
	header  http.Header

	key     *apiKey
	project *project // public half
	account *account // partner half

	spelling *spelling
	slot     [2]time.Time // starts of the minute and of the day that it was counted in
	record   *keyRecord   // claimed Idempotency-Key, while in flight
	faults   []Fault
	item     int // index of the bulk item being worked on, for the journal; -1 outside of bulk calls
}

// param returns what the path says for a placeholder such as "{group}", "" when it has none.
func (x *exchange) param(name string) string {
	for i, segment := range parameters(x.op.segments) {
		if segment == name {
			return x.params[i]
		}
	}
	return ""
}

const maxRequestBytes = 8 << 20

// ServeHTTP answers one request. The order is the platform's: authentication, rate limit, idempotency, work, journal,
// answer.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.running.Done()

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	latency := s.latency() / 2
	s.sleep(latency)
	x := s.arrive(r, body)

	var answer *Answer
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		answer = failure(http.StatusRequestEntityTooLarge, "VALIDATION_ERROR", "the body is too large", nil)
	case err != nil: // the client broke off: half a request must have no effect
		s.finish(x, nil, 0, "")
		panic(http.ErrAbortHandler)
	default:
		answer = s.answer(x)
	}
	s.sleep(latency)
	s.write(w, x, x.spell(answer))
}

func (s *Server) latency() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config.Latency
}

// arrive opens the journal's row.
func (s *Server) arrive(r *http.Request, body []byte) *exchange {
	op, params, partner := s.spelling.find(r.Method, r.URL.EscapedPath())
	sum := sha256.Sum256(body)
	x := &exchange{request: r, body: body, op: op, partner: partner, params: params, header: make(http.Header, 8), item: -1,
		spelling: s.spelling}
	x.readBody()
	header := r.Header.Clone()
	header.Del("Authorization")
	header.Del(x.called("Authorization"))
	x.call = &Call{
		At: time.Now(), ServerTime: s.clock.Now(),
		Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Host: r.Host, Header: header,
		IdempotencyKey: x.readHeader("Idempotency-Key"),
		BodyLength:     len(body), BodyHash: hex.EncodeToString(sum[:]),
	}
	if op != nil {
		x.call.Operation = op.id
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x.call.RequestID = s.uuid()
	s.journal.open(x.call)
	return x
}

// answer decides the answer and does the work. Server.mu is taken in short steps: waits happen between them.
func (s *Server) answer(x *exchange) *Answer {
	if refused := s.enterAPI(x); refused != nil {
		return refused
	}
	x.faults = s.script.pick(*x.call)
	for _, f := range x.faults {
		if f.instead != nil || f.cut != cutNone && f.stage == beforeWork {
			return s.instead(x)
		}
	}
	if x.op == nil {
		return refuse("NOT_FOUND", "there is no such path")
	}
	known := s.begin(x)
	if early := x.early(); early != nil && known == nil && s.enter() {
		go func() {
			defer s.running.Done()
			defer s.end(x)
			if s.waitBefore(x) {
				s.work(x)
			}
		}()
		return early
	}
	if known == nil {
		defer s.end(x)
	}
	if !s.waitBefore(x) { // a server that went down meanwhile does no work any more
		return failure(http.StatusServiceUnavailable, "SERVER_CLOSED", "the sandbox is closing", nil)
	}
	if known == nil {
		known = s.work(x)
	}
	return s.alter(x, known)
}

// early is an answer that does not wait for the work; nil when there is none.
func (x *exchange) early() *Answer {
	for _, f := range x.faults {
		if f.early != nil {
			return f.early.clone()
		}
	}
	return nil
}

// enterAPI is everything that comes before the request is looked at: who asks, may they, how often, is the API there.
func (s *Server) enterAPI(x *exchange) *Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := s.announce(x) // its headers are on every answer, refusals too
	if refused := s.authenticate(x); refused != nil {
		return refused
	}
	x.call.APIKeyID = x.key.id
	s.journal.count(x.call)
	if refused := s.authorize(x); refused != nil {
		return refused
	}
	if refused := s.admit(x); refused != nil {
		return refused
	}
	return gone
}

// work executes the operation and keeps its answer under the key, in one step that nothing can interrupt: as a database
// transaction would.
func (s *Server) work(x *exchange) *Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := s.metered(x)
	x.call.Executed = answer.Status/100 == 2
	for _, f := range x.faults {
		if f.ownFailure != nil { // the platform itself fails after the work, so this is the answer it might store
			s.store(x, f.ownFailure)
			return answer
		}
	}
	s.store(x, answer)
	return answer
}

// waitBefore delays the work by what the script asks for. It returns false when the server closed meanwhile.
func (s *Server) waitBefore(x *exchange) bool {
	for _, f := range x.faults {
		s.sleep(f.before)
	}
	return s.life.Err() == nil
}

// instead answers by script, without any work.
func (s *Server) instead(x *exchange) *Answer {
	_ = s.waitBefore(x) // there is no work to leave undone
	var answer *Answer
	for _, f := range x.faults {
		if f.instead != nil {
			answer = f.instead.clone()
		}
	}
	if answer == nil { // only a cut: there is nothing to say
		return &Answer{Header: http.Header{}}
	}
	if answer.Status == http.StatusTooManyRequests {
		s.giveBack(x)
	}
	return s.alter(x, answer)
}

// alter lets the script change the answer of the work, and delays it.
func (s *Server) alter(x *exchange, answer *Answer) *Answer {
	for _, f := range x.faults {
		if f.ownFailure != nil {
			answer = f.ownFailure.clone()
		}
		if f.afterwards != nil {
			answer = f.afterwards.clone()
		}
	}
	answer = x.spell(answer)
	for _, f := range x.faults {
		if f.alter != nil {
			f.alter(answer)
		}
		s.sleep(f.after)
	}
	return answer
}
