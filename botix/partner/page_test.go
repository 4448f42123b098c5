package partner_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
)

// replies makes the sandbox answer an operation with these bodies in turn.
func (s *sandbox) replies(operation string, bodies ...string) {
	faults := make([]botixtest.Fault, len(bodies))
	for i, body := range bodies {
		faults[i] = botixtest.Reply(200, nil, body)
	}
	s.srv.Script(botixtest.On(operation).InTurn(faults...))
}

// walk is what comes out of a sequence of groups: the ids, then the error.
func walk(s *sandbox, p partner.ListGroups) (ids []partner.GroupID, err error) {
	for group, e := range s.client.Groups.All(s.Context(), p) {
		if e != nil {
			err = e
			continue
		}
		ids = append(ids, group.ID)
	}
	return ids, err
}

func groupPage(meta string, ids ...string) string {
	data := ""
	for i, id := range ids {
		if i > 0 {
			data += ","
		}
		data += fmt.Sprintf(`{"id":%q,"balance":"0","spent":"0"}`, id)
	}
	if meta != "" {
		meta = `,"meta":` + meta
	}
	return `{"success":true,"data":[` + data + `]` + meta + `}`
}

func TestAllWalksEveryPage(t *testing.T) {
	inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
		var want []partner.GroupID
		for i := range 7 {
			want = append(want, s.group(fmt.Sprint("группа ", i)))
		}
		all := s.client.Groups.All(s.Context(), partner.ListGroups{Limit: 3})
		if n := len(s.srv.Journal().Calls()); n != 0 {
			s.Errorf("%d requests before the loop", n)
		}
		for range 2 { // a sequence can be ranged over again
			var got []partner.GroupID
			for group, err := range all {
				if err != nil {
					s.Fatal(err)
				}
				got = append(got, group.ID)
			}
			if !slices.Equal(got, want) {
				s.Errorf("All = %v, want %v", got, want)
			}
		}
		for range all {
			break
		}
		calls := s.srv.Journal().Calls("groupsList")
		if len(calls) != 7 || calls[0].Query != "limit=3" {
			s.Errorf("%d requests, the first with %q; want 7", len(calls), calls[0].Query)
		}

		// Page by page, from where the last one ended.
		var got []partner.GroupID
		p := partner.ListGroups{Limit: 3}
		for {
			page, err := s.client.Groups.List(s.Context(), p)
			if err != nil {
				s.Fatal(err)
			}
			for _, group := range page.Items {
				got = append(got, group.ID)
			}
			if !page.HasMore {
				break
			}
			p.Cursor = page.NextCursor
		}
		if !slices.Equal(got, want) {
			s.Errorf("page by page: %v, want %v", got, want)
		}
	})
}

// F093, F094 and F095: how lists end, and how they do not.
func TestF093F094F095EndsOfLists(t *testing.T) {
	for name, tt := range map[string]struct {
		pages []string
		want  []partner.GroupID
		err   error
	}{
		"the cursor is null":              {[]string{groupPage(`{"next_cursor":null,"has_more":false}`, "a")}, []partner.GroupID{"a"}, nil},
		"the cursor is empty":             {[]string{groupPage(`{"next_cursor":""}`, "a")}, []partner.GroupID{"a"}, nil},
		"there is no cursor":              {[]string{groupPage(`{"has_more":false}`, "a")}, []partner.GroupID{"a"}, nil},
		"there is no meta":                {[]string{groupPage(``, "a")}, []partner.GroupID{"a"}, nil},
		"has_more is false with a cursor": {[]string{groupPage(`{"next_cursor":"p2","has_more":false}`, "a")}, []partner.GroupID{"a"}, nil},
		"has_more is true without one":    {[]string{groupPage(`{"has_more":true}`, "a")}, nil, botix.ErrPagination},
		"a cursor alone goes on":          {[]string{groupPage(`{"next_cursor":"p2"}`, "a"), groupPage(``, "b")}, []partner.GroupID{"a", "b"}, nil},
		"an empty page in the middle": {[]string{groupPage(`{"next_cursor":"p2","has_more":true}`, "a"), groupPage(`{"next_cursor":"p3","has_more":true}`),
			groupPage(`{"has_more":false}`, "b")}, []partner.GroupID{"a", "b"}, nil},
		"the same cursor for ever": {[]string{groupPage(`{"next_cursor":"p2","has_more":true}`, "a"), groupPage(`{"next_cursor":"p2","has_more":true}`, "a")},
			[]partner.GroupID{"a"}, botix.ErrPagination},
		"a circle of two": {[]string{groupPage(`{"next_cursor":"p2","has_more":true}`, "a"), groupPage(`{"next_cursor":"p3","has_more":true}`, "b"),
			groupPage(`{"next_cursor":"p2","has_more":true}`, "c")}, []partner.GroupID{"a", "b"}, botix.ErrPagination},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
				s.replies("groupsList", tt.pages...)
				got, err := walk(s, partner.ListGroups{})
				if !slices.Equal(got, tt.want) || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
					s.Errorf("All = %v, %v; want %v, %v", got, err, tt.want, tt.err)
				}
				s.sent("groupsList", len(tt.pages))
			})
		})
	}
}

