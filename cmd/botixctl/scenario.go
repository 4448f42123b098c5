package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/botix-pro/sdk-go/webhookverify"
)

// scenario is a series of deliveries, some genuine and some not.
type scenario struct {
	name, what string
	anyBody    bool // it can be played with a body that is given
	rounds     func(*events) [][]shot
}

var scenarios = []scenario{
	{"once", "one event", true, once},
	{"duplicate", "one event five times, under other request ids, some at once", true, duplicate},
	{"late", "events that happened, or were signed, some time ago or later than now", false, late},
	{"tampered", "one event, nine forgeries of it, and (botix) it again with an unsigned header changed", true, tampered},
	{"burst", "many events at once, see -n", false, burst},
	{"disorder", "three events of one object, in the wrong order", false, disorder},
}

// scenarioHelp tells what each is.
func scenarioHelp() (text string) {
	for _, s := range scenarios {
		text += fmt.Sprintf("  %-10s %s\n", s.name, s.what)
	}
	return text
}

// events makes up deliveries. It keeps the first error, and goes on.
type events struct {
	signer
	secret webhookverify.Secret
	now    time.Time
	kind   string
	given  []byte
	n      int

	made int64
	err  error
}

// serial is a number that no other event has, of this run or another.
func (e *events) serial() int64 {
	e.made++
	return e.now.UnixMilli()*1000 + e.made // below 2⁵³, which is as far as some receivers count
}

// event is a body of an object to which something happened at a time.
func (e *events) event(object int64, at time.Time) []byte {
	if e.given != nil {
		return e.given
	}
	when := at.UTC().Format(time.RFC3339)
	if e.name == "botix" {
		return e.encode(map[string]any{
			"event": cmp.Or(e.kind, "message.received"), "project_id": 1, "created_at": when,
			"data": map[string]any{
				"id": object, "project_id": 1, "conversation_id": 1, "contact_id": 1, "role": "user", "content": "A test event",
				"attachments": []any{}, "channel": "test", "is_read": 0, "created_at": when,
			},
		})
	}
	return e.encode(map[string]any{
		"id": fmt.Sprintf("evt_%d", e.serial()), "type": cmp.Or(e.kind, "payment.succeeded"), "created": at.Unix(),
		"data": map[string]any{"object": map[string]any{"id": fmt.Sprintf("pay_%d", object), "amount": "100.00", "currency": "RUB"}},
	})
}

func (e *events) encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		e.err = err
	}
	return text
}

// shot signs a body with the secret, as message id at a time.
func (e *events) shot(what string, w want, id string, at time.Time, body []byte) shot {
	return e.signed(what, w, e.secret, id, at, body)
}

func (e *events) signed(what string, w want, secret webhookverify.Secret, id string, at time.Time, body []byte) shot {
	header, err := e.sign(secret, id, at, body)
	if err != nil {
		e.err = err
		header = http.Header{}
	}
	e.entitle(header)
	return shot{what, header, body, w}
}

// entitle gives a delivery a request id of its own.
func (e *events) entitle(header http.Header) {
	if e.name == "botix" {
		header.Set("X-Botix-Request-Id", fmt.Sprintf("test-%d", e.serial()))
	}
}

// again is a shot once more, changed.
func (e *events) again(s shot, what string, w want, change func(*shot)) shot {
	s.what, s.want, s.header = what, w, s.header.Clone()
	e.entitle(s.header)
	change(&s)
	return s
}

func (e *events) message() string { return fmt.Sprintf("msg_%d", e.serial()) }

func same(*shot) {}

func once(e *events) [][]shot {
	return [][]shot{{e.shot("an event", taken, e.message(), e.now, e.event(e.serial(), e.now))}}
}

func duplicate(e *events) [][]shot {
	id, body := e.message(), e.event(e.serial(), e.now)
	first := e.shot("an event", taken, id, e.now, body)
	rounds := [][]shot{{first}, {e.again(first, "the same bytes again", taken, same)}}
	rounds = append(rounds, []shot{e.again(first, "the same at once, one of three", taken, same), e.again(first, "two of three", taken, same), e.again(first, "three of three", taken, same)})
	if e.signsTime() {
		rounds = append(rounds, []shot{e.shot("the same message, signed a second later", taken, id, e.now.Add(time.Second), body)})
	}
	return rounds
}

