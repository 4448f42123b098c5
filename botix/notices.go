package botix

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/rest"
)

// NoticeKind tells a deprecation from a message of the platform.
type NoticeKind string

const (
	// NoticeDeprecation: what was called will go away. From X-API-Deprecation,
	// Deprecation (RFC 9745) and Sunset (RFC 8594).
	NoticeDeprecation NoticeKind = "deprecation"
	// NoticeInformation: a quota nearly used, a maintenance window. From
	// X-API-Notice.
	NoticeInformation NoticeKind = "information"
)

// Notice is what the platform says in headers beside an answer, for people to
// plan by. It never changes how a call ends.
type Notice struct {
	Kind NoticeKind
	// Route is the endpoint the notice is about, "GET /public/v1/contacts"; ""
	// when it is about the whole version.
	Route string
	// Raw is the headers' text, as received.
	Raw string

	Version     string    // the deprecated version
	Since       time.Time // when the deprecation took or takes effect
	Sunset      time.Time // when it may be switched off; a past one: at any time
	Replacement string    // what to call instead
	Link        string    // where it is explained
	Information string    // what an information notice is about
	ExpiresAt   time.Time // until when an information notice holds
	// Problem names what about the headers could not be read or contradicts itself.
	Problem string

	FirstSeen, LastSeen time.Time
	Count               int // answers that carried it
}

// Level is how urgent the notice is at the time now: from [slog.LevelWarn],
// rising 90, 30 and 7 days before the sunset and highest after it.
// An information notice is [slog.LevelInfo].
func (n Notice) Level(now time.Time) slog.Level {
	if n.Kind == NoticeInformation {
		return slog.LevelInfo
	}
	level := slog.LevelWarn
	if n.Sunset.IsZero() {
		return level
	}
	for _, step := range urgency {
		if n.Sunset.Sub(now) <= step.left {
			level = step.level
		}
	}
	return level
}

const day = 24 * time.Hour

var urgency = []struct {
	left  time.Duration
	level slog.Level
}{
	{90 * day, slog.LevelWarn + 2},
	{30 * day, slog.LevelError},
	{7 * day, slog.LevelError + 2},
	{0, slog.LevelError + 4},
}

// Deprecations returns the deprecations met so far, oldest first.
func (c *Client) Deprecations() []Notice { return c.notices.list(NoticeDeprecation, time.Now()) }

// Notices returns the information notices met so far that have not expired,
// oldest first.
func (c *Client) Notices() []Notice { return c.notices.list(NoticeInformation, time.Now()) }

// heard reads the notices beside an answer.
func (c *Client) heard(e *call.Endpoint, a rest.Answer) {
	for _, n := range readNotices(e, a.Header) {
		c.notices.post(n, a.Received)
	}
}

// board remembers notices and says each once an interval.
type board struct {
	every time.Duration
	log   *slog.Logger
	tell  func(Notice)

	mu    sync.Mutex
	known map[noticeKey]*posted
}

type noticeKey struct {
	kind       NoticeKind
	route, raw string
}

type posted struct {
	Notice
	said  time.Time
	level slog.Level
}

// maxNotices bounds the memory that a server with ever new texts can take.
const maxNotices = 1000

func (b *board) post(n Notice, now time.Time) {
	if n, ok := b.due(n, now); ok {
		b.say(n, now)
	}
}

// due counts n and reports whether it is to be said: when it is new, when the
// interval is over, and when it became more urgent.
func (b *board) due(n Notice, now time.Time) (Notice, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := noticeKey{n.Kind, n.Route, n.Raw}
	p := b.known[key]
	if p == nil {
		if b.known == nil || len(b.known) >= maxNotices {
			b.known = make(map[noticeKey]*posted)
		}
		p = &posted{Notice: n}
		p.FirstSeen = now
		b.known[key] = p
	}
	p.Count++
	p.LastSeen = now
	level := n.Level(now)
	if p.Count > 1 && level <= p.level && now.Sub(p.said) < b.every {
		return Notice{}, false
	}
	p.said, p.level = now, level
	return p.Notice, true
}

func (b *board) say(n Notice, now time.Time) {
	attrs := []slog.Attr{slog.String("raw", n.Raw)}
	text := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	moment := func(key string, t time.Time) {
		if !t.IsZero() {
			text(key, t.UTC().Format(time.RFC3339))
		}
	}
	text("route", n.Route)
	text("version", n.Version)
	moment("since", n.Since)
	moment("sunset", n.Sunset)
	text("replacement", n.Replacement)
	text("link", n.Link)
	text("information", n.Information)
	moment("expires_at", n.ExpiresAt)
	text("problem", n.Problem)
	message := "notice from the platform"
	if n.Kind == NoticeDeprecation {
		message = "API version deprecated"
		if n.Route != "" {
			message = "API endpoint deprecated"
		}
	}
	b.log.LogAttrs(context.Background(), n.Level(now), message, attrs...)
	if b.tell != nil {
		b.tell(n)
	}
}

