package partner_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/retry"
)

// foreign is a sandbox in which nothing is called as by default, and the contract
// that says so.
func foreign() (botixtest.PartnerTable, partner.Contract) {
	table, contract := botixtest.DefaultPartnerTable(), partner.DefaultContract()
	table.Prefix = "/api/reseller/v3"
	for id, route := range table.Routes {
		method, path, _ := strings.Cut(route, " ")
		if method == "PATCH" {
			method = "PUT"
		}
		table.Routes[id] = method + " x/" + path + "/do"

		ours := contract.Routes[id]
		_, path, _ = strings.Cut(ours, "/partner/v1/")
		contract.Routes[id] = method + " /api/reseller/v3/x/" + path + "/do"
	}
	for name := range table.Headers {
		table.Headers[name] = "Our-" + strings.TrimPrefix(name, "X-")
	}
	contract.Headers = partner.Headers{
		IdempotencyKey: "Our-Idempotency-Key", Credential: "our-authorization", Scheme: "",
		RequestID: "Our-Request-Id", Replayed: "Our-Idempotent-Replayed", RetryAfter: "Our-Retry-After",
		RateLimit: "Our-RateLimit-Limit", RateRemaining: "Our-RateLimit-Remaining", RateReset: "Our-RateLimit-Reset",
	}
	for name := range table.Fields {
		table.Fields[name] = "their_" + name
	}
	for field, name := range contract.Fields {
		contract.Fields[field] = "their_" + name
	}
	for code := range table.Codes {
		table.Codes[code] = "x_" + strings.ToLower(code)
		contract.Codes["x_"+strings.ToLower(code)] = botix.Code(code)
	}
	return table, contract
}

// A server that calls everything otherwise is served by another table, and a
// program sees no difference.
func TestEverythingCanBeCalledOtherwise(t *testing.T) {
	table, contract := foreign()
	inBubble(t, botixtest.Config{Partner: botixtest.PartnerConfig{Table: table}}, []partner.Option{partner.WithContract(contract)}, func(s *sandbox) {
		got := strings.Join(story(s), "\n")
		if got != strings.TrimSpace(wholeStory) {
			s.Errorf("the story is\n%s", got)
		}
		calls := s.srv.Journal().Calls("topUpsCreate")
		if len(calls) != 1 || !strings.HasPrefix(calls[0].Path, "/api/reseller/v3/x/groups/") || calls[0].Header.Get("Our-Idempotency-Key") == "" ||
			calls[0].Header.Get("Idempotency-Key") != "" {
			s.Errorf("the top-up arrived as %+v", calls)
		}
	})
}

// So do errors, waits, replays, request ids and the rate limit.
func TestHeadersAndCodesOfAnotherContract(t *testing.T) {
	table, contract := foreign()
	inBubble(t, botixtest.Config{Partner: botixtest.PartnerConfig{Table: table}}, append(exactly(), partner.WithContract(contract)), func(s *sandbox) {
		group := s.group("Кофейня")
		_, err := s.client.TopUps.Create(s.Context(), group, topUp("5000.00", "evt_1"))
		if !errors.Is(err, partner.ErrInsufficientBalance) || s.failed(err).RequestID == "" {
			s.Errorf("a top-up beyond the balance: %v, want the code as this package calls it", err)
		}
		s.srv.Script(botixtest.On("topUpsCreate").InTurn(botixtest.RateLimited("7"), botixtest.CutAfter()))
		began := time.Now()
		var info botix.Info
		_, err = s.client.TopUps.Create(s.Context(), group, topUp("5.00", "evt_2"), botix.WithInfo(&info))
		if err != nil || !info.Replayed || info.RequestID == "" || len(info.Attempts) != 3 || info.Rate.Limit == 0 || time.Since(began) < 7*time.Second {
			s.Errorf("a top-up through 429 and a lost answer: %v, after %v, %+v", err, time.Since(began), info)
		}
		s.effects("topUpsCreate", 1)
		_, err = s.client.TopUps.Create(s.Context(), group, topUp("6.00", "evt_2"), botix.WithIdempotencyKey(info.Key))
		if !errors.Is(err, botix.ErrIdempotencyKeyReused) || retry.OutcomeOf(err) != retry.Conflict {
			s.Errorf("another body under the key: %v, want a conflict", err)
		}
	})
}

