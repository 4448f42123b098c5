package botix_test

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

var sandboxDefaults botixtest.Config

func isInputError(err error) bool { return errors.Is(err, botix.ErrInvalidInput) }

const badUTF8 = "a\xffb"

func TestBadInputIsRefusedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	ctx, none := t.Context(), context.Context(nil)
	hook := botix.CreateWebhook{URL: "https://example.com", Events: []botix.WebhookEvent{botix.EventChatOpened}}
	urls := map[string]string{
		"":                               "is empty",
		"example.com/hook":               "is not an absolute http or https URL",
		"/hook":                          "is not an absolute http or https URL",
		"ftp://example.com":              "is not an absolute http or https URL",
		"https://":                       "is not an absolute http or https URL",
		"https://:8080/hook":             "is not an absolute http or https URL",
		"https://user:pw@example.com/":   "holds a user name or password",
		"https://exa mple.com":           "is not a URL",
		"https://example.com/" + badUTF8: "is not valid UTF-8",
	}
	type badCall struct {
		field, problem string
		call           func() error
	}
	tests := map[string]badCall{
		"nil context, read": {"ctx", "is nil", func() error { _, err := c.Me(none); return err }},
		"nil context, list": {"ctx", "is nil", func() error { _, err := c.Contacts.List(none, botix.ListContacts{}); return err }},
		"nil context, all":  {"ctx", "is nil", func() error { return walk(c.Contacts.All(none, botix.ListContacts{})).err }},
		"nil context, send": {"ctx", "is nil", func() error {
			_, err := c.Messages.Send(none, botix.SendMessage{ContactID: 1, Content: "a"})
			return err
		}},
		"nil context, many": {"ctx", "is nil", func() error { _, err := c.Contacts.CreateMany(none, make([]botix.CreateContact, 1)); return err }},
		"zero contact":      {"id", "must be positive", func() error { _, err := c.Contacts.Get(ctx, 0); return err }},
		"negative contact":  {"id", "must be positive", func() error { _, err := c.Contacts.Get(ctx, -1); return err }},
		"update of nobody": {"id", "must be positive", func() error {
			_, err := c.Contacts.Update(ctx, 0, botix.ContactUpdate{City: botix.Set("a")})
			return err
		}},
		"update of nothing": {"the update", "sets nothing", func() error { _, err := c.Contacts.Update(ctx, 1, botix.ContactUpdate{}); return err }},
		"delete of nobody":  {"id", "must be positive", func() error { return c.Contacts.Delete(ctx, 0) }},
		"no tag":            {"tag", "is empty", func() error { _, err := c.Contacts.AddTag(ctx, 1, ""); return err }},
		"blank tag":         {"tag", "is empty", func() error { _, err := c.Contacts.AddTag(ctx, 1, " \t"); return err }},
		"tag of nobody":     {"id", "must be positive", func() error { _, err := c.Contacts.AddTag(ctx, 0, "vip"); return err }},
		"bad tag":           {"tag", "is not valid UTF-8", func() error { _, err := c.Contacts.RemoveTag(ctx, 1, badUTF8); return err }},
		"dot tag":           {"tag", "cannot be part of a path", func() error { _, err := c.Contacts.RemoveTag(ctx, 1, "."); return err }},
		"dots tag":          {"tag", "cannot be part of a path", func() error { _, err := c.Contacts.RemoveTag(ctx, 1, ".."); return err }},
		"empty tag in a list": {"tags[1]", "is empty", func() error {
			_, err := c.Contacts.Create(ctx, botix.CreateContact{Tags: []string{"vip", ""}})
			return err
		}},
		"bad text of a body":  {"body", "cannot be encoded: FirstName: text is not valid UTF-8", func() error { _, err := c.Contacts.Create(ctx, botix.CreateContact{FirstName: badUTF8}); return err }},
		"no contacts":         {"contacts", "is empty", func() error { _, err := c.Contacts.BulkCreate(ctx, nil); return err }},
		"101 contacts":        {"contacts", "has 101 items, the limit is 100", func() error { _, err := c.Contacts.BulkCreate(ctx, make([]botix.CreateContact, 101)); return err }},
		"no updates":          {"updates", "is empty", func() error { _, err := c.Contacts.BulkUpdate(ctx, nil); return err }},
		"101 updates":         {"updates", "has 101 items, the limit is 100", func() error { _, err := c.Contacts.BulkUpdate(ctx, make([]botix.ContactChange, 101)); return err }},
		"bulk update of none": {"updates[0].id", "must be positive", func() error { _, err := c.Contacts.BulkUpdate(ctx, make([]botix.ContactChange, 1)); return err }},
		"bulk without fields": {"updates[0].fields", "sets nothing", func() error { _, err := c.Contacts.BulkUpdate(ctx, []botix.ContactChange{{ID: 1}}); return err }},
		"no messages":         {"messages", "is empty", func() error { _, err := c.Messages.BulkSend(ctx, nil); return err }},
		"51 messages":         {"messages", "has 51 items, the limit is 50", func() error { _, err := c.Messages.BulkSend(ctx, make([]botix.SendMessage, 51)); return err }},
		"many of none":        {"messages", "is empty", func() error { _, err := c.Messages.SendMany(ctx, nil); return err }},
		"many with a bad one": {"messages[1].content", "is empty", func() error {
			_, err := c.Messages.SendMany(ctx, []botix.SendMessage{{ContactID: 1, Content: "a"}, {ContactID: 2}})
			return err
		}},
		"many with a bad text": {"contacts", "[1].FirstName: text is not valid UTF-8", func() error {
			_, err := c.Contacts.CreateMany(ctx, []botix.CreateContact{{}, {FirstName: badUTF8}})
			return err
		}},
		"many with a long key": {"idempotency key", "has 258 characters, at most 255 are taken", func() error {
			_, err := c.Contacts.CreateMany(ctx, make([]botix.CreateContact, 1001), botix.WithIdempotencyKey(strings.Repeat("k", 252)))
			return err
		}},
		"message to nobody":   {"contact_id", "must be positive", func() error { _, err := c.Messages.Send(ctx, botix.SendMessage{Content: "a"}); return err }},
		"empty message":       {"content", "is empty", func() error { _, err := c.Messages.Send(ctx, botix.SendMessage{ContactID: 1}); return err }},
		"negative filter":     {"contact_id", "must be positive", func() error { _, err := c.Messages.List(ctx, botix.ListMessages{ContactID: -1}); return err }},
		"bad filter":          {"tag", "is not valid UTF-8", func() error { _, err := c.Contacts.List(ctx, botix.ListContacts{Tag: badUTF8}); return err }},
		"bad cursor":          {"cursor", "is not valid UTF-8", func() error { _, err := c.Contacts.List(ctx, botix.ListContacts{Cursor: badUTF8}); return err }},
		"negative limit":      {"limit", "is negative", func() error { _, err := c.Contacts.List(ctx, botix.ListContacts{Limit: -1}); return err }},
		"limit of 101":        {"limit", "is above 100", func() error { _, err := c.Chats.List(ctx, botix.ListChats{Limit: 101}); return err }},
		"negative per_page":   {"per_page", "is negative", func() error { _, err := c.Contacts.List(ctx, botix.ListContacts{PerPage: -1}); return err }},
		"per_page of 101":     {"per_page", "is above 100", func() error { _, err := c.Contacts.List(ctx, botix.ListContacts{PerPage: 101}); return err }},
		"negative page":       {"page", "is negative", func() error { _, err := c.Contacts.List(ctx, botix.ListContacts{Page: -1}); return err }},
		"cursor and page":     {"cursor", "excludes page and per_page", func() error { _, err := c.Contacts.List(ctx, botix.ListContacts{Cursor: "c", Page: 1}); return err }},
		"cursor and per_page": {"cursor", "excludes page and per_page", func() error { _, err := c.Contacts.List(ctx, botix.ListContacts{Cursor: "c", PerPage: 1}); return err }},
		"limit and per_page":  {"limit", "excludes per_page", func() error { _, err := c.Contacts.List(ctx, botix.ListContacts{Limit: 1, PerPage: 1}); return err }},
		"messages of no chat": {"id", "must be positive", func() error { _, err := c.Chats.Messages(ctx, 0, botix.ListChatMessages{}); return err }},
		"run of no scenario":  {"id", "must be positive", func() error { _, err := c.Scenarios.Run(ctx, 0, botix.RunScenario{ContactID: 1}); return err }},
		"run for nobody":      {"contact_id", "must be positive", func() error { _, err := c.Scenarios.Run(ctx, 1, botix.RunScenario{}); return err }},
		"no events":           {"events", "is empty", func() error { _, err := c.Webhooks.Create(ctx, botix.CreateWebhook{URL: hook.URL}); return err }},
		"empty event": {"events[1]", "is empty", func() error {
			_, err := c.Webhooks.Create(ctx, botix.CreateWebhook{URL: hook.URL, Events: append(hook.Events, "")})
			return err
		}},
		"update to no events": {"events", "is empty", func() error {
			return c.Webhooks.Update(ctx, 1, botix.WebhookUpdate{Events: botix.Set[[]botix.WebhookEvent](nil)})
		}},
		"update to a bad URL":    {"url", "is not an absolute http or https URL", func() error { return c.Webhooks.Update(ctx, 1, botix.WebhookUpdate{URL: botix.Set("hook")}) }},
		"webhook update of none": {"the update", "sets nothing", func() error { return c.Webhooks.Update(ctx, 1, botix.WebhookUpdate{}) }},
		"deletion of no webhook": {"id", "must be positive", func() error { return c.Webhooks.Delete(ctx, 0) }},
		"test of no webhook":     {"id", "must be positive", func() error { _, err := c.Webhooks.Test(ctx, 0); return err }},
	}
	for url, problem := range urls {
		tests["webhook to "+url] = badCall{"url", problem, func() error {
			_, err := c.Webhooks.Create(ctx, botix.CreateWebhook{URL: url, Events: hook.Events})
			return err
		}}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := tt.call()
			e, ok := errors.AsType[*botix.InputError](err)
			if !ok || !errors.Is(err, botix.ErrInvalidInput) || retry.OutcomeOf(err) != retry.Rejected {
				t.Fatalf("error = %v, want an *InputError", err)
			}
			if e.Field != tt.field || e.Problem != tt.problem || e.Operation == "" {
				t.Errorf("error = %+v, want %s %s", *e, tt.field, tt.problem)
			}
			for _, private := range []string{badUTF8, "example.com", "pw@", "mple"} {
				if strings.Contains(err.Error(), private) {
					t.Errorf("the error repeats the argument: %v", err)
				}
			}
		})
	}
	if n := len(srv.Journal().Calls()); n != 0 {
		t.Errorf("%d requests arrived, want none", n)
	}
}

