package botix

import (
	"context"
	"time"
)

// Me is the API key that a client uses: its project, its rights, its plan and
// the state of its rate limit.
//
// Source: OpenAPI 1.1.0, schema MeResponse.
type Me struct {
	ProjectID ProjectID `json:"project_id"`
	APIKeyID  APIKeyID  `json:"api_key_id"`
	Scopes    []string  `json:"scopes"` // the operations it may use
	PlanKey   string    `json:"plan_key"`
	Limits    Limits    `json:"limits"`
	RateLimit RateState `json:"rate_limit"`
}

func (m Me) missing() string {
	if m.ProjectID <= 0 {
		return "project_id"
	}
	return ""
}

// Limits is what the plan allows.
type Limits struct {
	APIEnabled      bool `json:"api_enabled"`       // false: every call fails with [ErrAPINotAvailableOnPlan]
	APIWriteEnabled bool `json:"api_write_enabled"` // false: every change fails with [ErrTrialReadOnly]
	PerMinute       int  `json:"per_minute"`        // requests
	PerDay          int  `json:"per_day"`           // requests
}

// RateState is the current minute of the rate limit.
type RateState struct {
	Limit     int       `json:"limit"`     // requests in the minute
	Remaining int       `json:"remaining"` // of them still free
	ResetAt   time.Time `json:"reset_at"`  // when the next minute starts, by the platform's clock
}

// Me returns what the platform knows of the client's API key. It fails with
// [ErrInvalidAPIKey] or [ErrKeyRevoked] when the key is no good.
//
// Source: OpenAPI 1.1.0, operation meGet.
func (c *Client) Me(ctx context.Context, opts ...CallOption) (*Me, error) {
	in := check(ctx, meGet)
	if in.err != nil {
		return nil, in.err
	}
	me, _, err := invoke[Me](ctx, c, meGet, input{}, opts)
	return me, err
}