// Where the route of a key names its group, the server sees to it that they belong
// together, and the key is not read first.
func TestARouteThatNamesTheGroupIsTrusted(t *testing.T) {
	for name, tt := range map[string]struct {
		route string
		reads int
		other error // of a key of another group
	}{
		"by the key alone":     {"keys/{key}", 1, partner.ErrOtherTenant},
		"by the group and key": {"groups/{group}/keys/{key}", 0, botix.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			table, contract := botixtest.DefaultPartnerTable(), partner.DefaultContract()
			table.Routes["keysDelete"] = "DELETE " + tt.route
			contract.Routes["keysDelete"] = "DELETE /partner/v1/" + tt.route
			cfg := botixtest.Config{Partner: botixtest.PartnerConfig{Table: table}}
			inBubble(t, cfg, append(exactly(), partner.WithContract(contract)), func(s *sandbox) {
				ours, theirs := s.group("Кофейня"), s.group("Конкурент")
				if err := s.client.Keys.Revoke(s.Context(), ours, s.key(ours, "bot")); err != nil {
					s.Error(err)
				}
				if got := len(s.srv.Journal().Calls("keysGet")); got != tt.reads {
					s.Errorf("%d keys were read before, want %d", got, tt.reads)
				}
				if err := s.client.Keys.Revoke(s.Context(), ours, s.key(theirs, "bot")); !errors.Is(err, tt.other) {
					s.Errorf("a key of another group: %v, want %v", err, tt.other)
				}
				s.effects("keysDelete", 1)
			})
		})
	}
}

// The credential goes out as the contract has it.
func TestTheCredentialsHeader(t *testing.T) {
	for name, tt := range map[string]struct{ header, scheme, theirs string }{
		"as by default":       {"Authorization", "Bearer", ""},
		"another scheme":      {"Authorization", "Token", "Token"},
		"a header of its own": {"X-Partner-Key", "", botixtest.NoScheme},
		"one with a scheme":   {"X-Partner-Key", "Key", "Key"},
	} {
		t.Run(name, func(t *testing.T) {
			table, contract := botixtest.DefaultPartnerTable(), partner.DefaultContract()
			table.Headers["Authorization"], table.Scheme = tt.header, tt.theirs
			contract.Headers.Credential, contract.Headers.Scheme = tt.header, tt.scheme
			cfg := botixtest.Config{Partner: botixtest.PartnerConfig{Table: table}}
			inBubble(t, cfg, append(exactly(), partner.WithContract(contract)), func(s *sandbox) {
				if _, err := s.client.Balance(s.Context()); err != nil {
					s.Error(err)
				}
			})
		})
	}
}

// The table lists every member of every object of this package, and nothing else.
func TestContractListsAllFields(t *testing.T) {
	t.Parallel()
	types := map[string][]any{
		"balance": {partner.Balance{}}, "group": {partner.Group{}, partner.CreateGroup{}, partner.GroupUpdate{}},
		"spend_limit": {partner.SpendLimit{}, partner.SpendLimitUpdate{}}, "key": {partner.Key{}, partner.CreateKey{}, partner.KeyUpdate{}},
		"created_key": {partner.CreatedKey{}}, "transaction": {partner.Transaction{}, partner.CreateTopUp{}}, "audit_event": {partner.AuditEvent{}},
		"usage_request": {partner.UsageRequest{}}, "project": {partner.Project{}, partner.CreateProject{}}, "usage": {partner.Usage{}},
	}
	want := map[string]bool{}
	for object, all := range types {
		for _, v := range all {
			for i := range reflect.TypeOf(v).NumField() {
				tag, _, _ := strings.Cut(reflect.TypeOf(v).Field(i).Tag.Get("json"), ",")
				if tag == "" {
					t.Errorf("%T.%s has no name on the wire", v, reflect.TypeOf(v).Field(i).Name)
				}
				want[object+"."+tag] = true
			}
		}
	}
	for field, name := range partner.DefaultContract().Fields {
		object, own, _ := strings.Cut(field, ".")
		switch {
		case name != own:
			t.Errorf("%s is called %s by default", field, name)
		case types[object] == nil: // surrounds answers, or a parameter
		case !want[field]:
			t.Errorf("the contract lists %s, which no object has", field)
		}
		delete(want, field)
	}
	for field := range want {
		t.Errorf("the contract lacks %s", field)
	}
}

