package botixtest

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// Answer is one HTTP answer before it is written. Faults may change any part of it.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	code, message string // of the error envelope, for the journal and for bulk items
	ours          bool   // an envelope of the platform, in our words
	spelled       bool   // brought into the words of the partner table

	// replay, when set, makes the answer to a repeat under the same key; a nil one is the stored answer.
	replay func(*Server) *Answer
}

type envelope struct {
	Success bool       `json:"success"`
	Data    any        `json:"data,omitempty"`
	Meta    any        `json:"meta,omitempty"`
	Error   *errorBody `json:"error,omitempty"`
}

type errorBody struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// statusOf is the contract's table of error codes. The last rows are this sandbox's choice for what the contract leaves
// open; see [Config.InFlight], [Config.Reuse] and [Deprecation].
var statusOf = map[string]int{
	"MISSING_API_KEY": 401, "INVALID_API_KEY": 401, "KEY_REVOKED": 401,
	"IP_BANNED": 403, "INSUFFICIENT_SCOPE": 403, "API_NOT_AVAILABLE_ON_PLAN": 403, "TRIAL_READ_ONLY": 403,
	"VALIDATION_ERROR": 400, "INVALID_JSON": 400, "INVALID_CURSOR": 400,
	"NOT_FOUND": 404, "SCENARIO_NOT_FOUND": 404,
	"NO_CHANNEL_AVAILABLE": 422, "CHANNEL_NOT_SUPPORTED_YET": 422, "CHANNEL_NOT_ALLOWED": 422,
	"CHANNEL_NOT_CONNECTED": 422, "CONTACT_NOT_REACHABLE": 422, "CONTACT_NOT_FOUND": 422, "CONTACT_BUSY": 422,
	"SCENARIO_INACTIVE": 422, "NO_START_BLOCK": 422,
	"RATE_LIMIT_EXCEEDED": 429,
	"DELIVERY_FAILED":     502,

	"IDEMPOTENCY_IN_PROGRESS": 409,
	"IDEMPOTENCY_KEY_REUSED":  422, // 409 on the partner half, where the contract says so
	"VERSION_SUNSET":          410,

	// The partner half: its contract has statuses for a plain key and for a key reused, and no codes at all.
	"IDEMPOTENCY_KEY_REQUIRED": 400,
	"INSUFFICIENT_BALANCE":     402, "SPEND_LIMIT_REACHED": 402,
	"PARTNER_KEY_REQUIRED": 403, "GROUP_SUSPENDED": 403,
	"ALREADY_EXISTS":       409,
	"TOP_UP_BELOW_MINIMUM": 422, "GROUP_HAS_LIVE_KEYS": 422, "GROUP_NOT_READY": 422, "KEY_NOT_LIVE": 422,
}

// succeed wraps data, and meta unless nil, in the success envelope.
func succeed(status int, data, meta any) *Answer {
	return render(status, envelope{Success: true, Data: data, Meta: meta})
}

func noContent() *Answer { return &Answer{Status: http.StatusNoContent, Header: http.Header{}} }

// refuse wraps an error code in the failure envelope, with the status the contract gives it.
func refuse(code, message string) *Answer { return refuseWith(code, message, nil) }

func refuseWith(code, message string, details map[string]any) *Answer {
	status := statusOf[code]
	if status == 0 {
		status = http.StatusUnprocessableEntity // an invented code, from a script
	}
	return failure(status, code, message, details)
}

func failure(status int, code, message string, details map[string]any) *Answer {
	answer := render(status, envelope{Error: &errorBody{Code: code, Message: message, Details: details}})
	answer.code, answer.message = code, message
	return answer
}

// invalid is a VALIDATION_ERROR that names the field.
func invalid(field, problem string) *Answer {
	return refuseWith("VALIDATION_ERROR", field+": "+problem, map[string]any{field: problem})
}

func render(status int, body envelope) *Answer {
	return &Answer{
		Status: status,
		Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}},
		Body:   encode(body),
		ours:   true,
	}
}

// encode writes JSON as the platform does: text stays readable, < > & are not escaped.
func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("botixtest: answer does not encode: " + err.Error()) // a bug here: all answers are our own types
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// clone returns a copy that can be changed without changing a.
func (a *Answer) clone() *Answer {
	c := *a
	c.Header = a.Header.Clone()
	return &c
}
