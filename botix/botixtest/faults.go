package botixtest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Fault is one thing that goes wrong. It is a value: make it with a constructor, refine it with its methods, hand it to
// [Rule.Do] or [Rule.InTurn].
//
// A fault strikes after authentication and rate limit, so the request has spent a slot of its window, except under a
// scripted 429. One that strikes before the work also comes before the idempotency lookup: it hits replays too.
type Fault struct {
	name    string
	stage   stage
	before  time.Duration // wait before the work
	after   time.Duration // wait after it
	instead *Answer       // answer without any work
	// After the work one of these replaces its answer. ownFailure is the platform's own, so nothing but that can be
	// stored under the key; afterwards happens on the way, and the real answer is stored.
	ownFailure *Answer
	afterwards *Answer
	early      *Answer // comes before the work, which goes on
	alter      func(*Answer)
	set        http.Header // headers of the final answer; a nil value removes one

	cut    cut
	keep   int // bytes of the body that leave before the cut, -1 for not even the headers
	slow   time.Duration
	lie    bool
	refuse bool // connection rules only

	itemCode string // bulk items fail with it
	items    []int
}

type stage int

const (
	beforeWork stage = iota
	afterWork
)

type cut int

const (
	cutNone cut = iota
	cutReset
	cutFIN
)

// String describes the fault as [Call.Fault] shows it.
func (f Fault) String() string { return f.name }

// CutBefore cuts the connection without doing the work. In a rule of [OnConnect] it cuts before a byte is read.
func CutBefore() Fault { return Fault{name: "cut before the work", cut: cutReset, keep: -1} }

// CutAfter does the work and then cuts the connection without a byte of answer.
func CutAfter() Fault {
	return Fault{name: "cut after the work", stage: afterWork, cut: cutReset, keep: -1}
}

// CutBody does the work and cuts the connection after the headers and n bytes of the body.
func CutBody(n int) Fault {
	return Fault{name: fmt.Sprintf("cut after %d bytes of the body", n), stage: afterWork, cut: cutReset, keep: max(n, 0)}
}

// WithFIN turns a reset (ECONNRESET) into an orderly close (EOF).
func (f Fault) WithFIN() Fault {
	f.name += ", FIN"
	f.cut = cutFIN
	return f
}

// Refuse refuses the connection. It works in rules of [OnConnect] only. In memory the client sees ECONNREFUSED; on TCP,
// where the kernel completes the handshake, a reset before any byte. [Server.Refuse] refuses on TCP too.
func Refuse() Fault { return Fault{name: "refuse", refuse: true, cut: cutReset, keep: -1} }

// Delay waits before the work, while the Idempotency-Key is in flight. The work is done even if the client has left.
func Delay(d time.Duration) Fault { return Fault{name: "delay " + d.String(), before: d} }

// DelayAfter waits between the work and the answer.
func DelayAfter(d time.Duration) Fault { return Fault{name: "delay after " + d.String(), after: d} }

// SlowBody sends the headers at once and the body in pieces over d.
func SlowBody(d time.Duration) Fault { return Fault{name: "slow body " + d.String(), slow: d} }

// Status answers with status and the failure envelope, without doing the work. Its code is the contract's for 429 and
// SERVER_ERROR otherwise; [Refusal] names another. A 429 takes no slot and has no Retry-After unless [Fault.With] adds
// one.
func Status(status int) Fault {
	code := "SERVER_ERROR"
	if status == http.StatusTooManyRequests {
		code = "RATE_LIMIT_EXCEEDED"
	}
	return named(strconv.Itoa(status), failure(status, code, "scripted failure", nil))
}

// RateLimited answers 429 with Retry-After, in whatever form is given ("2", a date, nonsense), without doing the work
// and without taking a slot.
func RateLimited(retryAfter string) Fault {
	f := Status(http.StatusTooManyRequests).With("Retry-After", retryAfter)
	f.name = "429 Retry-After " + retryAfter
	return f
}

// Refusal answers with a code of the contract and its status, without doing the work.
func Refusal(code string) Fault { return named(code, refuse(code, "scripted refusal")) }

// Reply answers exactly this, without doing the work. Header may be nil.
func Reply(status int, header http.Header, body string) Fault {
	if header == nil {
		header = http.Header{}
	}
	f := named(fmt.Sprintf("reply %d", status), &Answer{Status: status, Header: header.Clone(), Body: []byte(body)})
	return f
}

// HTML answers as a proxy does: a page instead of JSON, without doing the work.
func HTML(status int) Fault {
	f := Reply(status, http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		fmt.Sprintf("<html><body><h1>%d %s</h1><hr>nginx</body></html>", status, http.StatusText(status)))
	f.name = fmt.Sprintf("HTML %d", status)
	return f
}

// Gateway answers at once with the page of a proxy that lost patience, while the work is done after the time it takes, as
// behind [Delay]. The real answer is stored under the key and reaches nobody.
func Gateway(status int, work time.Duration) Fault {
	page := HTML(status)
	return Fault{name: fmt.Sprintf("gateway %d, work after %v", status, work), before: work, early: page.instead, keep: -1}
}

// Redirect answers with a Location and no body, without doing the work.
func Redirect(status int, location string) Fault {
	f := Reply(status, http.Header{"Location": {location}}, "")
	f.name = fmt.Sprintf("redirect %d", status)
	return f
}

func named(name string, answer *Answer) Fault { return Fault{name: name, instead: answer} }