func (b *board) list(kind NoticeKind, now time.Time) []Notice {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []Notice
	for _, p := range b.known {
		expired := !p.ExpiresAt.IsZero() && p.ExpiresAt.Before(now)
		if p.Kind == kind && !expired {
			all = append(all, p.Notice)
		}
	}
	slices.SortFunc(all, func(a, b Notice) int {
		if d := a.FirstSeen.Compare(b.FirstSeen); d != 0 {
			return d
		}
		return strings.Compare(a.Route+a.Raw, b.Route+b.Raw)
	})
	return all
}

// readNotices reads the headers of one answer. Most have none of them.
func readNotices(e *call.Endpoint, h http.Header) []Notice {
	var all []Notice
	for _, raw := range h["X-Api-Deprecation"] {
		all = append(all, readPlatformDeprecation(raw))
	}
	for _, raw := range h["X-Api-Notice"] {
		all = append(all, readInformation(raw))
	}
	if h["Deprecation"] != nil || h["Sunset"] != nil {
		all = append(all, readStandardDeprecation(e.Route(), h))
	}
	return all
}

// readPlatformDeprecation reads "version=1.0.0; sunset=2027-05-22;
// replacement=/public/v2".
func readPlatformDeprecation(raw string) Notice {
	n := Notice{Kind: NoticeDeprecation, Raw: clip(raw)}
	for key, value := range fields(raw) {
		switch key {
		case "version":
			n.Version = value
		case "replacement":
			n.Replacement = value
		case "sunset":
			n.Sunset = n.moment(key, value)
		}
	}
	return n
}

// readInformation reads "information=trial_quota_80pct;
// expires_at=2026-06-01T00:00:00Z".
func readInformation(raw string) Notice {
	n := Notice{Kind: NoticeInformation, Raw: clip(raw)}
	for key, value := range fields(raw) {
		switch key {
		case "information":
			n.Information = value
		case "expires_at":
			n.ExpiresAt = n.moment(key, value)
		}
	}
	return n
}

// readStandardDeprecation reads Deprecation ("@" and Unix seconds, RFC 9745
// section 2.1), Sunset (an HTTP date, RFC 8594 section 3) and the links that
// belong to them. They are about the resource that was asked for.
func readStandardDeprecation(route string, h http.Header) Notice {
	n := Notice{Kind: NoticeDeprecation, Route: route}
	if v := h.Get("Deprecation"); v != "" {
		n.Raw = "Deprecation: " + clip(v)
		if secs, ok := strings.CutPrefix(v, "@"); ok {
			if at, err := strconv.ParseInt(secs, 10, 64); err == nil {
				n.Since = time.Unix(at, 0).UTC()
			}
		}
		if n.Since.IsZero() && v != "true" { // an early draft of the standard had "true"
			n.problem("Deprecation is not @ and Unix seconds")
		}
	}
	if v := h.Get("Sunset"); v != "" {
		n.Raw = strings.TrimPrefix(n.Raw+"; Sunset: "+clip(v), "; ")
		n.Sunset = n.moment("Sunset", v)
	}
	if !n.Since.IsZero() && !n.Sunset.IsZero() && n.Sunset.Before(n.Since) {
		n.problem("Sunset is earlier than Deprecation")
	}
	n.Link, n.Replacement = links(h["Link"])
	return n
}

func (n *Notice) problem(text string) {
	n.Problem = strings.TrimPrefix(n.Problem+"; "+text, "; ")
}

// momentForms are the forms of a date that servers send, the standard one first.
var momentForms = []string{http.TimeFormat, time.RFC3339, time.DateOnly, time.RFC850, time.ANSIC}

// moment reads a date; one in an unknown form is a problem to tell, not an error.
func (n *Notice) moment(name, value string) time.Time {
	for _, form := range momentForms {
		if t, err := time.Parse(form, value); err == nil {
			return t.UTC()
		}
	}
	n.problem(name + " is not a date")
	return time.Time{}
}

// fields yields the key=value pairs of a header, keys in lower case.
func fields(raw string) func(yield func(key, value string) bool) {
	return func(yield func(key, value string) bool) {
		for part := range strings.SplitSeq(raw, ";") {
			key, value, _ := strings.Cut(part, "=")
			key = strings.ToLower(strings.TrimSpace(key))
			if key != "" && !yield(key, strings.Trim(strings.TrimSpace(value), `"`)) {
				return
			}
		}
	}
}

// links finds where a deprecation is explained and what replaces the resource,
// in Link headers (RFC 8288). Query and user are dropped from what is shown.
func links(headers []string) (explained, replacement string) {
	for _, header := range headers {
		for link := range strings.SplitSeq(header, ",") {
			target, params, _ := strings.Cut(link, ";")
			target = strings.Trim(strings.TrimSpace(target), "<>")
			u, err := url.Parse(target)
			if err != nil {
				continue
			}
			u.User, u.RawQuery, u.Fragment = nil, "", ""
			for key, value := range fields(params) {
				switch {
				case key != "rel":
				case value == "successor-version":
					replacement = u.String()
				case value == "deprecation" || value == "sunset" && explained == "":
					explained = u.String()
				}
			}
		}
	}
	return explained, replacement
}

// clip bounds a text of a server that is kept or shown.
func clip(s string) string {
	const most = 256
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
