package botixtest_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// foreign is a table in which nothing is called as by default.
func foreign() botixtest.PartnerTable {
	table := botixtest.DefaultPartnerTable()
	table.Prefix = "/api/reseller/v3"
	for id, route := range table.Routes {
		method, path, _ := strings.Cut(route, " ")
		if method == "PATCH" {
			method = "PUT"
		}
		table.Routes[id] = method + " x/" + path + "/do"
	}
	for name := range table.Headers {
		table.Headers[name] = "Our-" + strings.TrimPrefix(name, "X-")
	}
	for name := range table.Fields {
		table.Fields[name] = "their_" + name
	}
	for code := range table.Codes {
		table.Codes[code] = strings.ToLower(code)
	}
	return table
}

// Whatever the table calls things, the sandbox is the same: each request and answer is that of the default table, word for
// word.
func TestEverythingCanBeCalledOtherwise(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{Table: foreign()}, func(p *partner) {
		plain := newPartner(start(p.T, botixtest.Config{}))
		p.base = "/api/reseller/v3/x/"
		step := func(route, body string) answer {
			t.Helper()
			ours := plain.client.raw(route, body, "Idempotency-Key", route+body)
			method, path, _ := strings.Cut(route, " ")
			path, query, _ := strings.Cut(path, "?")
			if method == "PATCH" {
				method = "PUT"
			}
			if query != "" {
				query = "?their_" + strings.ReplaceAll(query, "&", "&their_")
			}
			bare := p.client.as("")
			theirs := bare.raw(method+" "+path+"/do"+query, strings.ReplaceAll(body, `{"`, `{"their_`),
				"Our-Authorization", p.srv.PartnerKey(), "Our-Idempotency-Key", route+body)
			if got, want := theirs.text, translated(t, ours.text); theirs.status != ours.status || got != want {
				t.Errorf("%s\n got %d %s\nwant %d %s", route, theirs.status, got, ours.status, want)
			}
			for _, name := range []string{"X-Request-Id", "X-RateLimit-Remaining", "Idempotent-Replayed", "Retry-After"} {
				called := "Our-" + strings.TrimPrefix(name, "X-")
				if theirs.header.Get(name) != "" || theirs.header.Get(called) != ours.header.Get(name) {
					t.Errorf("%s: %s is %q and %s %q, want the second as %q", route, name, theirs.header.Get(name), called,
						theirs.header.Get(called), ours.header.Get(name))
				}
			}
			return ours
		}
		group := data[botixtest.Group](t, step("POST groups", `{"name":"Кофейня"}`)).ID
		step("POST groups", `{"name":"Кофейня"}`) // a replay
		step("PATCH groups/"+group+"/spend-limit", `{"spend_limit":"5.00"}`)
		step("POST groups/"+group+"/keys", `{"function":"bot"}`)
		step("POST groups/"+group+"/top-ups", `{"amount":"5.00"}`)
		step("POST groups/"+group+"/top-ups", `{"amount":"5000.00"}`)
		step("POST groups/"+group+"/top-ups", `{"amount":5}`)
		step("POST projects", `{"name":"Кофейня"}`)
		step("GET groups?limit=1&status=active", "")
		step("GET groups?limit=x", "")
		step("GET audit-events", "")
		step("GET transactions?type=top_up", "")
		step("GET balance", "")
		step("DELETE groups/"+group, "")
		step("GET groups/none", "")
		p.srv.Script(botixtest.On("balanceGet").Do(botixtest.RateLimited("7")))
		plain.srv.Script(botixtest.On("balanceGet").Do(botixtest.RateLimited("7")))
		step("GET balance", "")

		// The default names mean nothing any more.
		if got := p.as(p.srv.PartnerKey()).client.raw("GET balance/do", ""); got.status != 401 || !strings.Contains(got.text, `"their_code":"missing_api_key"`) {
			t.Errorf("the header Authorization opens: %d %s", got.status, got.text)
		}
		bare := p.client.as("")
		if got := bare.raw("POST groups/do", `{"name":"a"}`, "Our-Authorization", p.srv.PartnerKey(), "Our-Idempotency-Key", "k"); got.status != 400 {
			t.Errorf("the field name is read: %d %s", got.status, got.text)
		}
		if got := bare.raw("POST groups/do", `{"their_name":"a"}`, "Our-Authorization", p.srv.PartnerKey(), "Idempotency-Key", "k"); got.status != 400 {
			t.Errorf("the header Idempotency-Key is read: %d %s", got.status, got.text)
		}
		for _, call := range p.srv.Journal().Calls() {
			if call.Header.Get("Our-Authorization") != "" {
				t.Fatal("the journal has the partner key")
			}
		}
		public := p.public(p.srv.APIKey())
		public.want(public.do("GET me", ""), 200)
		public.want(public.do("POST messages", `{}`), 400, "VALIDATION_ERROR")
	})
}