// An error in the middle tells where to go on.
func TestPageErrorTellsWhereToGoOn(t *testing.T) {
	inBubble(t, botixtest.Config{}, exactly(tries(1)), func(s *sandbox) {
		for range 5 {
			s.group("группа")
		}
		s.srv.Script(botixtest.On("groupsList").Nth(2).Do(botixtest.Status(500)))
		got, err := walk(s, partner.ListGroups{Limit: 2})
		stopped, ok := errors.AsType[*partner.PageError](err)
		if !ok || len(got) != 2 {
			s.Fatalf("All = %v, %v; want two and a *PageError", got, err)
		}
		rest, err := walk(s, partner.ListGroups{Limit: 2, Cursor: stopped.Cursor})
		if err != nil || len(rest) != 3 {
			s.Errorf("from there: %v, %v; want the other three", rest, err)
		}
		_, err = walk(s, partner.ListGroups{Cursor: "nonsense"})
		if !errors.Is(err, botix.ErrInvalidCursor) {
			s.Errorf("a cursor of nothing: %v", err)
		}
	})
}

// A null among the items is no item.
func TestANullItemIsNoItem(t *testing.T) {
	inBubble(t, botixtest.Config{}, exactly(tries(1)), func(s *sandbox) {
		for _, data := range []string{`[null]`, `[{"id":"grp_1","balance":"0","spent":"0"},{}]`} {
			s.srv.ClearScript()
			s.replies("groupsList", `{"success":true,"data":`+data+`}`)
			if page, err := s.client.Groups.List(s.Context(), partner.ListGroups{}); err == nil || page != nil {
				s.Errorf("%s: List = %+v, %v; want an error", data, page, err)
			}
		}
	})
}