// Every call looks at its context first, also one that is added later.
func TestNoCallTakesANilContext(t *testing.T) {
	t.Parallel()
	withLedger(t, sandboxDefaults, nil, func(s *sandbox, _ *ledger.Ledger) {
		services, seen := reflect.ValueOf(s.client).Elem(), 0
		all := []reflect.Value{reflect.ValueOf(s.client)}
		for i := range services.NumField() {
			if services.Type().Field(i).IsExported() {
				all = append(all, services.Field(i))
			}
		}
		for _, v := range all {
			for i := range v.NumMethod() {
				call, name := v.Method(i).Type(), v.Type().String()+"."+v.Type().Method(i).Name
				if call.NumIn() == 0 || call.In(0) != reflect.TypeFor[context.Context]() {
					continue
				}
				seen++
				var args []reflect.Value
				for n := range call.NumIn() {
					if n < call.NumIn()-1 || !call.IsVariadic() {
						args = append(args, reflect.Zero(call.In(n)))
					}
				}
				out := v.Method(i).Call(args)
				err := out[len(out)-1]
				if err.Type().CanSeq2() { // a list, which begins when it is walked
					for _, e := range err.Seq2() {
						err = e
						break
					}
				}
				if e, ok := errors.AsType[*botix.InputError](err.Interface().(error)); !ok || e.Field != "ctx" && e.Field != "the operation" {
					s.Errorf("%s with a nil context: %v", name, err)
				}
			}
		}
		if n := len(s.srv.Journal().Calls()); n != 0 || seen < 30 {
			s.Errorf("%d requests after %d calls", n, seen)
		}
	})
}