// translated writes an answer of the default table in the words of foreign.
func translated(t *testing.T, text string) string {
	t.Helper()
	if text == "" {
		return ""
	}
	var body any
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatal(err)
	}
	var walk func(any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for _, name := range slices.Collect(maps.Keys(v)) {
				inner := walk(v[name])
				if code, ok := inner.(string); ok && name == "code" {
					inner = strings.ToLower(code)
				}
				delete(v, name)
				if slices.Contains([]string{"minimum", "available", "required"}, name) { // details that are no fields
					v[name] = inner
				} else {
					v["their_"+name] = inner
				}
			}
		}
		return v
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(walk(body)); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// One object may call a field otherwise than the rest, and two fields may swap their names.
func TestAFieldCanBeRenamedInOneObject(t *testing.T) {
	table := botixtest.PartnerTable{Fields: map[string]string{
		"external_id": "ref", "project.external_id": "customer", "group.balance": "spent", "group.spent": "balance",
		"key.name": "function", "key.function": "name",
	}}
	withPartner(t, botixtest.PartnerConfig{Table: table}, func(p *partner) {
		made := data[map[string]any](t, p.raw("POST groups", `{"name":"a","ref":"cust_1","external_id":"x"}`))
		if made["ref"] != "cust_1" || made["external_id"] != nil || len(p.srv.Partner(1).GroupsOf("cust_1")) != 1 {
			t.Errorf("made %v", made)
		}
		if got := data[map[string]any](t, p.raw("POST projects", `{"name":"a","customer":"cust_1","ref":"x"}`)); got["customer"] != "cust_1" {
			t.Errorf("made %v", got)
		}
		p.raw("POST groups/"+made["id"].(string)+"/top-ups", `{"amount":"5.00"}`)
		p.raw("POST groups/"+made["id"].(string)+"/keys", `{"name":"bot","function":"главный"}`)
		if keys := p.srv.Partner(1).LiveKeys(made["id"].(string), "bot"); len(keys) != 1 || *keys[0].Name != "главный" {
			t.Errorf("keys %+v", keys)
		}
		got := data[[]map[string]any](t, p.raw("GET groups?ref=cust_1", ""))
		if len(got) != 1 || got[0]["spent"] != "5.00" || got[0]["balance"] != "0.00" {
			t.Errorf("listed %v", got)
		}
	})
}

// The path of a key may name its group, and then finds it nowhere else.
func TestThePathOfAKeyMayNameItsGroup(t *testing.T) {
	table := botixtest.PartnerTable{Routes: map[string]string{
		"keysGet": "GET groups/{group}/keys/{key}", "keysDelete": "POST keys/{key}/of/{group}/revoke",
	}}
	withPartner(t, botixtest.PartnerConfig{Table: table}, func(p *partner) {
		account := p.srv.Partner(1)
		a, b := account.AddGroup(botixtest.Group{Name: "a"}), account.AddGroup(botixtest.Group{Name: "b"})
		key := account.AddKey(a, "bot")
		ask := func(route string) int {
			return p.raw(route, "").status
		}
		for route, want := range map[string]int{
			"GET groups/" + a + "/keys/" + key:            200,
			"GET groups/" + b + "/keys/" + key:            404,
			"GET keys/" + key:                             404,
			"POST keys/" + key + "/of/" + b + "/revoke":   404,
			"GET groups/" + a + "/keys":                   200,
			"PATCH keys/" + key:                           400, // no body
			"GET groups/" + a + "/keys/" + key + "/other": 404,
		} {
			if got := ask(route); got != want {
				t.Errorf("%s: %d, want %d", route, got, want)
			}
		}
		if got := ask("POST keys/" + key + "/of/" + a + "/revoke"); got != 204 || len(account.LiveKeys(a, "bot")) != 0 {
			t.Errorf("revoked: %d", got)
		}
		if e := account.AuditEvents(); len(e) != 1 || e[0].Action != "key.delete" {
			t.Errorf("audit log %+v", e)
		}
	})
}