// AfterWork makes an answer that comes without the work come after it.
//
// After [Status] and [Refusal] it is the platform's own failure: nothing is stored under the Idempotency-Key, so the
// next try executes again, unless [Config.StoreServerErrors] keeps the failure. After [Reply], [HTML] and [Redirect] the
// answer was lost on the way, and the real one is stored.
func (f Fault) AfterWork() Fault {
	if f.instead == nil {
		return f
	}
	f.name += " after the work"
	f.stage = afterWork
	if f.instead.code != "" {
		f.ownFailure = f.instead
	} else {
		f.afterwards = f.instead
	}
	f.instead = nil
	return f
}

// With sets a header of the answer, over whatever is there: X-RateLimit-Reset in milliseconds, a Date of last year.
func (f Fault) With(name, value string) Fault { return f.header(name, []string{value}) }

// Without removes a header of the answer. A body without Content-Length is sent in chunks.
func (f Fault) Without(name string) Fault { return f.header(name, nil) }

func (f Fault) header(name string, values []string) Fault {
	f.set = maps.Clone(f.set)
	if f.set == nil {
		f.set = http.Header{}
	}
	f.set[http.CanonicalHeaderKey(name)] = values
	return f
}

// Unharmed changes nothing by itself: a base for [Fault.With], a pause in [Rule.InTurn].
func Unharmed() Fault { return Fault{name: "unharmed"} }

// WithoutLimitHeaders removes the three X-RateLimit headers and Retry-After from the answer.
func WithoutLimitHeaders() Fault {
	f := Unharmed()
	f.name = "no limit headers"
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After"} {
		f = f.Without(name)
	}
	return f
}

// Change does the work and lets change rewrite its answer. The real answer is what is stored under the key. Change must
// replace Body, not write into it, and may run on several goroutines at once.
func Change(name string, change func(*Answer)) Fault {
	return Fault{name: name, stage: afterWork, alter: change}
}

// EmptyBody does the work and answers with its status and no body.
func EmptyBody() Fault { return Change("empty body", func(a *Answer) { a.Body = nil }) }

// WrongLength does the work and answers with a Content-Length that is off by delta bytes: more than zero and the body
// ends early, less and it is cut short.
func WrongLength(delta int) Fault {
	f := Change(fmt.Sprintf("Content-Length off by %d", delta), func(a *Answer) {
		a.Header.Set("Content-Length", strconv.Itoa(max(len(a.Body)+delta, 0)))
	})
	f.lie = true
	return f
}

// Gzip does the work and compresses its answer, whatever the client accepts.
func Gzip() Fault {
	return Change("gzip", func(a *Answer) {
		var buf bytes.Buffer
		w := gzip.NewWriter(&buf)
		_, _ = w.Write(a.Body) // into memory: cannot fail
		_ = w.Close()
		a.Body = buf.Bytes()
		a.Header.Set("Content-Encoding", "gzip")
	})
}

// Oversized does the work and pads its answer with white space to n bytes: valid JSON, only too much of it.
func Oversized(n int) Fault {
	return Change(fmt.Sprintf("oversized to %d bytes", n), func(a *Answer) {
		if pad := n - len(a.Body); pad > 0 {
			a.Body = append(bytes.Repeat([]byte(" "), pad), a.Body...)
		}
	})
}

// ExtraFields does the work and adds fields that no contract knows, at the top, in data and in every list item.
// One of them is an integer beyond 2^53.
func ExtraFields() Fault {
	return rewriteJSON("extra fields", func(object map[string]any) {
		object["x_future_flag"] = true
		object["x_future_id"] = json.Number("9007199254740993")
		object["x_future_object"] = map[string]any{"nested": []any{map[string]any{"deep": nil}, "text", 1.5}}
	})
}

// openEnums are the fields whose values a later version may extend.
var openEnums = []string{
	"lead_status", "status", "role", "source", "channel", "last_channel", "type", "trigger_type", "plan_key", "action", "target_type",
}

// UnknownEnums does the work and replaces enum values of the answer by ones that no contract knows: the value and
// "_future".
func UnknownEnums() Fault {
	return rewriteJSON("unknown enum values", func(object map[string]any) {
		for _, field := range openEnums {
			if value, ok := object[field].(string); ok {
				object[field] = value + "_future"
			}
		}
		for _, field := range []string{"events", "scopes"} {
			if list, ok := object[field].([]any); ok {
				object[field] = append(slices.Clone(list), "future.event")
			}
		}
	})
}

// rewriteJSON applies rewrite to every object of the answer, keeping numbers exact.
func rewriteJSON(name string, rewrite func(map[string]any)) Fault {
	return Change(name, func(a *Answer) {
		decoder := json.NewDecoder(bytes.NewReader(a.Body))
		decoder.UseNumber()
		var body any
		if err := decoder.Decode(&body); err == io.EOF || err != nil {
			return // nothing to rewrite in an empty or foreign body
		}
		rewriteObjects(body, rewrite)
		a.Body = encode(body)
	})
}

func rewriteObjects(v any, rewrite func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			rewriteObjects(inner, rewrite)
		}
		rewrite(v)
	case []any:
		for _, inner := range v {
			rewriteObjects(inner, rewrite)
		}
	}
}

// FailItems makes items of a bulk call fail with code; the others are done. Without indexes every item fails.
// The code may be one the contract does not list, such as DUPLICATE_KEY.
func FailItems(code string, indexes ...int) Fault {
	return Fault{name: "items fail with " + code, stage: afterWork, itemCode: code, items: indexes}
}
