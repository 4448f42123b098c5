package botixtest

import (
	"encoding/json"
	"net/http"
	"time"
)

// GroupKey is an API key of a group, as the partner sees it. It works on the public half, for the project of its group.
type GroupKey struct {
	ID         string     `json:"id"`
	GroupID    string     `json:"group_id"`
	ProjectID  *int64     `json:"project_id"`
	Name       *string    `json:"name"`
	Function   string     `json:"function"` // what it is for, in the partner's words
	ExternalID *string    `json:"external_id"`
	Prefix     string     `json:"prefix"` // the first 12 characters of the secret
	Status     string     `json:"status"` // active, disabled or revoked
	CreatedAt  time.Time  `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
	RevokedAt  *time.Time `json:"revoked_at"`
}

// groupKey is a stored key. Its secret leaves the sandbox once, in the answer of keysCreate, unless a [SecretForm] of the
// configuration says otherwise.
type groupKey struct {
	GroupKey
	serial
	secret string
	api    *apiKey // what the secret opens
	owner  *group
}

func (k *groupKey) live() bool { return k.Status != "revoked" }

// shownKey is a key in an answer that should not hold its secret.
type shownKey struct {
	GroupKey
	Secret secret `json:"secret,omitzero"`
}

// createdKey is the answer of keysCreate.
type createdKey struct {
	Key    GroupKey `json:"key"`
	Secret secret   `json:"secret,omitzero"`
}

// secret is a secret in the form that an answer shows it.
type secret struct {
	form  SecretForm
	value string
}

func (s secret) IsZero() bool { return s.form == SecretMissing }

func (s secret) MarshalJSON() ([]byte, error) {
	switch s.form {
	case SecretNull:
		return []byte("null"), nil
	case SecretEmpty:
		return []byte(`""`), nil
	case SecretWhole:
		return json.Marshal(s.value)
	}
	return json.Marshal(s.value[:shownPrefix] + "…")
}

// shownPrefix is how much of a key logs and consoles show.
const shownPrefix = 12

func (s *Server) showKey(k *groupKey) shownKey {
	form := s.config.Partner.ReadSecret
	if form == SecretWhole {
		form = SecretMasked
	}
	return shownKey{k.GroupKey, secret{form, k.secret}}
}

// keyOf finds the key that the path names, in the group that it names if it does.
func (x *exchange) keyOf() (*groupKey, *Answer) {
	k, ok := byName(x.account.keys, x.param("{key}"), func(k *groupKey) string { return k.ID })
	if group := x.param("{group}"); !ok || k.owner.deleted || group != "" && group != k.GroupID {
		return nil, refuse("NOT_FOUND", "there is no such key")
	}
	return k, nil
}

func (s *Server) keysList(x *exchange) *Answer {
	g, bad := x.groupOf()
	if bad != nil {
		return bad
	}
	return s.listKeys(x, func(k *groupKey) bool { return k.owner == g })
}

func (s *Server) listKeys(x *exchange, among func(*groupKey) bool) *Answer {
	c := s.partnerCriteria(x)
	function, externalID, status := c.optional("function"), c.optional("external_id"), c.optional("status")
	return paginateAs(s, x, filter(x.account.keys, func(k *groupKey) bool {
		return among(k) && !k.owner.deleted &&
			(function == "" || k.Function == function) &&
			(externalID == "" || equals(k.ExternalID, externalID)) &&
			(status == "" || k.Status == status)
	}), s.showKey)
}

func (s *Server) keysGet(x *exchange) *Answer {
	k, bad := x.keyOf()
	if bad != nil {
		return bad
	}
	return succeed(200, s.showKey(k), nil)
}

func (s *Server) keysCreate(x *exchange) *Answer {
	in, bad := x.input()
	if bad != nil {
		return bad
	}
	k := GroupKey{Name: in.nullable("name"), Function: in.required("function"), ExternalID: in.nullable("external_id")}
	if bad := in.refusal(); bad != nil {
		return bad
	}
	g, bad := x.groupOf()
	switch {
	case bad != nil:
		return bad
	case s.pending(g):
		return refuse("GROUP_NOT_READY", "the group is pending")
	}
	if bad := s.keyTaken(x.account, g, k.ExternalID, ""); bad != nil {
		return bad
	}
	stored := s.insertKey(x.account, g, k)
	s.changed(x, change{kind: "key", target: stored.ID, group: g.ID, reference: k.ExternalID, content: k.Function,
		status: http.StatusCreated, metadata: map[string]string{"function": k.Function}})
	created := createdKey{stored.GroupKey, secret{SecretWhole, stored.secret}}
	answer := succeed(http.StatusCreated, created, nil)
	answer.replay = func(s *Server) *Answer { return s.replayKey(created) }
	return answer
}

// replayKey is the answer to a repeated keysCreate; nil for the stored one.
func (s *Server) replayKey(created createdKey) *Answer {
	created.Secret.form = s.config.Partner.ReplaySecret
	if created.Secret.form == SecretWhole {
		return nil
	}
	return succeed(http.StatusOK, created, nil)
}

// insertKey stores a new key, and makes it one that the public half knows.
func (s *Server) insertKey(a *account, g *group, k GroupKey) *groupKey {
	value := keyPrefix + alphanumerics(s.partnerRandom, 40)
	k.ID, k.GroupID, k.ProjectID, k.Status = s.publicID("key_"), g.ID, g.ProjectID, "active"
	k.Prefix, k.CreatedAt = value[:shownPrefix], s.now()
	api := Key{Value: value, Plan: s.config.Plan, Scopes: Scopes()}
	if g.ProjectID != nil {
		api.Project = *g.ProjectID
	}
	stored := &groupKey{GroupKey: k, serial: serialFor(s, a.keys), secret: value, owner: g, api: s.insertAPIKey(api)}
	stored.api.groupKey = stored
	a.keys = append(a.keys, stored)
	return stored
}

// keyTaken refuses an external id that another live key of the group has, if they are unique here.
func (s *Server) keyTaken(a *account, g *group, externalID *string, self string) *Answer {
	if !s.config.Partner.Unique || externalID == nil {
		return nil
	}
	for _, k := range a.keys {
		if k.owner == g && k.live() && k.ID != self && equals(k.ExternalID, *externalID) {
			return exists("external_id", k.ID)
		}
	}
	return nil
}

func (s *Server) keysUpdate(x *exchange) *Answer {
	in, bad := x.input()
	if bad != nil {
		return bad
	}
	name, externalID := in.nullable("name"), in.nullable("external_id")
	status := in.oneOf("status", "active", "disabled")
	if bad := in.refusal(); bad != nil {
		return bad
	}
	k, bad := x.keyOf()
	switch {
	case bad != nil:
		return bad
	case !k.live():
		return refuse("KEY_NOT_LIVE", "the key was revoked")
	}
	if bad := s.keyTaken(x.account, k.owner, externalID, k.ID); bad != nil {
		return bad
	}
	if in.has("name") {
		k.Name = name
	}
	if in.has("external_id") {
		k.ExternalID = externalID
	}
	if in.has("status") {
		k.Status, k.api.Revoked = status, status == "disabled"
	}
	s.changed(x, change{kind: "key", target: k.ID, group: k.GroupID, reference: k.ExternalID, content: k.Function, status: 200,
		metadata: map[string]string{"function": k.Function, "changed": in.names("name", "external_id", "status")}})
	return succeed(200, s.showKey(k), nil)
}

// keysDelete revokes a key for good. It can still be read; there is nothing left to delete.
func (s *Server) keysDelete(x *exchange) *Answer {
	k, bad := x.keyOf()
	switch {
	case bad != nil:
		return bad
	case !k.live():
		return refuse("NOT_FOUND", "the key was revoked before")
	}
	k.Status, k.api.Revoked, k.RevokedAt = "revoked", true, new(s.now())
	s.changed(x, change{kind: "key", target: k.ID, group: k.GroupID, reference: k.ExternalID, content: k.Function, status: 204,
		metadata: map[string]string{"function": k.Function}})
	return noContent()
}