// Every filter goes out under its name, and what a server returns beside it, because
// it does not know the filter, is left out.
func TestFiltersHoldWhateverTheServerKnows(t *testing.T) {
	moment := time.Date(2026, 5, 22, 10, 0, 0, 0, time.FixedZone("MSK", 3*60*60))
	for operation, tt := range map[string]struct {
		call  func(*sandbox) (int, error)
		query url.Values
		data  string // the first of them passes
	}{
		"groupsList": {
			func(s *sandbox) (int, error) {
				return found(s.client.Groups.List(s.Context(), partner.ListGroups{ExternalID: "cust_42", ProjectID: 7, Status: "active", Cursor: "c", Limit: 9}))
			},
			url.Values{"external_id": {"cust_42"}, "project_id": {"7"}, "status": {"active"}, "cursor": {"c"}, "limit": {"9"}},
			`{"id":"g1","external_id":"cust_42","project_id":7,"status":"active","balance":"0","spent":"0"},
			 {"id":"g2","external_id":"cust_43","project_id":7,"status":"active","balance":"0","spent":"0"},
			 {"id":"g3","external_id":null,"project_id":7,"status":"active","balance":"0","spent":"0"},
			 {"id":"g4","external_id":"cust_42","project_id":null,"status":"active","balance":"0","spent":"0"},
			 {"id":"g5","external_id":"cust_42","project_id":7,"status":"suspended","balance":"0","spent":"0"}`,
		},
		"keysList": {
			func(s *sandbox) (int, error) {
				return found(s.client.Keys.List(s.Context(), "g", partner.ListKeys{Function: "bot", ExternalID: "x", Status: "active"}))
			},
			url.Values{"function": {"bot"}, "external_id": {"x"}, "status": {"active"}},
			`{"id":"k1","function":"bot","external_id":"x","status":"active"},{"id":"k2","function":"crm","external_id":"x","status":"active"},
			 {"id":"k3","function":"bot","status":"active"},{"id":"k4","function":"bot","external_id":"x","status":"revoked"}`,
		},
		"transactionsList": {
			func(s *sandbox) (int, error) {
				return found(s.client.Transactions.List(s.Context(), partner.ListTransactions{GroupID: "g", Type: "top_up", Reference: "r", Since: moment, Until: moment.Add(time.Hour)}))
			},
			url.Values{"group_id": {"g"}, "type": {"top_up"}, "reference": {"r"}, "since": {"2026-05-22T07:00:00Z"}, "until": {"2026-05-22T08:00:00Z"}},
			`{"id":"t1","group_id":"g","type":"top_up","reference":"r","amount":"1","created_at":"2026-05-22T07:00:00Z"},
			 {"id":"t2","group_id":"g","type":"usage","reference":"r","amount":"1","created_at":"2026-05-22T07:00:00Z"},
			 {"id":"t3","group_id":"g","type":"top_up","amount":"1","created_at":"2026-05-22T07:00:00Z"},
			 {"id":"t4","group_id":null,"type":"top_up","reference":"r","amount":"1","created_at":"2026-05-22T07:00:00Z"},
			 {"id":"t5","group_id":"g","type":"top_up","reference":"r","amount":"1","created_at":"2026-05-22T06:59:59Z"},
			 {"id":"t6","group_id":"g","type":"top_up","reference":"r","amount":"1","created_at":"2026-05-22T08:00:00Z"}`,
		},
		"requestsList": {
			func(s *sandbox) (int, error) {
				return found(s.client.Requests.List(s.Context(), partner.ListRequests{GroupID: "g", KeyID: "k", ProjectID: 7, Since: moment, Until: moment.Add(time.Hour)}))
			},
			url.Values{"group_id": {"g"}, "key_id": {"k"}, "project_id": {"7"}, "since": {"2026-05-22T07:00:00Z"}, "until": {"2026-05-22T08:00:00Z"}},
			`{"id":"r1","group_id":"g","key_id":"k","project_id":7,"cost":"0","created_at":"2026-05-22T07:30:00Z"},
			 {"id":"r2","group_id":null,"key_id":"k","project_id":7,"cost":"0","created_at":"2026-05-22T07:30:00Z"},
			 {"id":"r3","group_id":"g","key_id":"k","project_id":7,"cost":"0","created_at":"2026-05-22T09:00:00Z"}`,
		},
		"auditEventsList": {
			func(s *sandbox) (int, error) {
				return found(s.client.AuditEvents.List(s.Context(), partner.ListAuditEvents{GroupID: "g", Action: "key.create", TargetType: "key", TargetID: "k", RequestID: "r"}))
			},
			url.Values{"group_id": {"g"}, "action": {"key.create"}, "target_type": {"key"}, "target_id": {"k"}, "request_id": {"r"}},
			`{"id":"a1","group_id":"g","action":"key.create","target_type":"key","target_id":"k","request_id":"r"},
			 {"id":"a2","group_id":"g","action":"key.delete","target_type":"key","target_id":"k","request_id":"r"},
			 {"id":"a3","group_id":"g","action":"key.create","target_type":"group","target_id":"k","request_id":"r"},
			 {"id":"a4","group_id":"g","action":"key.create","target_type":"key","target_id":"l","request_id":"r"},
			 {"id":"a5","group_id":"g","action":"key.create","target_type":"key","target_id":"k","request_id":"s"}`,
		},
		"projectsList": {
			func(s *sandbox) (int, error) {
				return found(s.client.Projects.List(s.Context(), partner.ListProjects{ExternalID: "x"}))
			},
			url.Values{"external_id": {"x"}},
			`{"id":7,"external_id":"x"},{"id":8,"external_id":"y"},{"id":9,"external_id":null}`,
		},
	} {
		t.Run(operation, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, exactly(tries(1)), func(s *sandbox) {
				s.replies(operation, `{"success":true,"data":[`+tt.data+`]}`)
				n, err := tt.call(s)
				if err != nil || n != 1 {
					s.Errorf("%d items are left, %v; want one", n, err)
				}
				query, err := url.ParseQuery(s.srv.Journal().Calls(operation)[0].Query)
				if err != nil || query.Encode() != tt.query.Encode() {
					s.Errorf("the query is %v, want %v", query, tt.query)
				}
			})
		})
	}
}

func found[T any](page *partner.Page[T], err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return len(page.Items), nil
}

// The same against a server that ignores what the contract leaves optional.
func TestFiltersAgainstAServerWithoutThem(t *testing.T) {
	inBubble(t, botixtest.Config{Partner: botixtest.PartnerConfig{IgnoreFilters: true}}, exactly(), func(s *sandbox) {
		group := s.group("Кофейня")
		for i := range 5 {
			if _, err := s.client.TopUps.Create(s.Context(), group, topUp("1.00", fmt.Sprint("evt_", i))); err != nil {
				s.Fatal(err)
			}
		}
		var credits []string
		for tx, err := range s.client.Transactions.All(s.Context(), partner.ListTransactions{GroupID: group, Reference: "evt_3", Limit: 2}) {
			if err != nil {
				s.Fatal(err)
			}
			credits = append(credits, *tx.Reference)
		}
		if !slices.Equal(credits, []string{"evt_3"}) {
			s.Errorf("the credits of evt_3 are %v", credits)
		}
	})
}
