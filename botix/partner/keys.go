package partner

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/botix"
)

// KeysService makes, changes and revokes the API keys of groups. Every call names
// the group: a key of another one is refused with [ErrOtherTenant], and nothing
// happens to it. It is safe for concurrent use.
type KeysService struct{ c *Client }

// Key is an API key of a group. It never holds the secret: only [CreatedKey] ever
// has it. A pointer is nil where the server says null.
type Key struct {
	ID         KeyID       `json:"id"`
	GroupID    GroupID     `json:"group_id"`
	ProjectID  *ProjectID  `json:"project_id"`
	Name       *string     `json:"name"`
	Function   KeyFunction `json:"function"`
	ExternalID *string     `json:"external_id"` // the partner's own id
	Prefix     string      `json:"prefix"`      // the first 12 characters of the secret, which logs may show
	Status     KeyStatus   `json:"status"`
	CreatedAt  time.Time   `json:"created_at"`
	LastUsedAt *time.Time  `json:"last_used_at"`
	RevokedAt  *time.Time  `json:"revoked_at"`
}

func (k *Key) missing() string          { return missingText("id", string(k.ID)) }
func (k *Key) owner() owner             { return owner{k.GroupID, k.ID, orZero(k.ProjectID)} }
func (k *Key) target() (string, string) { return "key", string(k.ID) }

// KeyFunction says what a key is for, in the partner's own words: "bot", "crm". A
// group has one live key for each.
type KeyFunction string

// KeyStatus says whether a key works. The set is open: values without a constant
// here are possible and are kept as received.
type KeyStatus string

// The statuses of keys.
const (
	KeyActive   KeyStatus = "active"
	KeyDisabled KeyStatus = "disabled"
	KeyRevoked  KeyStatus = "revoked" // for ever; [KeysService.Revoke] sets it
)

// ListKeys selects keys of a group. Fields that are zero do not filter.
type ListKeys struct {
	Function   KeyFunction
	ExternalID string
	Status     KeyStatus

	Cursor string // goes on from Page.NextCursor
	Limit  int    // items on a page, 1 to 100; the server's default is 50
}

// List returns one page of a group's keys, revoked ones too, filtered as
// [GroupsService.List] is.
func (s *KeysService) List(ctx context.Context, group GroupID, p ListKeys, opts ...CallOption) (*Page[Key], error) {
	return s.lister(ctx, group, p, opts).list(ctx)
}

// All returns an iterator over a group's keys, as [GroupsService.All] does over the
// groups.
func (s *KeysService) All(ctx context.Context, group GroupID, p ListKeys, opts ...CallOption) iter.Seq2[*Key, error] {
	return s.lister(ctx, group, p, opts).all(ctx)
}

func (s *KeysService) lister(ctx context.Context, group GroupID, p ListKeys, opts []CallOption) *lister[Key] {
	in := s.c.input(ctx, "keysList")
	in.group(group)
	l := newLister[Key](in, p.Cursor, p.Limit, opts)
	where(l, "function", p.Function, func(k *Key) KeyFunction { return k.Function })
	where(l, "external_id", p.ExternalID, func(k *Key) string { return orZero(k.ExternalID) })
	where(l, "status", p.Status, func(k *Key) KeyStatus { return k.Status })
	return l
}

// CreateKey is a new key.
type CreateKey struct {
	Function   KeyFunction `json:"function"` // required
	Name       string      `json:"name,omitzero"`
	ExternalID string      `json:"external_id,omitzero"` // the partner's own id
}

// contradicts reports that a key is not the one that was asked for.
func (req CreateKey) contradicts(data any) bool {
	k, ok := data.(*CreatedKey)
	return ok && k != nil && k.Key.Function != "" && k.Key.Function != req.Function
}

// CreatedKey is a new key with its secret.
type CreatedKey struct {
	Key Key `json:"key"`
	// Secret is the API key itself, shown this once: store what Secret.Reveal
	// returns before anything else, or have [botix.WithSecretStore] do it.
	Secret botix.Secret `json:"secret"`
}

func (k *CreatedKey) missing() string          { return k.Key.missing() }
func (k *CreatedKey) owner() owner             { return k.Key.owner() }
func (k *CreatedKey) target() (string, string) { return k.Key.target() }

func (k *CreatedKey) shown() string {
	if k == nil || !k.usable() {
		return ""
	}
	return k.Secret.Reveal()
}

