package botixtest

import (
	"fmt"
	"net/http"
	"time"
)

// Deprecation says that this version of the API will go. Every answer carries it.
type Deprecation struct {
	Version     string    // default "1.0.0"
	Sunset      time.Time // when the version goes: from then on, on the sandbox's clock, every call is 410 VERSION_SUNSET. Zero: no date yet
	Replacement string    // default "/public/v2", or "/partner/v2"
	KeepServing bool      // go on answering after the sunset

	Standard bool      // send Deprecation (RFC 9745), Sunset (RFC 8594) and Link too
	Since    time.Time // of the Deprecation header, default one year before Sunset
	Link     string    // page about it, for the Link header, default none
}

// Notice is the platform's word to the integrator that is no deprecation: a quota nearly spent, a maintenance window.
type Notice struct {
	Information string    // such as "trial_quota_80pct"
	ExpiresAt   time.Time // zero: not said
}

// announce puts the notices on the answer to come, and returns a 410 when the version is gone.
// It is called with Server.mu held.
func (s *Server) announce(x *exchange) *Answer {
	if n := s.config.Notice; n != nil {
		notice := "information=" + n.Information
		if !n.ExpiresAt.IsZero() {
			notice += "; expires_at=" + n.ExpiresAt.UTC().Format(time.RFC3339)
		}
		x.header.Set("X-API-Notice", notice)
	}
	deprecation, replacement := s.config.Deprecation, "/public/v2"
	if x.partner {
		deprecation, replacement = s.config.Partner.Deprecation, "/partner/v2"
	}
	if deprecation == nil {
		return nil
	}
	d := deprecation.withDefaults(replacement)
	x.header.Set("X-API-Deprecation", d.header())
	if d.Standard {
		d.standardHeaders(x.header)
	}
	if !d.KeepServing && !d.Sunset.IsZero() && !s.clock.Now().Before(d.Sunset) {
		return refuseWith("VERSION_SUNSET", "this version of the API is gone",
			map[string]any{"replacement": d.Replacement})
	}
	return nil
}

func (d Deprecation) withDefaults(replacement string) Deprecation {
	if d.Version == "" {
		d.Version = "1.0.0"
	}
	setIfZero(&d.Replacement, replacement)
	if d.Since.IsZero() && !d.Sunset.IsZero() {
		d.Since = d.Sunset.AddDate(-1, 0, 0)
	}
	return d
}

func (d Deprecation) header() string {
	sunset := ""
	if !d.Sunset.IsZero() {
		sunset = "; sunset=" + d.Sunset.UTC().Format(time.DateOnly)
	}
	return "version=" + d.Version + sunset + "; replacement=" + d.Replacement
}

func (d Deprecation) standardHeaders(h http.Header) {
	if !d.Since.IsZero() {
		h.Set("Deprecation", fmt.Sprintf("@%d", d.Since.Unix()))
	}
	if !d.Sunset.IsZero() {
		h.Set("Sunset", d.Sunset.UTC().Format(http.TimeFormat))
	}
	if d.Link != "" {
		h.Set("Link", fmt.Sprintf("<%s>; rel=\"deprecation\"", d.Link))
	}
}
