package webhookverify

import (
	"errors"
	"net/http"
	"time"
)

// Stream checks a delivery whose body is not in memory at once: write the body
// to it, in pieces of any size, then ask [Stream.Verify]. Nothing in it grows
// with the body; how much is written is the caller's to limit.
//
// Until Verify has returned without an error nothing that was written may be
// believed. A Stream is for one goroutine.
type Stream struct {
	v        *Verifier
	claim    claim
	received time.Time
	ring     *ring
	macs     []*mac // one for each key of ring; nil once it has ended
	written  bool
}

// Begin starts on a delivery that is coming in now. It fails, before any of the
// body is read, when the headers alone are enough to refuse it.
func (v *Verifier) Begin(header http.Header) (*Stream, error) {
	return v.BeginAt(header, time.Now())
}

// BeginAt is [Verifier.Begin] for a delivery that came at received.
func (v *Verifier) BeginAt(header http.Header, received time.Time) (*Stream, error) {
	s := &Stream{v: v, received: received, ring: v.ring.Load()}
	if err := v.scheme.read(header, received, &s.claim); err != nil {
		return nil, err
	}
	s.macs = make([]*mac, len(s.ring.keys))
	for i, k := range s.ring.keys {
		s.macs[i] = k.mac()
		s.macs[i].begin(v.scheme, &s.claim)
	}
	return s, nil
}

// errEnded is the caller's mistake, not the sender's.
var errEnded = errors.New("webhookverify: the stream has ended")

// Write takes the next piece of the body. It fails only after Verify.
func (s *Stream) Write(p []byte) (int, error) {
	if s.macs == nil {
		return 0, errEnded
	}
	s.written = s.written || len(p) > 0
	for _, m := range s.macs {
		m.Write(p)
	}
	return len(p), nil
}

// Verify ends the stream and says whether what was written is a delivery, as
// [Verifier.Verify] does of a body. A secret that was taken away since
// [Verifier.Begin] no longer counts; one that was added does not yet.
func (s *Stream) Verify() (Match, error) {
	if s.macs == nil {
		return Match{}, errEnded
	}
	scheme, found := s.v.scheme, -1
	for i, m := range s.macs {
		if found < 0 && s.claim.holds(m.end(scheme, &s.claim)) {
			found = i
		}
		s.ring.keys[i].pool.Put(m)
	}
	s.macs = nil
	if !s.written {
		return Match{}, scheme.refuse(ErrEmptyBody, "", "")
	}
	if found >= 0 {
		now := s.v.ring.Load()
		for i, k := range now.keys {
			if k == s.ring.keys[found] {
				return now.match(i, &s.claim, s.received), nil
			}
		}
	}
	return Match{}, scheme.refuse(ErrMismatch, scheme.SignatureHeader, "")
}
