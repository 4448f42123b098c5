package webhookverify

import (
	"cmp"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// MaxSecrets is how many secrets may hold at once. The body is hashed once for
// each, so this bounds what a forged delivery costs.
const MaxSecrets = 8

// Verifier checks deliveries of one scheme. It is safe for concurrent use, also
// while its secrets change.
type Verifier struct {
	scheme   *scheme
	rotating sync.Mutex // held by Rotate, never by a check
	ring     atomic.Pointer[ring]
}

// Match is a delivery that was verified: what of it is proved beside the body.
type Match struct {
	Secret string    // name of the secret that matched: as given, or "secret 1" for the first of the list
	Index  int       // its place in the list, from 0
	ID     string    // the message's id, where the scheme signs one
	Signed time.Time // when it was signed, where the scheme signs that; else zero
}

// New returns a verifier of deliveries that are signed with any of the secrets.
// It refuses a scheme that cannot work, and secrets that protect nothing: none
// at all, an empty or blank one, one given twice.
func New(scheme Scheme, secrets ...Secret) (*Verifier, error) {
	s, err := scheme.compile()
	if err != nil {
		return nil, err
	}
	v := &Verifier{scheme: s}
	if err := v.Rotate(secrets...); err != nil {
		return nil, err
	}
	return v, nil
}

// Scheme returns the scheme with its defaults filled in.
func (v *Verifier) Scheme() Scheme { return v.scheme.Scheme }

// Verify checks a delivery that came just now. The body must be the bytes as
// they were received; no other spelling of the same JSON is signed. The error is
// an *[Error].
//
// A delivery that was stored, or waited in a queue, is checked by
// [Verifier.VerifyAt] with the time at which it came.
func (v *Verifier) Verify(header http.Header, body []byte) (Match, error) {
	return v.VerifyAt(header, body, time.Now())
}

// VerifyAt is [Verifier.Verify] for a delivery that came at received.
//
// It decides by the secrets that hold when it decides, and looks again when they
// change while it looks.
func (v *Verifier) VerifyAt(header http.Header, body []byte, received time.Time) (Match, error) {
	var c claim
	if err := v.scheme.read(header, received, &c); err != nil {
		return Match{}, err
	}
	return v.check(&c, body, received)
}

// check compares a claim with a body.
func (v *Verifier) check(c *claim, body []byte, received time.Time) (Match, error) {
	if len(body) == 0 {
		return Match{}, v.scheme.refuse(ErrEmptyBody, "", "")
	}
	ring, i := v.decide(c, body)
	if i < 0 {
		return Match{}, v.scheme.refuse(ErrMismatch, v.scheme.SignatureHeader, "")
	}
	return ring.match(i, c, received), nil
}

// decide returns the ring that holds, and the place in it of the key that matches.
func (v *Verifier) decide(c *claim, body []byte) (*ring, int) {
	for {
		ring := v.ring.Load()
		if i := ring.find(v.scheme, c, body); v.ring.Load() == ring {
			return ring, i
		}
	}
}

// Rotate replaces the secrets while deliveries are being checked. Once it has
// returned no check decides by the secrets before: what was left out accepts
// nothing any more, and what was given accepts all that it signed, also in checks
// that had begun.
//
// To change a secret without refusing anything: Rotate(fresh, old), let the
// sender change over, wait until [Verifier.Uses] shows no match of the old one
// for longer than the sender repeats a delivery, Rotate(fresh). On an error
// nothing has changed.
func (v *Verifier) Rotate(secrets ...Secret) error {
	v.rotating.Lock()
	defer v.rotating.Unlock()
	next, err := v.scheme.newRing(secrets, v.ring.Load())
	if err != nil {
		return err
	}
	v.ring.Store(next)
	return nil
}

// Use tells how far a secret is in use.
type Use struct {
	Secret  string    // its name
	Matches uint64    // deliveries it verified since it was first given
	Last    time.Time // when the latest of these came; zero when there was none
}

// Uses returns the secrets that hold, in the order of the list.
func (v *Verifier) Uses() []Use {
	ring := v.ring.Load()
	uses := make([]Use, len(ring.keys))
	for i, k := range ring.keys {
		uses[i] = Use{Secret: ring.names[i], Matches: k.matches.Load()}
		if last := k.last.Load(); last != 0 {
			uses[i].Last = time.Unix(0, last).UTC()
		}
	}
	return uses
}

// ring is the secrets that hold. It is never changed, only replaced.
type ring struct {
	keys  []*key
	names []string
}

// newRing makes a ring, and keeps what is known of secrets that are in old too.
func (s *scheme) newRing(secrets []Secret, old *ring) (*ring, error) {
	switch {
	case len(secrets) == 0:
		return nil, fmt.Errorf("webhookverify: %s: no secret was given", s.Name)
	case len(secrets) > MaxSecrets:
		return nil, fmt.Errorf("webhookverify: %s: %d secrets, at most %d can hold at once", s.Name, len(secrets), MaxSecrets)
	}
	next := &ring{}
	for i, secret := range secrets {
		name := cmp.Or(secret.name, fmt.Sprintf("secret %d", i+1))
		material, err := s.material(secret)
		switch {
		case err != nil:
			return nil, fmt.Errorf("webhookverify: %s: %s %w", s.Name, name, err)
		case slices.Contains(next.names, name) || next.keyOf(material) != nil:
			return nil, fmt.Errorf("webhookverify: %s: %s is in the list twice", s.Name, name)
		}
		k := old.keyOf(material)
		if k == nil {
			k = s.newKey(material)
		}
		next.keys, next.names = append(next.keys, k), append(next.names, name)
	}
	return next, nil
}

// keyOf returns the ring's key of this material, or nil. A nil ring has none.
func (r *ring) keyOf(material []byte) *key {
	if r == nil {
		return nil
	}
	for _, k := range r.keys {
		if subtle.ConstantTimeCompare(k.material, material) == 1 {
			return k
		}
	}
	return nil
}

// find returns the place of the first key under which the claim holds, or -1.
func (r *ring) find(s *scheme, c *claim, body []byte) int {
	for i, k := range r.keys {
		m := k.mac()
		m.begin(s, c)
		m.Write(body)
		found := c.holds(m.end(s, c))
		k.pool.Put(m)
		if found {
			return i
		}
	}
	return -1
}

// match notes that a key verified a delivery, and says so.
func (r *ring) match(i int, c *claim, received time.Time) Match {
	k := r.keys[i]
	k.matches.Add(1)
	for at := received.UnixNano(); ; { // the latest stays, whoever is last to note his
		last := k.last.Load()
		if last >= at || k.last.CompareAndSwap(last, at) {
			break
		}
	}
	return Match{Secret: r.names[i], Index: i, ID: c.id, Signed: c.at}
}