func TestNewRefusesContractsThatCannotWork(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*partner.Contract)
		want   string
	}{
		"nothing at all":            {func(c *partner.Contract) { *c = partner.Contract{} }, "begin with DefaultContract"},
		"a route of nothing":        {func(c *partner.Contract) { c.Routes["groupsMerge"] = "POST /x" }, `"groupsMerge": there is no such operation`},
		"a missing route":           {func(c *partner.Contract) { delete(c.Routes, "keysGet") }, "route of keysGet is missing"},
		"a read that is a POST":     {func(c *partner.Contract) { c.Routes["keysGet"] = "POST /keys/{key}" }, "it reads: GET"},
		"a change that is a GET":    {func(c *partner.Contract) { c.Routes["topUpsCreate"] = "GET /groups/{group}/top-ups" }, "it changes something"},
		"a method that is none":     {func(c *partner.Contract) { c.Routes["topUpsCreate"] = "BREW /groups/{group}/top-ups" }, `"BREW"`},
		"no method":                 {func(c *partner.Contract) { c.Routes["balanceGet"] = "/balance" }, "the method"},
		"no path":                   {func(c *partner.Contract) { c.Routes["balanceGet"] = "GET" }, "begin with one slash"},
		"a whole URL":               {func(c *partner.Contract) { c.Routes["balanceGet"] = "GET https://evil.example/balance" }, "begin with one slash"},
		"a query":                   {func(c *partner.Contract) { c.Routes["balanceGet"] = "GET /balance?x=1" }, "query"},
		"a path that climbs":        {func(c *partner.Contract) { c.Routes["balanceGet"] = "GET /partner/../public" }, `".."`},
		"an id that is missing":     {func(c *partner.Contract) { c.Routes["groupsGet"] = "GET /group" }, "no placeholder {group}"},
		"an id of something else":   {func(c *partner.Contract) { c.Routes["groupsGet"] = "GET /groups/{group}/{key}" }, "{key}, which its call cannot fill"},
		"an id twice":               {func(c *partner.Contract) { c.Routes["groupsGet"] = "GET /groups/{group}/{group}" }, "cannot fill"},
		"a brace left open":         {func(c *partner.Contract) { c.Routes["groupsGet"] = "GET /groups/{group" }, "takes fewer"},
		"two operations in one":     {func(c *partner.Contract) { c.Routes["keysGet"] = "GET /partner/v1/groups/{key}" }, "is that of"},
		"a field of nothing":        {func(c *partner.Contract) { c.Fields["group.colour"] = "color" }, `"group.colour": there is none`},
		"a missing field":           {func(c *partner.Contract) { delete(c.Fields, "group.id") }, "field group.id is missing"},
		"a field without a name":    {func(c *partner.Contract) { c.Fields["group.id"] = "" }, "field group.id has the name"},
		"a name that is no name":    {func(c *partner.Contract) { c.Fields["group.id"] = "the id\n" }, "field group.id has the name"},
		"one name for two fields":   {func(c *partner.Contract) { c.Fields["group.id"] = "name" }, "have one name"},
		"a header without a name":   {func(c *partner.Contract) { c.Headers.RequestID = "" }, "header RequestID"},
		"a header with a break":     {func(c *partner.Contract) { c.Headers.IdempotencyKey = "X\r\nY" }, "header IdempotencyKey"},
		"one header for two things": {func(c *partner.Contract) { c.Headers.IdempotencyKey = "authorization" }, "one name"},
		"a header of HTTP itself":   {func(c *partner.Contract) { c.Headers.IdempotencyKey = "content-length" }, "HTTP needs"},
		"a scheme with a blank":     {func(c *partner.Contract) { c.Headers.Scheme = "Bearer x" }, "scheme"},
		"no retention":              {func(c *partner.Contract) { c.Retention = 0 }, "retention"},
		"a short retention":         {func(c *partner.Contract) { c.Retention = 10 * time.Minute }, "retention"},
		"an empty code":             {func(c *partner.Contract) { c.Codes[""] = "X" }, "code is empty"},
		"a code of nothing":         {func(c *partner.Contract) { c.Codes["X"] = "" }, "code is empty"},
		"a negative minimum":        {func(c *partner.Contract) { c.MinimumTopUp = amount("-0.01") }, "minimum top-up is negative"},
	} {
		contract := partner.DefaultContract()
		tt.change(&contract)
		c, err := partner.New("btx_prt_x", partner.WithoutLedger(), partner.WithContract(contract))
		if c != nil || !errors.Is(err, partner.ErrContract) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: New = %v, %v; want an error with %q", name, c, err, tt.want)
		}
	}
}

