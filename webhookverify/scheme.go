package webhookverify

import (
	"cmp"
	"crypto"
	_ "crypto/sha256" // for crypto.SHA256
	_ "crypto/sha512" // for crypto.SHA512
	"fmt"
	"hash"
	"net/http"
	"slices"
	"strings"
	"time"
)

// DefaultTolerance is how far the signed time may be from the time of receipt,
// either way, where a scheme does not say: what Stripe and Standard Webhooks use.
const DefaultTolerance = 5 * time.Minute

// Encoding is how the bytes of a signature are written as text.
type Encoding int

// The encodings of a signature.
const (
	Hex      Encoding = iota // digits of either case
	LowerHex                 // lower-case digits only
	Base64                   // the standard alphabet, padded
)

// Scheme is how a sender signs: an HMAC over a text of which the body is part,
// in a header. [BOTIX], [StandardWebhooks], [Stripe] and [GitHub] return the
// known ones, whose fields may be changed before they are used; another sender
// is described by filling in the fields.
type Scheme struct {
	Name string // how errors call it; required

	// SignatureHeader is the header that holds the signature. Required.
	SignatureHeader string
	// Separator divides the header into items when it may hold several. Items
	// that are none of ours are passed over. Empty: the whole value is one
	// signature.
	Separator string
	// Prefix stands before a signature: "sha256=", or "v1," in a list.
	Prefix string
	// PrefixOptional takes a single signature without its prefix too.
	PrefixOptional bool
	Encoding       Encoding    // of the signature
	Hash           crypto.Hash // crypto.SHA256, the default, or crypto.SHA512. A header never chooses it

	// Signed is the text that is signed, with {body}, {timestamp} and {id} in
	// their places: "{id}.{timestamp}.{body}". Default "{body}".
	Signed string
	// IDHeader holds the message's id. It must be part of Signed: an id that is
	// not signed can be changed by whoever repeats a delivery.
	IDHeader string
	// TimestampHeader holds the time of signing; TimestampPrefix stands before
	// it when it is an item of SignatureHeader instead: "t=". It must be part of
	// Signed.
	TimestampHeader string
	TimestampPrefix string
	TimestampUnit   time.Duration // since 1970: time.Second, the default, or time.Millisecond

	// Tolerance is how far the signed time may be from the time of receipt, in
	// the past or in the future. Zero means DefaultTolerance; negative is refused.
	Tolerance time.Duration
	// AnyAge takes deliveries of any age: for looking at old ones again when it
	// is not known when they came.
	AnyAge bool

	// SecretBase64 says that a secret is the key in base64, after SecretPrefix,
	// which may be missing. Otherwise the key is the text as it is.
	SecretBase64 bool
	SecretPrefix string

	// IDField names the top-level text field of a JSON body by which events are
	// told apart: "id". See [Verifier.SignedID].
	IDField string
}

// BOTIX returns the scheme of the BOTIX platform: HMAC-SHA256 of the raw body in
// lower-case hex, in X-Botix-Signature. A prefix "sha256=" is taken too; set
// Encoding to [Hex] to take upper-case digits. The secret is the one that was
// shown when the subscription was created.
//
// Nothing but the body is signed: X-Botix-Event and X-Botix-Request-Id can be
// changed by whoever repeats a delivery, and no time is signed that could age.
//
// Source: OpenAPI 1.1.0, operation webhooksCreate; the platform's article on
// webhooks.
func BOTIX() Scheme {
	return Scheme{
		Name:            "BOTIX",
		SignatureHeader: "X-Botix-Signature",
		Prefix:          "sha256=",
		PrefixOptional:  true,
		Encoding:        LowerHex,
	}
}

// StandardWebhooks returns the symmetric scheme "v1" of the Standard Webhooks
// specification, which many senders follow. Those that sign through Svix may
// name the headers svix-id, svix-timestamp and svix-signature: change the fields.
//
// Source: Standard Webhooks 1.0.0, section "Signature scheme".
func StandardWebhooks() Scheme {
	return Scheme{
		Name:            "Standard Webhooks",
		SignatureHeader: "Webhook-Signature",
		Separator:       " ",
		Prefix:          "v1,",
		Encoding:        Base64,
		Signed:          "{id}.{timestamp}.{body}",
		IDHeader:        "Webhook-Id",
		TimestampHeader: "Webhook-Timestamp",
		SecretBase64:    true,
		SecretPrefix:    "whsec_",
	}
}

// Stripe returns the scheme of Stripe: "t=…,v1=…" in Stripe-Signature. The
// secret is the endpoint's, "whsec_" included.
//
// Source: Stripe's documentation, "Verify webhook signatures manually".
func Stripe() Scheme {
	return Scheme{
		Name:            "Stripe",
		SignatureHeader: "Stripe-Signature",
		Separator:       ",",
		Prefix:          "v1=",
		Signed:          "{timestamp}.{body}",
		TimestampPrefix: "t=",
		IDField:         "id",
	}
}