// usable reports whether the secret can be the whole key: it is there, begins as the
// key does, and nothing in it is masked.
func (k *CreatedKey) usable() bool {
	rest, ok := strings.CutPrefix(k.Secret.Reveal(), k.Key.Prefix)
	masked := strings.ContainsAny(rest, "*…•[] ") || strings.Contains(rest, "...")
	return ok && len(rest) > 1 && !masked && strings.Trim(rest, rest[:1]) != "" // xxxx is a mask too
}

// Create makes a key and returns it with its secret, which the server shows once.
//
// When the answer comes without the secret, as a stored answer to a repeat may,
// Create fails with a *[SecretLostError]: the key is there, and has to be revoked
// and replaced. A ledger keeps no secret either: a repeat of what it knows to be
// done fails with [ledger.ErrResultNotKept].
//
// A client with a store of secrets ([botix.WithSecretStore]) puts it there before it
// records the success. An answer without the secret is then a success if the store
// has it from an attempt that was cut off, and Secret is zero; else the call fails
// with [ErrSecretLost], and the ledger knows the key.
func (s *KeysService) Create(ctx context.Context, group GroupID, req CreateKey, opts ...CallOption) (*CreatedKey, error) {
	created, err := invoke[CreatedKey](ctx, NewKey{group, req}.wish(ctx, s.c), opts)
	if created != nil && !created.usable() && s.c.engine.Vault != nil {
		created.Secret = botix.Secret{}
		return created, err
	}
	if created != nil && !created.usable() {
		lost := &SecretLostError{created.Key}
		if err != nil { // nor could it be recorded
			return nil, errors.Join(lost, err)
		}
		return nil, lost
	}
	return created, err
}

// Get returns one key of a group.
func (s *KeysService) Get(ctx context.Context, group GroupID, key KeyID, opts ...CallOption) (*Key, error) {
	return invoke[Key](ctx, s.one(ctx, "keysGet", group, key), opts)
}

// read is Get where the group may not be known, "" then, if the route does not name it.
func (s *KeysService) read(ctx context.Context, group GroupID, key KeyID, opts ...CallOption) (*Key, error) {
	in := s.c.input(ctx, "keysGet")
	if group != "" {
		in.group(group)
	}
	in.key(key)
	return invoke[Key](ctx, in, opts)
}

// KeyUpdate holds the fields of a key to change. A field that is not set is not
// sent and keeps its value.
type KeyUpdate struct {
	Name       botix.Opt[string]    `json:"name,omitzero"`        // null removes it
	ExternalID botix.Opt[string]    `json:"external_id,omitzero"` // null removes it
	Status     botix.Opt[KeyStatus] `json:"status,omitzero"`      // [KeyActive] or [KeyDisabled]
}

// Update changes the fields of a key that req sets, and returns the key as it is
// then. It fails with [ErrKeyNotLive] when the key is revoked.
//
// Where the route does not name the group, Update reads the key first, to see that
// it is the group's.
func (s *KeysService) Update(ctx context.Context, group GroupID, key KeyID, req KeyUpdate, opts ...CallOption) (*Key, error) {
	in := KeyChange{group, key, req}.wish(ctx, s.c)
	if err := s.prove(ctx, in); err != nil {
		return nil, err
	}
	return invoke[Key](ctx, in, opts)
}

// Revoke ends a key for ever. It fails with [botix.ErrNotFound] when it is revoked
// already, unless an earlier attempt of this very call may have done that: then it
// is a success.
//
// Like [KeysService.Update] it may read the key first.
func (s *KeysService) Revoke(ctx context.Context, group GroupID, key KeyID, opts ...CallOption) error {
	in := RevokeKey{group, key}.wish(ctx, s.c)
	if err := s.prove(ctx, in); err != nil {
		return err
	}
	_, err := invoke[botix.RawJSON](ctx, in, opts)
	return err
}

func (s *KeysService) one(ctx context.Context, operation string, group GroupID, key KeyID) *input {
	in := s.c.input(ctx, operation)
	in.group(group)
	in.key(key)
	return in
}

// prove sees to it that a change reaches only a key of the group that the call
// names. A key never moves to another group, so what is read stays true.
func (s *KeysService) prove(ctx context.Context, in *input) error {
	if in.err != nil || !in.unproved() {
		return nil
	}
	_, err := s.Get(ctx, GroupID(in.ids["group"]), KeyID(in.ids["key"]))
	if err == nil || errors.Is(err, botix.ErrNotFound) { // what is not there cannot be somebody else's
		return nil
	}
	return &unsentError{in.ep.Name, err}
}

// unproved reports whether a change names a key whose route does not tell the group.
func (in *input) unproved() bool { return in.ids["key"] != "" && !in.ep.names("group") }
