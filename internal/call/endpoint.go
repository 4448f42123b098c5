package call

import (
	"net/http"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
)

// Class says what the server does with a repeated request.
type Class uint8

const (
	Safe        Class = iota // reads: repeat freely
	HonoursKeys              // a repeat under the same key returns the stored answer
	ByNature                 // sets a state: a repeat sets the same state again
	Neither                  // a repeat is a second effect
)

var classNames = [...]string{Safe: "safe", HonoursKeys: "honours keys", ByNature: "by nature", Neither: "neither"}

func (c Class) String() string { return classNames[c] }

// Proof says what tells whether an attempt without a clear answer had its effect.
type Proof uint8

const (
	ProofNone Proof = iota // nothing does
	ProofLook              // reading the server's state back
	ProofKey               // a repeat under the key: that every final answer is stored, and a key locked in flight, is assumed
)

var proofNames = [...]string{ProofNone: "none", ProofLook: "look", ProofKey: "key"}

func (p Proof) String() string { return proofNames[p] }

// Endpoint is one row of an API's table. The retry rules, span names, coverage
// tests and documents all read it.
type Endpoint struct {
	Name      string        // the operation's id in the API's specification
	Method    string        // GET, POST, PUT, PATCH or DELETE
	Path      string        // template: /public/v1/contacts/{id}
	Class     Class         //
	Retention time.Duration // how long the server remembers a key; 0 where it honours none
	Proof     Proof         //
	Lane      string        // the target whose state it sets, as a template; "" for none
	Group     string        // what it would do twice, or undo, while that is not settled; a template
	EmptyOK   bool          // a 2xx without a body is a success
	Secret    bool          // the answer shows a secret, once: it is never kept
	// Keeping is what the ledger keeps where the request holds what must not be
	// at rest; zero for most.
	Keeping ledger.Keeping
	// Significance is how requests are compared.
	Significance ledger.Significance
	Money        Money  // that a request moves or sets; zero for most
	Source       string // where these facts come from
}

// Money is where a request says how much money it is about.
type Money struct {
	Field    string // the member of its body; "" for none
	Kind     ledger.AmountKind
	Currency string // of all such amounts; "" where it is not known
}

// Route names the endpoint without any value of a request in it, as spans and
// logs want it: "GET /public/v1/contacts/{id}".
func (e *Endpoint) Route() string { return e.Method + " " + e.Path }

// Mutates reports whether a call of the endpoint may change something.
func (e *Endpoint) Mutates() bool { return e.Class != Safe }

// Matches reports whether a request line is one of this endpoint: the method
// is equal and path, escaped, has the template's segments.
func (e *Endpoint) Matches(method, path string) bool {
	want, got := strings.Split(e.Path, "/"), strings.Split(path, "/")
	if method != e.Method || len(want) != len(got) {
		return false
	}
	for i, segment := range want {
		if got[i] != segment && (got[i] == "" || !strings.HasPrefix(segment, "{")) {
			return false
		}
	}
	return true
}

// Undeclared is the row of a request that no table knows. What nobody promised
// is not relied on: a POST or PATCH is a second effect when repeated.
func Undeclared(method, path string) *Endpoint {
	e := &Endpoint{Name: "do", Method: method, Path: path, EmptyOK: true, Source: "not declared"}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		e.Class = Safe
	case http.MethodPut, http.MethodDelete:
		e.Class, e.Lane = ByNature, path
	default:
		e.Class = Neither
	}
	return e
}