func TestSchemesBeforeThePartnerKey(t *testing.T) {
	renamed := map[string]string{"Authorization": "X-Api-Key"}
	for _, test := range []struct {
		table        botixtest.PartnerTable
		header, want string // what opens
	}{
		{botixtest.PartnerTable{}, "Authorization", "Bearer "},
		{botixtest.PartnerTable{Scheme: "ApiKey"}, "Authorization", "ApiKey "},
		{botixtest.PartnerTable{Scheme: botixtest.NoScheme}, "Authorization", ""},
		{botixtest.PartnerTable{Headers: renamed}, "X-Api-Key", ""},
		{botixtest.PartnerTable{Headers: renamed, Scheme: "Bearer"}, "X-Api-Key", "Bearer "},
	} {
		withPartner(t, botixtest.PartnerConfig{Table: test.table}, func(p *partner) {
			for _, scheme := range []string{"Bearer ", "ApiKey ", "", "Basic "} {
				for _, header := range []string{"Authorization", "X-Api-Key"} {
					status := 401
					if scheme == test.want && header == test.header {
						status = 200
					}
					if got := p.client.as("").raw("GET balance", "", header, scheme+p.srv.PartnerKey()); got.status != status {
						t.Errorf("%+v: %s: %q answers %d, want %d", test.table, header, scheme, got.status, status)
					}
				}
			}
			p.want(p.client.as("").raw("GET balance", "", test.header, strings.TrimSpace(test.want)+" "), 401, "MISSING_API_KEY")
		})
	}
}

// A path that is a word wins over one that is an id.
func TestWordsWinOverIDs(t *testing.T) {
	table := botixtest.PartnerTable{Prefix: "/p/", Routes: map[string]string{"groupsGet": "GET {group}"}}
	withPartner(t, botixtest.PartnerConfig{Table: table}, func(p *partner) {
		p.base = "/p/"
		id := p.create("groups", `{"name":"a"}`)
		p.want(p.do("GET "+id, ""), 200)
		for _, list := range []string{"groups", "projects", "requests"} {
			p.list(list)
		}
	})
}

func TestTablesThatMakeNoSenseAreRefused(t *testing.T) {
	tests := map[string]botixtest.PartnerTable{
		"slash":                               {Prefix: "partner"},
		"overlaps":                            {Prefix: "/public/v1"},
		`no operation "groupCreate"`:          {Routes: map[string]string{"groupCreate": "POST groups"}},
		`ids of "groups/{group}"`:             {Routes: map[string]string{"groupsGet": "GET groups"}},
		`ids of "keys/{key}"`:                 {Routes: map[string]string{"keysGet": "GET projects/{project}/keys/{key}"}},
		`ids of "projects/{project}/keys"`:    {Routes: map[string]string{"projectKeysList": "GET groups/{group}/keys"}},
		"METHOD path":                         {Routes: map[string]string{"balanceGet": "balance"}},
		"have one route":                      {Routes: map[string]string{"groupsGet": "GET x/{group}", "keysGet": "GET x/{key}"}},
		"one route":                           {Routes: map[string]string{"balanceGet": "GET groups"}},
		`no header "X-Key"`:                   {Headers: map[string]string{"X-Key": "Y-Key"}},
		`both called "X-Request-Id"`:          {Headers: map[string]string{"idempotency-key": "x-request-id"}},
		`no field "colour"`:                   {Fields: map[string]string{"colour": "color"}},
		`no field "group.amount"`:             {Fields: map[string]string{"group.amount": "sum"}},
		`both called "name"`:                  {Fields: map[string]string{"group.id": "name"}},
		`the field of group "id" has no name`: {Fields: map[string]string{"group.id": ""}},
		`no code "NONE"`:                      {Codes: map[string]string{"NONE": "X"}},
		`both called "NOT_FOUND"`:             {Codes: map[string]string{"INVALID_JSON": "NOT_FOUND"}},
	}
	for want, table := range tests {
		_, err := botixtest.StartInMemory(botixtest.Config{Partner: botixtest.PartnerConfig{Table: table}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error with %q", table, err, want)
		}
	}
	srv, err := botixtest.StartInMemory(botixtest.Config{Partner: botixtest.PartnerConfig{Table: botixtest.DefaultPartnerTable()}})
	if err != nil {
		t.Fatalf("the default table: %v", err)
	}
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
}
