package partner

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
)

// change is an operation that was sent, beside its event in the audit log.
type change struct {
	op       *ledger.Operation
	mayHave  bool // as the ledger knows, it had its effect, or may have had
	action   AuditAction
	target   string            // "" where it is not known
	group    string            // likewise
	asked    map[string]string // members of its request, where that is kept
	from, to time.Time         // when it can have happened
	event    *AuditEvent       // nil while none is known
}

// change is nil for what cannot have an event in this account.
func (a *Auditor) change(ctx context.Context, op *ledger.Operation, now time.Time) *change {
	if op.Origin != a.here.Origin || op.FirstSentAt.IsZero() {
		return nil
	}
	for i := range operations {
		ep := a.rows[operations[i].name]
		if operations[i].audit == "" || !ep.Matches(op.Method, op.Path) {
			continue
		}
		ids := ep.idsIn(op.Path)
		o := &change{
			op: op, mayHave: op.Status == ledger.StatusSucceeded || op.PossiblySent || lostSecret(op),
			action: operations[i].audit, target: op.TargetID, group: ids["group"],
			from: op.FirstSentAt.Add(-call.Slack), to: op.UpdatedAt.Add(call.Slack),
		}
		if o.target == "" && !ep.creates {
			o.target = ids[ep.args[len(ep.args)-1]]
		}
		if op.LockedUntil.After(now) { // it is under way
			o.to = now.Add(call.Slack)
		}
		if body, err := a.records.Body(ctx, op, ep.Significance); err == nil {
			o.asked = texts(a.names.stored(body, ep.takes))
		}
		return o
	}
	return nil
}

// lostSecret reports whether an operation made something whose secret was lost, also
// where another operation has taken its place since.
func lostSecret(op *ledger.Operation) bool {
	return op.ErrorCode == ledger.CodeSecretLost && op.TargetID != ""
}

// texts are the members of a JSON object that are single values. Numbers stay as they
// are written: read into anything else they would be floats.
func texts(object []byte) map[string]string {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return nil
	}
	all := map[string]string{}
	for name, value := range members {
		text := string(value)
		switch first(value) {
		case '{', '[':
			continue
		case '"':
			if json.Unmarshal(value, &text) != nil {
				continue
			}
		}
		all[name] = text
	}
	return all
}

// made: nothing is created twice, so the event of a creation is known by what was
// made, whenever that was.
func (o *change) made(e *AuditEvent) bool {
	return o.target == e.TargetID && strings.HasSuffix(string(o.action), ".create")
}

// mayBe: at the time of the event the operation can have happened, and nothing that
// the event tells speaks against it.
func (o *change) mayBe(e *AuditEvent) bool {
	return o.mayHave && !e.CreatedAt.Before(o.from) && !e.CreatedAt.After(o.to) &&
		(o.group == "" || e.GroupID == nil || o.group == string(*e.GroupID)) && !o.contradicted(e)
}

// contradicted: what the event tells of the change is not what was asked for.
func (o *change) contradicted(e *AuditEvent) bool {
	for name, told := range texts(e.Metadata) {
		if asked, ok := o.asked[name]; ok && asked != told && !sameAmount(asked, told) {
			return true
		}
	}
	return false
}

func sameAmount(a, b string) bool {
	x, errX := money.Parse(a)
	y, errY := money.Parse(b)
	return errX == nil && errY == nil && x.Equal(y)
}

// changed are the ledger's changes, the oldest first, and which events are theirs.
type changed struct {
	all       []*change
	byID      map[string]*change
	byRequest map[string]*change
	byTarget  map[touched][]*change
	of        map[*AuditEvent]*change
}

// touched is what was done, and to what; "" where that is not known.
type touched struct {
	action AuditAction
	target string
}

func newChanged(all []*change) *changed {
	c := &changed{all, map[string]*change{}, map[string]*change{}, map[touched][]*change{}, map[*AuditEvent]*change{}}
	for _, o := range all {
		c.byID[o.op.ID] = o
		if o.op.RequestID != "" {
			c.byRequest[o.op.RequestID] = o
		}
		t := touched{o.action, o.target}
		c.byTarget[t] = append(c.byTarget[t], o)
	}
	return c
}

func (c *changed) join(o *change, e *AuditEvent) { o.event, c.of[e] = e, o }

// pair gives each event its operation: by the request's id first, which leaves no
// doubt; then by what was changed, and when.
func (c *changed) pair(events []*AuditEvent) {
	for _, e := range events {
		if o := c.byRequest[e.RequestID]; o != nil && o.event == nil {
			c.join(o, e)
		}
	}
	for _, e := range events {
		if c.of[e] != nil {
			continue
		}
		for _, t := range []touched{{e.Action, e.TargetID}, {e.Action, ""}} {
			if o := firstOf(c.byTarget[t], func(o *change) bool { return o.event == nil && (o.made(e) || o.mayBe(e)) }); o != nil {
				c.join(o, e)
				break
			}
		}
	}
}

func firstOf[T any](all []*T, which func(*T) bool) *T {
	for _, o := range all {
		if which(o) {
			return o
		}
	}
	return nil
}
