package botix_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/botix-pro/sdk-go/botix"
)

// F092, requests: a value, a zero, null and nothing are four different things.
func TestF092UpdateTellsZeroNullAndAbsentApart(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		update botix.ContactUpdate
		want   string
	}{
		"a value":        {botix.ContactUpdate{City: botix.Set("Казань")}, `{"city":"Казань"}`},
		"an empty text":  {botix.ContactUpdate{City: botix.Set("")}, `{"city":""}`},
		"a zero":         {botix.ContactUpdate{VKUserID: botix.Set[int64](0)}, `{"vk_user_id":0}`},
		"null":           {botix.ContactUpdate{Phone: botix.Null[string]()}, `{"phone":null}`},
		"nothing":        {botix.ContactUpdate{}, `{}`},
		"tags":           {botix.ContactUpdate{Tags: botix.Set([]string{"vip", "new"})}, `{"tags":["vip","new"]}`},
		"no tags":        {botix.ContactUpdate{Tags: botix.Set([]string{})}, `{"tags":[]}`},
		"nil tags":       {botix.ContactUpdate{Tags: botix.Set[[]string](nil)}, `{"tags":[]}`},
		"null tags":      {botix.ContactUpdate{Tags: botix.Null[[]string]()}, `{"tags":null}`},
		"an open value":  {botix.ContactUpdate{LeadStatus: botix.Set(botix.LeadStatus("frozen"))}, `{"lead_status":"frozen"}`},
		"a large number": {botix.ContactUpdate{TelegramUserID: botix.Set[int64](9007199254740993)}, `{"telegram_user_id":9007199254740993}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(tt.update)
			if err != nil || string(got) != tt.want {
				t.Errorf("json.Marshal = %s, %v, want %s", got, err, tt.want)
			}
			var back botix.ContactUpdate
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatalf("json.Unmarshal(%s): %v", got, err)
			}
			if again, _ := json.Marshal(back); string(again) != tt.want {
				t.Errorf("read back and written = %s, want %s", again, tt.want)
			}
		})
	}
}

// What an update sends must be spelled like the rest of the body, where HTML
// characters are left alone.
func TestOptEscapesNoHTML(t *testing.T) {
	t.Parallel()
	got, err := botix.Set("<Анна & Ко>").MarshalJSON()
	if want := `"<Анна & Ко>"`; err != nil || string(got) != want {
		t.Errorf("MarshalJSON = %s, %v, want %s", got, err, want)
	}
}

func TestOptStates(t *testing.T) {
	t.Parallel()
	type state struct {
		value          string
		ok, null, zero bool
	}
	for want, opt := range map[state]botix.Opt[string]{
		{zero: true}:           {},
		{null: true}:           botix.Null[string](),
		{value: "a", ok: true}: botix.Set("a"),
		{value: "", ok: true}:  botix.Set(""),
	} {
		value, ok := opt.Get()
		if got := (state{value, ok, opt.IsNull(), opt.IsZero()}); got != want {
			t.Errorf("state of %+v = %+v, want %+v", opt, got, want)
		}
	}
}

// Every field of an update counts as setting something: a new one must not be
// refused as an empty update.
func TestUpdateWithAnyFieldIsSent(t *testing.T) {
	t.Parallel()
	typ := reflect.TypeFor[botix.ContactUpdate]()
	for field := range typ.Fields() {
		t.Run(field.Name, func(t *testing.T) {
			t.Parallel()
			_, client := openSandbox(t, sandboxDefaults)
			update := reflect.New(typ).Elem()
			if err := json.Unmarshal([]byte("null"), update.FieldByIndex(field.Index).Addr().Interface()); err != nil {
				t.Fatal(err)
			}
			_, err := client.Contacts.Update(t.Context(), 1, update.Interface().(botix.ContactUpdate))
			if isInputError(err) {
				t.Errorf("Update with %s = %v, want it sent", field.Name, err)
			}
		})
	}
}

func TestRawJSON(t *testing.T) {
	t.Parallel()
	const text = `{"a":9007199254740993,"b":[1.10,null]}`
	var raw botix.RawJSON
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		t.Fatal(err)
	}
	if got := compact(t, raw); got != text {
		t.Errorf("written back = %s, want %s", got, text)
	}
	var v map[string]any
	if err := raw.Decode(&v); err != nil || v["a"] != json.Number("9007199254740993") {
		t.Errorf("Decode: a = %v, %v, want every digit", v["a"], err)
	}
	if err := json.Unmarshal([]byte("null"), &raw); err != nil || raw != nil {
		t.Errorf("null reads as %q, %v, want nil", raw, err)
	}
	if got := compact(t, raw); got != "null" {
		t.Errorf("nil is written as %s, want null", got)
	}
	if err := raw.Decode(&v); err != nil || v != nil {
		t.Errorf("Decode of nil = %v, %v, want nil", v, err)
	}
}

func TestIntBool(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]botix.IntBool{
		"0": false, "1": true, "false": false, "true": true, "2": true, "-1": true, "null": false,
	} {
		var got botix.IntBool
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s reads as %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{`"yes"`, `[]`, `{}`} {
		var got botix.IntBool
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s reads as %v, want an error", text, got)
		}
	}
	if got := compact(t, []botix.IntBool{true, false}); got != "[1,0]" {
		t.Errorf("written as %s, want [1,0]", got)
	}
}

func TestDate(t *testing.T) {
	t.Parallel()
	day, err := botix.Date("1990-05-17").Time()
	if err != nil || botix.DateOf(day) != "1990-05-17" {
		t.Errorf("1990-05-17 is %v, %v", day, err)
	}
	for _, d := range []botix.Date{"", "0000-00-00", "--05-17", "1990-02-30"} {
		if day, err := d.Time(); err == nil {
			t.Errorf("Date(%q).Time() = %v, want an error", d, day)
		}
	}
}
