package call

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// What may follow an attempt, for each class and proof. The rows that say stop
// or look are the ones that keep an effect from happening twice.
func TestDecide(t *testing.T) {
	looks := func(context.Context, Search) (Sighting, error) { return Absent, nil }
	ep := func(c Class, p Proof) *Endpoint { return &Endpoint{Class: c, Proof: p} }
	unclear := retry.Verdict{Outcome: retry.Unknown, Rule: "unclear", Again: true}
	final := retry.Verdict{Outcome: retry.Unknown, Rule: "unclear"}
	lane := ep(ByNature, ProofNone)
	lane.Lane = "contact:{id}"
	secret := ep(HonoursKeys, ProofKey)
	secret.Secret = true
	for _, tt := range []struct {
		name    string
		op      Operation
		v       retry.Verdict
		status  int
		refused int
		want    step
	}{
		{"read, cut", Operation{Endpoint: ep(Safe, ProofNone)}, unclear, 0, 0, resend},
		{"read, 502", Operation{Endpoint: ep(Safe, ProofNone)}, unclear, 502, 0, resend},
		{"read, 404 page", Operation{Endpoint: ep(Safe, ProofNone)}, final, 404, 0, stop},
		{"by nature, cut", Operation{Endpoint: ep(ByNature, ProofNone)}, unclear, 0, 0, resend},
		{"by nature, 500", Operation{Endpoint: ep(ByNature, ProofNone)}, unclear, 500, 0, resend},
		{"in a lane, cut: the server may still work, and the next would be undone", Operation{Endpoint: lane}, unclear, 0, 0, resendLate},
		{"in a lane, 408", Operation{Endpoint: lane}, unclear, 408, 0, resendLate},
		{"in a lane, 500 seen: the server is done", Operation{Endpoint: lane}, unclear, 500, 0, resend},
		{"in a lane, 502 of something between", Operation{Endpoint: lane}, unclear, -502, 0, resendLate},
		{"in a lane, 504", Operation{Endpoint: lane}, unclear, 504, 0, resendLate},
		{"in a lane, 200 unreadable", Operation{Endpoint: lane}, unclear, 200, 0, resend},
		{"neither, cut", Operation{Endpoint: ep(Neither, ProofLook)}, unclear, 0, 0, stop},
		{"neither, 502", Operation{Endpoint: ep(Neither, ProofNone)}, unclear, 502, 0, stop},
		{"neither, not sent", Operation{Endpoint: ep(Neither, ProofNone)},
			retry.Verdict{Outcome: retry.NotSent, Again: true}, 0, 0, resend},
		{"neither, throttled", Operation{Endpoint: ep(Neither, ProofNone)},
			retry.Verdict{Outcome: retry.Throttled, Again: true}, 429, 0, resend},
		{"neither, delivery failed and retries asked for", Operation{Endpoint: ep(Neither, ProofNone), Deliveries: 3},
			retry.Verdict{Outcome: retry.Refused, Rule: retry.RuleCode}, 502, 1, stop},
		{"keys, cut: the server may still work", Operation{Endpoint: ep(HonoursKeys, ProofLook), Look: looks}, unclear, 0, 0, resendLate},
		{"keys, 408", Operation{Endpoint: ep(HonoursKeys, ProofLook), Look: looks}, unclear, 408, 0, resendLate},
		{"keys, 500 seen: no answer of that kind is stored", Operation{Endpoint: ep(HonoursKeys, ProofLook), Look: looks}, unclear, 500, 0, look},
		{"keys, 500 seen, nothing to look at", Operation{Endpoint: ep(HonoursKeys, ProofNone)}, unclear, 500, 0, stop},
		{"keys, 200 unreadable: stored, ask again", Operation{Endpoint: ep(HonoursKeys, ProofLook), Look: looks}, unclear, 200, 0, resend},
		{"keys, 200 of something between: the server may still work", Operation{Endpoint: ep(HonoursKeys, ProofLook), Look: looks}, unclear, -200, 0, resendLate},
		{"keys, in progress", Operation{Endpoint: ep(HonoursKeys, ProofLook), Look: looks},
			retry.Verdict{Outcome: retry.Unknown, Rule: retry.RuleCode, Again: true}, 409, 0, resend},
		{"keys, redirect", Operation{Endpoint: ep(HonoursKeys, ProofLook), Look: looks}, final, 302, 0, stop},
		{"careful, cut", Operation{Endpoint: ep(HonoursKeys, ProofLook), Look: looks, Careful: true}, unclear, 0, 0, look},
		{"careful, 200 unreadable", Operation{Endpoint: ep(HonoursKeys, ProofLook), Look: looks, Careful: true}, unclear, 200, 0, look},
		{"careful, in progress", Operation{Endpoint: ep(HonoursKeys, ProofLook), Look: looks, Careful: true},
			retry.Verdict{Outcome: retry.Unknown, Rule: retry.RuleCode, Again: true}, 409, 0, look},
		{"careful, nothing to look at", Operation{Endpoint: ep(HonoursKeys, ProofKey), Careful: true}, unclear, 0, 0, stop},
		{"careful, a state", Operation{Endpoint: ep(ByNature, ProofNone), Careful: true}, unclear, 0, 0, resend},
		{"careful, throttled", Operation{Endpoint: ep(HonoursKeys, ProofLook), Look: looks, Careful: true},
			retry.Verdict{Outcome: retry.Throttled, Again: true}, 429, 0, resend},
		{"proof key, 500: that it is stored is only assumed", Operation{Endpoint: ep(HonoursKeys, ProofKey), Look: looks}, unclear, 500, 0, look},
		{"proof key, 500, nothing to look at", Operation{Endpoint: ep(HonoursKeys, ProofKey)}, unclear, 500, 0, resend},
		{"proof key, 502 of something between", Operation{Endpoint: ep(HonoursKeys, ProofKey), Look: looks}, unclear, -502, 0, look},
		{"proof key, the same, nothing to look at", Operation{Endpoint: ep(HonoursKeys, ProofKey)}, unclear, -502, 0, resendLate},
		{"a secret, 500: no repeat brings it", Operation{Endpoint: secret, Look: looks}, unclear, 500, 0, look},
		{"a secret, 502 of something between: only the lost answer shows it", Operation{Endpoint: secret, Look: looks}, unclear, -502, 0, resendLate},
		{"proof key, 504", Operation{Endpoint: ep(HonoursKeys, ProofKey), Look: looks}, unclear, 504, 0, look},
		{"proof key, cut: that the key is locked is only assumed", Operation{Endpoint: ep(HonoursKeys, ProofKey), Look: looks}, unclear, 0, 0, resendLate},
		{"proof key, in progress", Operation{Endpoint: ep(HonoursKeys, ProofKey), Look: looks},
			retry.Verdict{Outcome: retry.Unknown, Rule: retry.RuleCode, Again: true}, 409, 0, resend},
		{"refused", Operation{Endpoint: ep(HonoursKeys, ProofLook)},
			retry.Verdict{Outcome: retry.Refused}, 403, 1, stop},
		{"delivery failed, second of two retries", Operation{Endpoint: ep(HonoursKeys, ProofLook), Deliveries: 2},
			retry.Verdict{Outcome: retry.Refused, Rule: retry.RuleCode}, 502, 2, resend},
		{"delivery failed, no retry left", Operation{Endpoint: ep(HonoursKeys, ProofLook), Deliveries: 2},
			retry.Verdict{Outcome: retry.Refused, Rule: retry.RuleCode}, 502, 3, stop},
		{"a revoked key, delivery retries asked for", Operation{Endpoint: ep(HonoursKeys, ProofLook), Deliveries: 2},
			retry.Verdict{Outcome: retry.Refused, Rule: "refused"}, 401, 1, stop},
		{"rejected", Operation{Endpoint: ep(HonoursKeys, ProofLook)},
			retry.Verdict{Outcome: retry.Rejected}, 422, 0, stop},
		{"conflict", Operation{Endpoint: ep(HonoursKeys, ProofKey)},
			retry.Verdict{Outcome: retry.Conflict}, 409, 0, stop},
	} {
		last := &retry.Attempt{Status: tt.status, RequestID: "r"}
		switch {
		case tt.status < 0: // a page that is not the API's
			last = &retry.Attempt{Status: -tt.status}
		case tt.status >= 500:
			last.Code = "SERVER_ERROR"
		}
		if got := decide(&tt.op, tt.v, last, tt.refused, false); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	key := Operation{Endpoint: ep(HonoursKeys, ProofKey)}
	for name, seen := range map[string]*retry.Attempt{
		"500":                           {Status: 500, RequestID: "r", Code: "SERVER_ERROR"},
		"504 with a code of the API":    {Status: 504, RequestID: "r", Code: "TIMEOUT"},
		"500 that has a code and no id": {Status: 500, Code: "SERVER_ERROR"},
	} {
		if got := decide(&key, unclear, seen, 0, true); got != stop {
			t.Errorf("proof key, %s, nothing to look at, recorded: %v, want it left to be found out", name, got)
		}
		looked := key
		looked.Look = looks
		if got := decide(&looked, unclear, seen, 0, true); got != look {
			t.Errorf("proof key, %s, recorded: %v, want a look", name, got)
		}
	}
	if got := decide(&key, unclear, &retry.Attempt{Status: 504, Code: "TIMEOUT"}, 0, false); got != resendLate {
		t.Errorf("proof key, 504 with a code, not recorded: %v, want it sent again when the server must be done", got)
	}
}

func TestMatches(t *testing.T) {
	ep := &Endpoint{Method: "DELETE", Path: "/v1/contacts/{id}/tags/{tag}"}
	for line, want := range map[string]bool{
		"/v1/contacts/7/tags/vip":    true,
		"/v1/contacts/7/tags/a%2Fb":  true,
		"/v1/contacts/7/tags":        false,
		"/v1/contacts/7/tags/":       false,
		"/v1/contacts/7/tags/vip/x":  false,
		"/v1/contacts//tags/vip":     false,
		"/v1/contacts/7/labels/vip":  false,
		"/v1/contacts/7/tags/vip/":   false,
		"v1/contacts/7/tags/vip":     false,
		"/v1/v1/contacts/7/tags/vip": false,
	} {
		if got := ep.Matches("DELETE", line); got != want {
			t.Errorf("Matches(%q) = %t, want %t", line, got, want)
		}
	}
	if ep.Matches("GET", "/v1/contacts/7/tags/vip") {
		t.Error("another method matched")
	}
}

func TestUndeclaredAssumesNothing(t *testing.T) {
	for method, want := range map[string]Class{"GET": Safe, "PUT": ByNature, "DELETE": ByNature, "POST": Neither, "PATCH": Neither} {
		if got := Undeclared(method, "/x").Class; got != want {
			t.Errorf("%s is %v, want %v", method, got, want)
		}
	}
}

func TestClaims(t *testing.T) {
	msg := func(ids ...int64) []Object {
		var all []Object
		for _, id := range ids {
			all = append(all, Object{Kind: "message", ID: id})
		}
		return all
	}
	type found = map[uint64][]Object
	sight := func(f found) (s Sightings) {
		for l, all := range f {
			for _, o := range all {
				s.Add(l, o)
			}
		}
		return s
	}
	for _, tt := range []struct {
		name   string
		others func(*Claims) // what else goes on in the process
		search Search        // and elsewhere
		mine   []uint64
		found  found
		want   Sighting
		ids    []Object
	}{
		{"nothing there", nil, Search{}, []uint64{1}, found{}, Absent, nil},
		{"one there, one operation", nil, Search{}, []uint64{1}, found{1: msg(5)}, Found, msg(5)},
		{"more there than operations: somebody else's as well", nil, Search{}, []uint64{1}, found{1: msg(5, 6)}, Found, msg(6)},
		{"one there, two operations", func(c *Claims) { c.Begin(1) }, Search{}, []uint64{1}, found{1: msg(5)}, Ambiguous, nil},
		{"two there, two operations: which is whose?", func(c *Claims) { c.Begin(1) }, Search{}, []uint64{1}, found{1: msg(5, 6)}, Ambiguous, nil},
		{"none there, two operations", func(c *Claims) { c.Begin(1) }, Search{}, []uint64{1}, found{}, Absent, nil},
		{"one there, another ended unknown", func(c *Claims) { c.Begin(1); c.Lose("lost", 1) }, Search{}, []uint64{1}, found{1: msg(5)}, Ambiguous, nil},
		{"the one there is another's, settled", func(c *Claims) { c.Begin(1); c.Settle("other", msg(5), 1) }, Search{}, []uint64{1}, found{1: msg(5)}, Absent, nil},
		{"another failed for good", func(c *Claims) { c.Begin(1); c.Settle("other", nil, 1) }, Search{}, []uint64{1}, found{1: msg(5)}, Found, msg(5)},
		{"bulk, all there", nil, Search{}, []uint64{1, 2}, found{1: msg(5), 2: msg(6)}, Found, msg(5, 6)},
		{"bulk, two equal items", nil, Search{}, []uint64{1, 1}, found{1: msg(5, 6)}, Found, msg(5, 6)},
		{"bulk, two equal items, one there", nil, Search{}, []uint64{1, 1}, found{1: msg(5)}, Ambiguous, nil},
		{"bulk, some there", nil, Search{}, []uint64{1, 2}, found{1: msg(5)}, Ambiguous, nil},
		{"bulk, none there", nil, Search{}, []uint64{1, 2}, found{}, Absent, nil},
		{"two there, two operations that ended unknown", func(c *Claims) { c.Begin(1); c.Lose("lost", 1) }, Search{}, []uint64{1}, found{1: msg(5, 6)}, Found, msg(6)},
		{"another ended unknown, and was settled since", func(c *Claims) { c.Begin(1); c.Lose("lost", 1); c.Begin(1); c.Settle("lost", msg(4), 1) }, Search{}, []uint64{1}, found{1: msg(4, 5)}, Found, msg(5)},
		{"another ended unknown twice: it is one", func(c *Claims) { c.Begin(1); c.Lose("lost", 1); c.Begin(1); c.Lose("lost", 1) }, Search{}, []uint64{1}, found{1: msg(5, 6)}, Found, msg(6)},
		{"its own earlier end counts no second time", func(c *Claims) { c.Begin(1); c.Lose("mine", 1) }, Search{ID: "mine"}, []uint64{1}, found{1: msg(5)}, Found, msg(5)},
		{"one there, another is under way elsewhere", nil, Search{Rivals: ledger.Rivals{Underway: 1}}, []uint64{1}, found{1: msg(5, 6)}, Ambiguous, nil},
		{"one there, another ended unknown elsewhere", nil, Search{Rivals: ledger.Rivals{Unclear: 1}}, []uint64{1}, found{1: msg(5)}, Ambiguous, nil},
		{"two there, another ended unknown elsewhere", nil, Search{Rivals: ledger.Rivals{Unclear: 1}}, []uint64{1}, found{1: msg(5, 6)}, Found, msg(6)},
		{"none there, another is under way elsewhere", nil, Search{Rivals: ledger.Rivals{Underway: 1}}, []uint64{1}, found{}, Absent, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := NewClaims()
			if tt.others != nil {
				tt.others(c)
			}
			c.Begin(tt.mine...)
			got, ids := c.Match(&tt.search, tt.mine, sight(tt.found), Sightings{})
			if got != tt.want || len(ids) != len(tt.ids) {
				t.Fatalf("Match = %v %v, want %v %v", got, ids, tt.want, tt.ids)
			}
			for i := range ids {
				if ids[i] != tt.ids[i] {
					t.Errorf("Match took %v, want %v", ids, tt.ids)
				}
			}
			if got == Found {
				if again, _ := c.Match(&tt.search, tt.mine, sight(tt.found), Sightings{}); again == Found && len(tt.found[1]) < 2 {
					t.Error("the same object was taken twice")
				}
			}
		})
	}
}

