package partner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/ledger"
)

// Changes is the server's audit log beside the ledger: what each has that the other
// does not.
type Changes struct {
	Period Period
	ReadAt time.Time

	// Foreign are changes without an operation of the ledger, the oldest first:
	// somebody used a console, a script, or another program with a partner key.
	Foreign []*AuditEvent
	// Unheard are operations that succeeded under the client's key in the period,
	// and of which the audit log has nothing, the oldest first.
	Unheard []*ledger.Operation
	// Contradicted are operations that the ledger takes for not done, and that the
	// audit log has, the oldest first.
	Contradicted []*ledger.Operation
	// Matched counts the changes of the log that have an operation.
	Matched int
}

// Agree reports whether the two have the same changes.
func (c *Changes) Agree() bool { return len(c.Foreign)+len(c.Unheard)+len(c.Contradicted) == 0 }

// String prints what they do not agree about, in a line each.
func (c *Changes) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "changes read at %s: %d matched, %d foreign, %d unheard, %d contradicted\n",
		c.ReadAt.Format(time.RFC3339), c.Matched, len(c.Foreign), len(c.Unheard), len(c.Contradicted))
	for _, e := range c.Foreign {
		fmt.Fprintf(&b, "  foreign       %s  %s of %s %s", e.CreatedAt.Format(time.RFC3339), e.Action, e.TargetType, e.TargetID)
		if g := orZero(e.GroupID); g != "" && string(g) != e.TargetID {
			fmt.Fprintf(&b, " in group %s", g)
		}
		fmt.Fprintf(&b, ", by key %s… from %s, request %s\n", e.KeyPrefix, e.SourceIP, e.RequestID)
	}
	if len(c.Foreign) > 0 {
		b.WriteString("    next: find who holds that key and works at that address; do not undo what they did on a guess\n")
	}
	for _, list := range []struct {
		name string
		all  []*ledger.Operation
		next string
	}{
		{"unheard", c.Unheard, "ask the platform, by the request ids; do not do it again"},
		{"contradicted", c.Contradicted, "read its story, by Ledger.Story; if nothing there explains it, say that it happened, by Ledger.Decide; do not do it again"},
	} {
		for _, op := range list.all {
			fmt.Fprintf(&b, "  %-12s  %s  operation %s: %s %s, request %s\n",
				list.name, op.UpdatedAt.Format(time.RFC3339), op.ID, op.Method, op.Path, op.RequestID)
		}
		if len(list.all) > 0 {
			fmt.Fprintf(&b, "    next: %s\n", list.next)
		}
	}
	return b.String()
}

// Changes compares the changes of a period over the whole account; a zero From is
// the beginning, a zero To is now.
//
// A change and an operation belong together by the request's id; else, as after an
// answer that was lost, by what was changed and when, one to one. What was done less
// than [botix.WithSettle] (1 min) ago may not be in the log yet, and is not called
// unheard. Operations of other programs, and of other namespaces of the ledger, are
// foreign.
func (a *Auditor) Changes(ctx context.Context, p Period) (*Changes, error) {
	if !p.From.IsZero() && !p.To.IsZero() && !p.From.Before(p.To) {
		return nil, &botix.InputError{Operation: "Changes", Field: "to", Problem: "is not after from"}
	}
	events, err := a.events(ctx, p)
	if err != nil {
		return nil, err
	}
	// The ledger is read after the log: what is in the log was in the ledger before.
	c := &Changes{Period: p, ReadAt: time.Now().UTC()}
	ours, err := a.changes(ctx, p, c.ReadAt)
	if err != nil {
		return nil, err
	}
	ours.pair(events)
	for _, e := range events {
		if ours.of[e] == nil {
			if err := a.recall(ctx, ours, e); err != nil {
				return nil, err
			}
		}
		switch o := ours.of[e]; {
		case !p.has(e.CreatedAt):
		case o == nil:
			c.Foreign = append(c.Foreign, e)
		case !o.mayHave:
			c.Contradicted = append(c.Contradicted, o.op)
		default:
			c.Matched++
		}
	}
	for _, o := range ours.all {
		settled := o.to.Before(c.ReadAt.Add(call.Slack - a.settle))
		inside := p.has(o.from.Add(call.Slack)) && p.has(o.to.Add(-call.Slack))
		if o.event == nil && o.op.Status == ledger.StatusSucceeded && inside && settled && o.op.Credential == a.here.Credential {
			c.Unheard = append(c.Unheard, o.op)
		}
	}
	return c, nil
}

// has reports whether a moment is in the period.
func (p Period) has(t time.Time) bool { return !t.Before(p.From) && (p.To.IsZero() || t.Before(p.To)) }

// events reads the audit log, the oldest first, and a little beyond the period: what
// the clocks may have put on the other side of its ends.
func (a *Auditor) events(ctx context.Context, p Period) (all []*AuditEvent, err error) {
	list := ListAuditEvents{WholeAccount: true, Limit: maxPageSize}
	if !p.From.IsZero() {
		list.Since = p.From.Add(-call.Slack)
	}
	if !p.To.IsZero() {
		list.Until = p.To.Add(call.Slack)
	}
	for e, err := range once(a.server.audit.All(ctx, list, patiently), (*AuditEvent).id) {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(x, y *AuditEvent) int { return x.CreatedAt.Compare(y.CreatedAt) })
	return all, nil
}

// changes reads the operations that can have an event in the period.
func (a *Auditor) changes(ctx context.Context, p Period, now time.Time) (*changed, error) {
	f := ledger.Filter{API: a.here.API}
	if !p.From.IsZero() {
		f.From = p.From.Add(-a.memory)
	}
	if !p.To.IsZero() {
		f.Until = p.To.Add(call.Slack)
	}
	var all []*change
	for op, err := range a.records.All(ctx, f) {
		if err != nil {
			return nil, err
		}
		if o := a.change(ctx, op, now); o != nil {
			all = append(all, o)
		}
	}
	slices.Reverse(all)
	return newChanged(all), nil
}

// recall looks in the ledger for the operation of an event by the id of an earlier
// attempt, or that of an operation recorded long before the period.
func (a *Auditor) recall(ctx context.Context, ours *changed, e *AuditEvent) error {
	if e.RequestID == "" {
		return nil
	}
	for op, err := range a.records.All(ctx, ledger.Filter{API: a.here.API, RequestID: e.RequestID}) {
		if err != nil {
			return err
		}
		o := ours.byID[op.ID]
		if o == nil {
			o = a.change(ctx, op, time.Now())
		}
		if o != nil && o.event == nil {
			ours.join(o, e)
			return nil
		}
	}
	return nil
}