// GitHub returns the scheme of GitHub: "sha256=…" over the body in
// X-Hub-Signature-256. The older X-Hub-Signature, which is SHA-1, is not looked
// at. X-GitHub-Delivery is not signed.
//
// Source: GitHub's documentation, "Validating webhook deliveries".
func GitHub() Scheme {
	return Scheme{
		Name:            "GitHub",
		SignatureHeader: "X-Hub-Signature-256",
		Prefix:          "sha256=",
	}
}

// maxSum is the size of the longest MAC, that of SHA-512.
const maxSum = 64

// scheme is a checked Scheme, ready to be used. It is never changed.
type scheme struct {
	Scheme
	before    []part // what is signed before the body
	after     []part // and after it
	aroundID  []string
	signsTime bool
	size      int // of a MAC in bytes
	newHash   func() hash.Hash
}

// compile checks a scheme. What it refuses would fail every delivery, or look
// like a protection that is none.
func (s Scheme) compile() (*scheme, error) {
	refuse := func(format string, args ...any) (*scheme, error) {
		return nil, fmt.Errorf("webhookverify: scheme %q: "+format, append([]any{s.Name}, args...)...)
	}
	s.Signed = cmp.Or(s.Signed, "{body}")
	s.Hash = cmp.Or(s.Hash, crypto.SHA256)
	s.TimestampUnit = cmp.Or(s.TimestampUnit, time.Second)
	for _, name := range []*string{&s.SignatureHeader, &s.IDHeader, &s.TimestampHeader} {
		if strings.ContainsAny(*name, " \t\r\n:") {
			return refuse("%q is no name of a header", *name)
		}
		*name = http.CanonicalHeaderKey(*name)
	}
	layout, err := parseLayout(s.Signed)
	if err != nil {
		return refuse("Signed: %w", err)
	}
	signsTime := holds(layout, partTimestamp)
	switch {
	case s.Name == "":
		return refuse("Name is empty")
	case s.SignatureHeader == "":
		return refuse("SignatureHeader is empty")
	case s.Hash != crypto.SHA256 && s.Hash != crypto.SHA512:
		return refuse("Hash must be SHA-256 or SHA-512")
	case s.Encoding < Hex || s.Encoding > Base64:
		return refuse("Encoding %d is unknown", s.Encoding)
	case s.SecretPrefix != "" && !s.SecretBase64:
		return refuse("SecretPrefix is for secrets in base64")
	case holds(layout, partID) != (s.IDHeader != ""):
		return refuse("IDHeader and {id} in Signed go together")
	case s.TimestampHeader != "" && s.TimestampPrefix != "":
		return refuse("TimestampHeader and TimestampPrefix are two places for one time")
	case signsTime != (s.TimestampHeader != "" || s.TimestampPrefix != ""):
		return refuse("a place for the time and {timestamp} in Signed go together")
	case s.TimestampPrefix != "" && (s.Separator == "" || s.TimestampPrefix == s.Prefix):
		return refuse("TimestampPrefix needs a Separator, and must not be Prefix")
	case s.PrefixOptional && s.Separator != "":
		return refuse("PrefixOptional is for a single signature")
	case s.TimestampUnit != time.Second && s.TimestampUnit != time.Millisecond:
		return refuse("TimestampUnit must be a second or a millisecond")
	case s.Tolerance < 0:
		return refuse("Tolerance is negative; AnyAge turns the check off")
	case !signsTime && (s.Tolerance > 0 || s.AnyAge):
		return refuse("Tolerance and AnyAge are for schemes that sign a time")
	case s.AnyAge && s.Tolerance > 0:
		return refuse("AnyAge and Tolerance exclude each other")
	case s.AnyAge && touching(layout):
		return refuse("AnyAge needs a text between the parts of Signed: a digit could move from one to the other")
	}
	if signsTime && !s.AnyAge {
		s.Tolerance = cmp.Or(s.Tolerance, DefaultTolerance)
	}
	body := slices.IndexFunc(layout, func(p part) bool { return p.kind == partBody })
	return &scheme{
		Scheme: s, before: layout[:body], after: layout[body+1:], aroundID: around(layout), signsTime: signsTime,
		size: s.Hash.Size(), newHash: s.Hash.New,
	}, nil
}

// isID reports whether a text can be the id of a message.
func (s *scheme) isID(text string) bool {
	for _, beside := range s.aroundID {
		if strings.Contains(text, beside) {
			return false
		}
	}
	return text != ""
}

// refuse makes the error of a delivery that is not accepted.
func (s *scheme) refuse(reason error, header, detail string) *Error {
	return &Error{Scheme: s.Name, Reason: reason, Header: header, Detail: detail}
}