// What may be the operation's, but is not surely so, is neither taken nor absent.
func TestClaimsLeaveWhatIsPerhapsTheirs(t *testing.T) {
	c := NewClaims()
	c.Begin(1)
	var perhaps Sightings
	perhaps.Add(1, Object{Kind: "message", ID: 5})
	if got, _ := c.Match(&Search{}, []uint64{1}, Sightings{}, perhaps); got != Ambiguous {
		t.Errorf("Match = %v, want Ambiguous", got)
	}
	var sure Sightings
	sure.Add(1, Object{Kind: "message", ID: 6})
	if got, ids := c.Match(&Search{}, []uint64{1}, sure, perhaps); got != Found || ids[0].ID != 6 {
		t.Errorf("Match = %v %v, want the sure one", got, ids)
	}
	c.Begin(2)
	c.Settle("other", []Object{{Kind: "message", ID: 5}}, 2)
	c.Begin(1)
	if got, _ := c.Match(&Search{}, []uint64{1, 1}, Sightings{}, perhaps); got != Absent {
		t.Errorf("Match = %v: what belongs to another is no doubt", got)
	}
}

// What is remembered ends, so that a client that lives long neither grows nor
// stays in doubt for ever.
func TestClaimsForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClaims()
		c.Begin(1, 2)
		c.Settle("other", []Object{{Kind: "message", ID: 5}}, 1, 2)
		c.Begin(1)
		c.Lose("lost", 1)
		time.Sleep(memory + time.Second)
		if got, _ := c.Match(&Search{}, []uint64{9}, Sightings{}, Sightings{}); got != Absent {
			t.Errorf("Match = %v", got)
		}
		if len(c.open)+len(c.lost)+len(c.taken)+len(c.takes) != 0 {
			t.Errorf("something is remembered: open %v, lost %v, taken %v", c.open, c.lost, c.taken)
		}
	})
}