// A contract is copied: what its owner does with it later changes no client.
func TestContractsAreCopied(t *testing.T) {
	contract := partner.DefaultContract()
	option := partner.WithContract(contract)
	contract.Routes["balanceGet"] = "GET /elsewhere"
	clear(contract.Fields)
	inBubble(t, botixtest.Config{}, []partner.Option{option}, func(s *sandbox) {
		if _, err := s.client.Balance(s.Context()); err != nil {
			s.Error(err)
		}
	})
	if other := partner.DefaultContract(); other.Routes["balanceGet"] != "GET /partner/v1/balance" || len(other.Fields) == 0 {
		t.Errorf("the default contract became %+v", other.Routes)
	}
}

func TestContractsAreForThisPackagesNew(t *testing.T) {
	t.Parallel()
	c, err := botix.New("btx_live_x", botix.WithoutLedger(), partner.WithContract(partner.DefaultContract()))
	if err == nil || c != nil || !strings.Contains(err.Error(), "another package") {
		t.Errorf("botix.New with a contract = %v, %v; want an error", c, err)
	}
}

// What stands under a name that a contract gives to another field is not that field.
func TestRenamedFieldsDoNotShadow(t *testing.T) {
	contract := partner.DefaultContract()
	contract.Fields["group.id"] = "public_id"
	inBubble(t, botixtest.Config{}, append(exactly(tries(1)), partner.WithContract(contract)), func(s *sandbox) {
		s.srv.Script(botixtest.On("groupsGet").Do(botixtest.Reply(200, nil,
			`{"success":true,"data":{"id":7,"public_id":"grp_1","name":"a<b","balance":"1.10","spent":"0","unknown":[1,{"id":9007199254740993}]}}`)))
		for range 20 { // the order of an object's members is anybody's
			group, err := s.client.Groups.Get(s.Context(), "grp_1")
			if err != nil || group.ID != "grp_1" || group.Name != "a<b" || group.Balance.String() != "1.10" {
				s.Errorf("Get = %+v, %v", group, err)
			}
		}
	})
}

// The operations of the partner layer as the platform describes them: a row of
// each, a method of each, and each reaches the server.
func TestDefaultSurface(t *testing.T) {
	t.Parallel()
	surface := []string{
		"GET balance", "GET audit-events",
		"GET groups", "POST groups", "GET groups/{id}", "PATCH groups/{id}", "DELETE groups/{id}",
		"GET groups/{id}/keys", "POST groups/{id}/keys", "GET keys/{id}", "PATCH keys/{id}", "DELETE keys/{id}",
		"PATCH groups/{id}/spend-limit", "POST groups/{id}/top-ups", "GET transactions", "GET requests",
		"GET projects", "POST projects", "GET projects/{id}/keys", "GET projects/{id}/usage",
	}
	var routes []string
	for _, route := range partner.DefaultContract().Routes {
		route = strings.NewReplacer("{group}", "{id}", "{key}", "{id}", "{project}", "{id}", "/partner/v1/", "").Replace(route)
		routes = append(routes, route)
	}
	slices.Sort(surface)
	slices.Sort(routes)
	if !slices.Equal(routes, surface) {
		t.Errorf("the routes are\n%q\nwant\n%q", routes, surface)
	}

	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		story(s)
		reached := map[string]bool{}
		for _, call := range s.srv.Journal().Calls() {
			reached[call.Operation] = true
		}
		for _, name := range slices.Sorted(maps.Keys(partner.DefaultContract().Routes)) {
			if !reached[name] {
				s.Errorf("nothing calls %s", name)
			}
		}
	})
}