func (e *events) signsTime() bool {
	s := e.scheme()
	return s.TimestampHeader != "" || s.TimestampPrefix != ""
}

func late(e *events) [][]shot {
	event := func(ago time.Duration) []byte { return e.event(e.serial(), e.now.Add(-ago)) }
	rounds := [][]shot{
		{e.shot("an event of 8h35m30s ago, as late as BOTIX repeats one", taken, e.message(), e.now, event(webhookverify.RetryWindow))},
	}
	if !e.signsTime() {
		return append(rounds, []shot{e.shot("an event of three days ago, which no time is signed with", either, e.message(), e.now, event(72*time.Hour))})
	}
	for _, off := range []struct {
		what string
		by   time.Duration
		want want
	}{
		{"signed four minutes ago", -4 * time.Minute, taken},
		{"signed six minutes ago", -6 * time.Minute, refused},
		{"signed six minutes from now", 6 * time.Minute, refused},
		{"signed in ten years", 87_600 * time.Hour, refused},
	} {
		rounds = append(rounds, []shot{e.shot(off.what, off.want, e.message(), e.now.Add(off.by), event(0))})
	}
	return rounds
}

func tampered(e *events) [][]shot {
	id, body := e.message(), e.event(e.serial(), e.now)
	genuine := e.shot("an event", taken, id, e.now, body)
	rounds := [][]shot{{genuine}}
	forge := func(what string, change func(*shot)) {
		rounds = append(rounds, []shot{e.again(genuine, what, refused, change)})
	}
	signature := http.CanonicalHeaderKey(e.scheme().SignatureHeader)
	forge("a bit of its body is another", func(s *shot) {
		s.body = slices.Clone(body)
		s.body[len(body)/2] ^= 1
	})
	forge("its JSON is written anew", func(s *shot) {
		var out bytes.Buffer
		if json.Compact(&out, body) != nil || bytes.Equal(out.Bytes(), body) {
			out.Reset()
			out.Write(append([]byte(" "), body...)) // no JSON, or as compact as can be
		}
		s.body = out.Bytes()
	})
	forge("its last byte is missing", func(s *shot) { s.body = body[:len(body)-1] })
	forge("a line break follows it", func(s *shot) { s.body = append(slices.Clone(body), '\n') })
	forge("its signature is missing", func(s *shot) { s.header.Del(signature) })
	forge("its signature is empty", func(s *shot) { s.header.Set(signature, "") })
	forge("its signature is cut off", func(s *shot) { s.header.Set(signature, s.header.Get(signature)[:len(s.header.Get(signature))-1]) })
	rounds = append(rounds,
		[]shot{e.signed("signed with a secret of somebody else", refused, webhookverify.NewSecret(e.stranger), id, e.now, body)},
		[]shot{e.shot("an empty body, signed with the secret", refused, id, e.now, nil)})
	if e.name == "botix" {
		rounds = append(rounds, []shot{e.again(genuine, "its unsigned X-Botix-Event says another type", either, func(s *shot) {
			s.header.Set("X-Botix-Event", "contact.deleted")
		})})
	}
	return rounds
}

func burst(e *events) [][]shot {
	what := fmt.Sprintf("%d events at once", e.n)
	round := make([]shot, e.n)
	for i := range round {
		round[i] = e.shot(what, taken, e.message(), e.now, e.event(e.serial(), e.now))
	}
	return [][]shot{round}
}

func disorder(e *events) [][]shot {
	object := e.serial()
	var rounds [][]shot
	for _, ago := range []int{0, 2, 1} {
		at := e.now.Add(-time.Duration(ago) * time.Second)
		what := fmt.Sprintf("the %s of three events of one object", [...]string{"last", "second", "first"}[ago])
		rounds = append(rounds, []shot{e.shot(what, taken, e.message(), e.now, e.event(object, at))})
	}
	return rounds
}