// A tag is one path segment whatever it holds.
func TestTagReachesTheRightContact(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	for _, tag := range []string{"vip", "a/b?c", "50%", "a b", "тег", "../../2", "%2F", "#1", "...", ";x=1", "+"} {
		id := botix.ContactID(srv.AddContact(botixtest.Contact{Tags: []string{"keep"}}))
		if tags, err := c.Contacts.AddTag(t.Context(), id, tag); err != nil || len(tags) != 2 {
			t.Errorf("AddTag(%q) = %q, %v, want two tags", tag, tags, err)
		}
		tags, err := c.Contacts.RemoveTag(t.Context(), id, tag)
		if err != nil || len(tags) != 1 || tags[0] != "keep" {
			t.Errorf("RemoveTag(%q) = %q, %v, want the other one to be left", tag, tags, err)
		}
	}
}

func TestInputErrorText(t *testing.T) {
	t.Parallel()
	withLedger(t, sandboxDefaults, nil, func(s *sandbox, _ *ledger.Ledger) {
		hello, nobody := botix.SendMessage{ContactID: 7, Content: "a"}, ledger.Intent{Action: "a", Version: "1"}
		_, empty := s.client.Messages.Send(s.Context(), botix.SendMessage{Content: "a"})
		_, called := s.client.Messages.Send(s.Context(), hello, botix.WithIntent(nobody))
		_, recorded := s.client.Enqueue(s.Context(), hello, nobody)
		for want, err := range map[string]error{
			"botix: messagesSend: contact_id must be positive":                  empty,
			"botix: messagesSend: intent cannot be used: its customer is blank": cmp.Or(called, recorded),
		} {
			if err == nil || err.Error() != want {
				s.Errorf("error = %v, want %s", err, want)
			}
		}
		if called == nil || recorded == nil || called.Error() != recorded.Error() {
			s.Errorf("called: %v, recorded: %v", called, recorded)
		}
	})
}
