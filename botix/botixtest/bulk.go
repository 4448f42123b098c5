package botixtest

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Sizes of a bulk call, as the OpenAPI file has them.
const (
	maxBulkContacts = 100
	maxBulkMessages = 50
)

// contactResult is one row of a bulk result: either an id or an error.
type contactResult struct {
	Index   int     `json:"index"`
	ID      *int64  `json:"id"`
	Error   *string `json:"error"`
	Message *string `json:"message"`
}

func (s *Server) contactsBulkCreate(x *exchange) *Answer {
	var body struct {
		Contacts []map[string]json.RawMessage `json:"contacts"`
	}
	if bad := x.decode(&body); bad != nil {
		return bad
	}
	return x.bulkContacts("contacts", "created", len(body.Contacts), func(i int) (*contact, *Answer) {
		return s.createContact(x, body.Contacts[i])
	})
}

func (s *Server) contactsBulkUpdate(x *exchange) *Answer {
	var body struct {
		Updates []struct {
			ID     *int64                     `json:"id"`
			Fields map[string]json.RawMessage `json:"fields"`
		} `json:"updates"`
	}
	if bad := x.decode(&body); bad != nil {
		return bad
	}
	return x.bulkContacts("updates", "updated", len(body.Updates), func(i int) (*contact, *Answer) {
		update := body.Updates[i]
		if update.ID == nil || update.Fields == nil {
			return nil, invalid("updates", "an item needs id and fields")
		}
		return s.updateContact(x, *update.ID, update.Fields)
	})
}

// bulkContacts runs n items and answers how many of them were done, as the field named done.
func (x *exchange) bulkContacts(field, done string, n int, do func(i int) (*contact, *Answer)) *Answer {
	if n < 1 || n > maxBulkContacts {
		return wrongSize(field, maxBulkContacts)
	}
	results := make([]contactResult, n)
	failed := x.eachItem(n, func(i int) *Answer {
		c, refused := do(i)
		results[i].Index = i
		if refused == nil {
			results[i].ID = &c.ID
		}
		return refused
	}, func(i int, code, message string) {
		results[i] = contactResult{Index: i, Error: &code, Message: &message}
	})
	return succeed(200, map[string]any{done: n - failed, "failed": failed, "results": results}, nil)
}

func wrongSize(field string, most int) *Answer {
	return invalid(field, fmt.Sprintf("must have 1 to %d items", most))
}

// eachItem runs the items of a bulk call one after another. Each is its own transaction: one that is refused, by do or
// by the script, leaves the others alone. It returns how many were refused.
func (x *exchange) eachItem(n int, do func(i int) *Answer, refused func(i int, code, message string)) (failed int) {
	defer func() { x.item = -1 }()
	for x.item = 0; x.item < n; x.item++ {
		answer := x.scriptedItem()
		if answer == nil {
			answer = do(x.item)
		}
		if answer == nil {
			continue
		}
		failed++
		refused(x.item, answer.code, answer.message)
	}
	return failed
}

// scriptedItem refuses the present item if the script says so.
func (x *exchange) scriptedItem() *Answer {
	for _, f := range x.faults {
		if f.itemCode != "" && (len(f.items) == 0 || slices.Contains(f.items, x.item)) {
			return refuse(f.itemCode, "scripted failure of the item")
		}
	}
	return nil
}
