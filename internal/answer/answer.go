// Package answer reads the envelope that the platform's APIs wrap their answers
// in.
//
// Source: OpenAPI 1.1.0, schemas SuccessWithMeta and Error.
package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/botix-pro/sdk-go/internal/call"
)

// Envelope is an answer with data of type T, and of a list with meta of type M.
type Envelope[T, M any] struct {
	Success *bool  `json:"success"`
	Data    *T     `json:"data"`
	Meta    *M     `json:"meta"`
	Error   *Error `json:"error"`
}

// Error is what an answer says instead of data.
type Error struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"`
}

var (
	errEmpty         = errors.New("the answer has no body")
	errNoData        = errors.New("the answer has no data")
	errContradiction = errors.New("the answer says success and has an error")
	errNotEnvelope   = errors.New("the answer is not the API's envelope")
)

// byteOrderMark may stand before JSON and is skipped (RFC 8259 section 8.1).
var byteOrderMark = []byte("\xef\xbb\xbf")

// Trim cuts off what may stand before JSON.
func Trim(body []byte) []byte { return bytes.TrimPrefix(body, byteOrderMark) }

// Read takes one answer apart, and forgets any earlier one. Where emptyOK, a
// success needs no data. What makes the data complete is the caller's to know.
func (e *Envelope[T, M]) Read(status int, body []byte, emptyOK bool) call.Reading {
	*e = Envelope[T, M]{}
	body = bytes.TrimSpace(Trim(body))
	success := status/100 == 2
	if success && len(body) == 0 {
		if emptyOK {
			return call.Reading{Envelope: true, Success: true}
		}
		return call.Reading{Err: errEmpty}
	}
	if !success {
		var refusal Envelope[json.RawMessage, M] // data of a refusal may have any shape
		if json.Unmarshal(body, &refusal) != nil {
			return call.Reading{}
		}
		return refusal.Error.reading()
	}
	r := e.read(body, emptyOK)
	if !r.Success {
		*e = Envelope[T, M]{}
	}
	return r
}

func (e *Envelope[T, M]) read(body []byte, emptyOK bool) call.Reading {
	err := json.Unmarshal(body, e)
	switch {
	case err != nil:
		return call.Reading{Err: Unreadable(err)}
	case e.Success == nil:
		return call.Reading{Err: errNotEnvelope}
	case !*e.Success:
		return e.Error.reading()
	case e.Error != nil && e.Error.Code != "":
		return call.Reading{Envelope: true, Err: errContradiction}
	case e.Data == nil && !emptyOK:
		return call.Reading{Envelope: true, Err: errNoData}
	}
	return call.Reading{Envelope: true, Success: true}
}

func (e *Error) reading() call.Reading {
	if e == nil || e.Code == "" {
		return call.Reading{}
	}
	return call.Reading{Envelope: true, Code: e.Code, Message: e.Message, Details: e.Details}
}

// Unreadable keeps of a JSON error what cannot be a piece of the answer.
func Unreadable(err error) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		where := "it"
		if t.Field != "" {
			where = "field " + t.Field
		}
		return fmt.Errorf("the answer cannot be read: %s is %s", where, kind(t.Value))
	}
	return errors.New("the answer cannot be read: it is not valid JSON")
}

// kind is the JSON type in the Value of an UnmarshalTypeError, which for numbers
// is followed by the number.
func kind(value string) string {
	name, _, _ := strings.Cut(value, " ")
	switch name {
	case "array", "object":
		return "an " + name
	}
	return "a " + name
}
