package botixtest

import (
	"math/rand/v2"
	"net"
	"slices"
	"strings"
)

// Plan is a tariff: whether the API is on, whether it may write, and how often it may be called.
type Plan string

const (
	PlanBusiness Plan = "business" // everything, 2000 requests a minute
	PlanTrial    Plan = "trial"    // reads only, 30 requests a minute
	PlanNoAPI    Plan = "start"    // no API: every call is API_NOT_AVAILABLE_ON_PLAN
)

type planRules struct {
	api, write        bool
	perMinute, perDay int
}

// planTable has the minute limits the platform publishes; it publishes no day limits, so these are only large.
var planTable = map[Plan]planRules{
	PlanBusiness: {api: true, write: true, perMinute: 2000, perDay: 1_000_000},
	PlanTrial:    {api: true, perMinute: 30, perDay: 10_000},
	PlanNoAPI:    {perMinute: 30, perDay: 10_000},
}

// Key describes an API key. The zero value is a second key of the default project with every right.
type Key struct {
	Value   string   // default: made up, btx_live_ or for partners btx_prt_, and 40 alphanumerics
	Project int64    // default 1, the project of [Server.APIKey]. Projects see nothing of each other
	Partner int64    // an account of the partner half: the key is for that half alone. Accounts see nothing of each other
	Plan    Plan     // default [Config.Plan]
	Scopes  []string // nil means all of [Scopes], or [PartnerScopes]; empty means none
	Revoked bool     // every call is KEY_REVOKED

	PerMinute int // requests a window; 0 means the server's limit, [Unlimited] none
	PerDay    int // requests a UTC day; likewise
}

// apiKey is a key with what the sandbox keeps for it. Server.mu guards it.
type apiKey struct {
	Key
	id       int64
	window   counter
	day      counter
	groupKey *groupKey // what it is to the partner who made it; nil for most keys
}

// AddKey adds an API key and returns its value. A value that is there already is replaced.
func (s *Server) AddKey(k Key) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addKey(k).Value
}

func (s *Server) addKey(k Key) *apiKey {
	if k.Plan == "" {
		k.Plan = s.config.Plan
	}
	if k.Partner != 0 {
		if k.Value == "" {
			k.Value = partnerKeyPrefix + alphanumerics(s.partnerRandom, 40)
		}
		if k.Scopes == nil {
			k.Scopes = PartnerScopes()
		}
		return s.insertAPIKey(k)
	}
	setIfZero(&k.Project, defaultProject)
	if k.Value == "" {
		k.Value = keyPrefix + alphanumerics(s.random, 40)
	}
	if k.Scopes == nil {
		k.Scopes = Scopes()
	}
	return s.insertAPIKey(k)
}

// insertAPIKey stores a key that has everything.
func (s *Server) insertAPIKey(k Key) *apiKey {
	s.lastKeyID++
	key := &apiKey{Key: k, id: s.lastKeyID}
	s.keys[k.Value] = key
	return key
}

// ChangeKey applies change to the key with that value: revoke it, move it to another plan, take a scope away. It reports
// whether there is such a key. Requests that arrive afterwards see the change.
func (s *Server) ChangeKey(value string, change func(*Key)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.keys[value]
	if key == nil {
		return false
	}
	change(&key.Key)
	return true
}

// BanIP answers IP_BANNED to every request from ip, or stops doing so. Clients of this sandbox come from 127.0.0.1.
func (s *Server) BanIP(ip string, banned bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.banned[ip] = banned
}

const (
	keyPrefix              = "btx_live_"
	partnerKeyPrefix       = "btx_prt_"
	defaultProject   int64 = 1
	defaultPartner   int64 = 1
)

func alphanumerics(random *rand.Rand, n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[random.IntN(len(letters))]
	}
	return string(b)
}

// authenticate finds the key of a request. It is called with Server.mu held.
func (s *Server) authenticate(x *exchange) *Answer {
	if ip, _, _ := net.SplitHostPort(x.request.RemoteAddr); s.banned[ip] {
		return refuse("IP_BANNED", "requests from this address are blocked")
	}
	value, missing := x.credential()
	if missing != nil {
		return missing
	}
	key := s.keys[value]
	switch {
	case key == nil:
		return refuse("INVALID_API_KEY", "there is no such API key")
	case key.Revoked:
		return refuse("KEY_REVOKED", "this API key was revoked")
	}
	x.key = key
	if key.Partner != 0 {
		x.account = s.account(key.Partner)
	} else if key.Project != 0 {
		x.project = s.project(key.Project)
	}
	return nil
}

// credential reads the key that a request carries.
func (x *exchange) credential() (value string, missing *Answer) {
	name, want := x.called("Authorization"), "Bearer"
	if x.partner {
		want = x.spelling.scheme
	}
	header := strings.TrimSpace(x.request.Header.Get(name))
	scheme, value, _ := strings.Cut(header, " ")
	value = strings.TrimSpace(value)
	switch {
	case header == "":
		return "", refuse("MISSING_API_KEY", "the "+name+" header is missing")
	case want == NoScheme:
		return header, nil
	case !strings.EqualFold(scheme, want) || value == "":
		return "", refuse("MISSING_API_KEY", "the "+name+" header holds no "+want+" token")
	}
	return value, nil
}

// authorize checks what the plan and the key allow. It is called with Server.mu held.
func (s *Server) authorize(x *exchange) *Answer {
	plan := planTable[x.key.Plan]
	switch {
	case x.partner && x.account == nil:
		return refuse("PARTNER_KEY_REQUIRED", "this half of the API takes partner keys only")
	case !x.partner && x.project == nil:
		return refuse("INSUFFICIENT_SCOPE", "the key belongs to no project")
	case !x.partner && !plan.api:
		return refuse("API_NOT_AVAILABLE_ON_PLAN", "the plan has no API")
	case x.op == nil:
		return nil // an unknown path is NOT_FOUND for everybody, once it was counted
	case !x.partner && x.op.writes() && !plan.write:
		return refuse("TRIAL_READ_ONLY", "the trial plan may only read")
	case x.op.scope != "" && !slices.Contains(x.key.Scopes, x.op.scope):
		return refuseWith("INSUFFICIENT_SCOPE", "the key lacks the scope "+x.op.scope,
			map[string]any{"required": x.op.scope})
	}
	return nil
}

func (s *Server) meGet(x *exchange) *Answer {
	plan := planTable[x.key.Plan]
	perMinute, perDay := s.limits(x.key)
	return succeed(200, map[string]any{
		"project_id": x.key.Project,
		"api_key_id": x.key.id,
		"scopes":     x.key.Scopes,
		"plan_key":   string(x.key.Plan),
		"limits": map[string]any{
			"api_enabled": plan.api, "api_write_enabled": plan.write,
			"per_minute": max(perMinute, 0), "per_day": max(perDay, 0),
		},
		"rate_limit": map[string]any{
			"limit":     max(perMinute, 0),
			"remaining": max(perMinute-x.key.window.used, 0),
			"reset_at":  x.key.window.end(s.config.Window),
		},
	}, nil)
}
