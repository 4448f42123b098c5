package botixtest

import (
	"net"
	"strings"
	"time"
)

// AuditEvent is one successful change that a partner key made.
type AuditEvent struct {
	ID         string            `json:"id"`
	RequestID  string            `json:"request_id"` // X-Request-Id of the first answer; a replay makes no event
	Action     string            `json:"action"`     // such as key.create
	TargetType string            `json:"target_type"`
	TargetID   string            `json:"target_id"`
	GroupID    *string           `json:"group_id"`
	KeyPrefix  string            `json:"key_prefix"` // of the partner key
	SourceIP   string            `json:"source_ip"`
	Status     int               `json:"status"`
	Metadata   map[string]string `json:"metadata"` // no names and no external ids: they may be personal
	CreatedAt  time.Time         `json:"created_at"`
}

type auditEvent struct {
	AuditEvent
	serial
}

// change is what a request of the partner half changed.
type change struct {
	kind      string // group, key, spend_limit, top_up or project
	target    string
	group     string
	reference *string
	content   string
	status    int
	metadata  map[string]string
}

// verb is what an operation did, by its name: the method might be another in the table.
func (op *operation) verb() string {
	for _, verb := range []string{"Create", "Update", "Delete"} {
		if strings.HasSuffix(op.id, verb) {
			return strings.ToLower(verb)
		}
	}
	panic("botixtest: " + op.id + " changes nothing") // a bug here
}

// targets are the kinds of change whose target is another kind of thing.
var targets = map[string]string{"spend_limit": "group", "top_up": "transaction"}

// changed enters a change in the partner's audit log and in the journal. It is called with Server.mu held.
func (s *Server) changed(x *exchange, c change) {
	ip, _, _ := net.SplitHostPort(x.request.RemoteAddr)
	event := &auditEvent{
		AuditEvent: AuditEvent{
			ID: s.publicID("aud_"), RequestID: x.call.RequestID,
			Action: c.kind + "." + x.op.verb(), TargetType: c.kind, TargetID: c.target, GroupID: orNil(c.group),
			KeyPrefix: x.key.Value[:min(shownPrefix, len(x.key.Value))], SourceIP: ip, Status: c.status,
			Metadata: c.metadata, CreatedAt: s.now(),
		},
		serial: serialFor(s, x.account.audit),
	}
	if event.Metadata == nil {
		event.Metadata = map[string]string{}
	}
	if target := targets[c.kind]; target != "" {
		event.TargetType = target
	}
	x.account.audit = append(x.account.audit, event)

	effect := s.newEffect(x, c.kind)
	effect.Target, effect.Group, effect.Content = c.target, c.group, c.content
	if c.reference != nil {
		effect.Reference = *c.reference
	}
	s.journal.effects = append(s.journal.effects, effect)
}

func (s *Server) auditEventsList(x *exchange) *Answer {
	c := s.partnerCriteria(x)
	action, targetType, targetID := c.optional("action"), c.optional("target_type"), c.optional("target_id")
	group, requestID := c.group(), c.optional("request_id")
	since, until := c.period()
	if c.bad != nil {
		return c.bad
	}
	return paginateAs(s, x, filter(x.account.audit, func(e *auditEvent) bool {
		return (action == "" || e.Action == action) &&
			(targetType == "" || e.TargetType == targetType) &&
			(targetID == "" || e.TargetID == targetID) &&
			(group == "" || equals(e.GroupID, group)) &&
			(requestID == "" || e.RequestID == requestID) &&
			within(e.CreatedAt, since, until)
	}), func(e *auditEvent) AuditEvent { return e.AuditEvent })
}
