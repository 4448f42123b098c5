package call

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/botix-pro/sdk-go/ledger"
)

// fill puts the values of an operation into a template of its endpoint's row, such
// as "tag:{id}:{tag}". A name stands for the placeholder of the path that has it,
// or else for a text in the body: the same target has the same name, wherever a
// request says it. {customer} is that of the intent. What cannot be filled names
// no target.
func (op *Operation) fill(template string) string {
	if template == "" {
		return ""
	}
	var b strings.Builder
	for template != "" {
		before, after, found := strings.Cut(template, "{")
		b.WriteString(before)
		if !found {
			break
		}
		name, tail, _ := strings.Cut(after, "}")
		value := op.Endpoint.inPath(name, op.Request.Path.String())
		if value == "" {
			value = inBody(name, op.Request.Body)
		}
		if name == "customer" {
			value = op.Intent.Customer
		}
		if value == "" {
			return ""
		}
		b.WriteString(nameOf(value))
		template = tail
	}
	return b.String()
}

// amount is the money that the operation moves or sets, to the digit as its request
// says it; nil for none, such as a limit that is taken away.
func (op *Operation) amount() *ledger.Amount {
	m := op.Endpoint.Money
	if m.Field == "" {
		return nil
	}
	text := inBody(m.Field, op.Request.Body)
	if text == "" {
		return nil
	}
	return &ledger.Amount{Kind: m.Kind, Text: text, Currency: m.Currency}
}

// nameOf is a value as part of a target's name, which the ledger keeps in clear:
// an id is itself, anything else a hash, since a URL may hold a token and a tag a
// name. No value can look like two.
func nameOf(value string) string {
	const id = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	if len(value) <= 64 && strings.Trim(value, id) == "" {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return "=" + hex.EncodeToString(sum[:16])
}

// inPath returns what stands in a path for a placeholder, unescaped.
func (e *Endpoint) inPath(name, path string) string {
	at := strings.Split(path, "/")
	for i, segment := range strings.Split(e.Path, "/") {
		if segment == "{"+name+"}" && i < len(at) {
			value, err := url.PathUnescape(at[i])
			if err == nil {
				return value
			}
		}
	}
	return ""
}

// inBody returns a text of a JSON object.
func inBody(name string, body []byte) string {
	var members map[string]json.RawMessage
	var value string
	if json.Unmarshal(body, &members) != nil || json.Unmarshal(members[name], &value) != nil {
		return ""
	}
	return value
}
