package botix

import (
	"context"
	"iter"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
)

// ContactsService reads and changes the contacts of the key's project. It is
// safe for concurrent use.
type ContactsService struct{ c *Client }

// ListContacts selects contacts. Fields that are zero do not filter.
type ListContacts struct {
	Tag        string     // exactly this tag
	Channel    Channel    // reachable through this channel
	LeadStatus LeadStatus // with this status
	Since      time.Time  // created at or after this moment

	Cursor string // goes on from Page.NextCursor; excludes Page and PerPage
	Limit  int    // items on a page, 1 to 100; the platform's default is 50

	// Page and PerPage ask for numbered pages, which tell the total: Page from 1,
	// PerPage as Limit.
	Page    int
	PerPage int
}

// List returns one page of the contacts.
//
// Source: OpenAPI 1.1.0, operation contactsList.
func (s *ContactsService) List(ctx context.Context, p ListContacts, opts ...CallOption) (*Page[Contact], error) {
	return s.lister(ctx, p, opts).list(ctx)
}

// All returns an iterator over the contacts, page after page, from where p says.
// Nothing is requested before the loop starts; each loop starts afresh. The first
// error ends it, and is a [*PageError] that tells where to go on.
//
// Source: OpenAPI 1.1.0, operation contactsList.
func (s *ContactsService) All(ctx context.Context, p ListContacts, opts ...CallOption) iter.Seq2[*Contact, error] {
	return s.lister(ctx, p, opts).all(ctx)
}

// Pages is All by pages, each with the place where the next one starts.
func (s *ContactsService) Pages(ctx context.Context, p ListContacts, opts ...CallOption) iter.Seq2[*Page[Contact], error] {
	return s.lister(ctx, p, opts).pages(ctx)
}

func (s *ContactsService) lister(ctx context.Context, p ListContacts, opts []CallOption) *lister[Contact] {
	l := newLister[Contact](ctx, s.c, contactsList, opts, p.Cursor, p.Limit, p.Page, p.PerPage)
	l.text("tag", p.Tag)
	l.text("channel", string(p.Channel))
	l.text("lead_status", string(p.LeadStatus))
	l.time("since", p.Since)
	return l
}

// Get returns one contact. It fails with [ErrNotFound] when the key's project
// has none with this id.
//
// Source: OpenAPI 1.1.0, operation contactsGet.
func (s *ContactsService) Get(ctx context.Context, id ContactID, opts ...CallOption) (*Contact, error) {
	in := check(ctx, contactsGet)
	in.id("id", int64(id))
	if in.err != nil {
		return nil, in.err
	}
	contact, _, err := invoke[Contact](ctx, s.c, contactsGet, input{args: pathArgs(id)}, opts)
	return contact, err
}

// Create makes a contact. It fails with [ErrValidation] when the platform does
// not take a field.
//
// A repeat with the same idempotency key within 24 hours returns the contact
// that was made first and makes none; later it makes another.
//
// Source: OpenAPI 1.1.0, operation contactsCreate; the platform's article on
// idempotency for the key, which the file does not declare here.
func (s *ContactsService) Create(ctx context.Context, req CreateContact, opts ...CallOption) (*Contact, error) {
	in := check(ctx, contactsCreate)
	req.check(in)
	if in.err != nil {
		return nil, in.err
	}
	look := seekCreated(s.c, req)
	contact, _, err := invokeSeeking(ctx, s.c, contactsCreate, input{body: req}, look, opts)
	return contact, err
}

// creating finds the contact of a create.
type creating struct {
	seek[Contact]
	client *Client
	one    [1]CreateContact
}

func seekCreated(c *Client, req CreateContact) *seek[Contact] {
	s := &creating{client: c, one: [1]CreateContact{req}}
	s.finder = s
	s.likeness = append(s.onlyLikeness[:0], c.likeContact(&req))
	return &s.seek
}

func (s *creating) find(ctx context.Context, when call.Span) (lineup[Contact], error) {
	return findContacts(ctx, s.client, when, &s.seek, s.one[:], func(found []*Contact) *Contact { return found[0] })
}

func (s *creating) foreign(contact *Contact) bool {
	return alike(identity(&s.one[0]), identity(contact.asCreated())) == none
}

func (s *creating) made(all []call.Object, contact *Contact) []call.Object {
	return append(all, upstream(kindContact, contact.ID))
}

// Update changes the fields of a contact that req sets and leaves the others,
// and returns the contact as it is then. It fails with [ErrNotFound] when the
// key's project has none with this id.
//
// Source: OpenAPI 1.1.0, operation contactsUpdate. The file does not say whether
// the platform replaces or merges; all its fields are optional, so it merges.
func (s *ContactsService) Update(ctx context.Context, id ContactID, req ContactUpdate, opts ...CallOption) (*Contact, error) {
	in := check(ctx, contactsUpdate)
	in.id("id", int64(id))
	req.check(in, "the update")
	if in.err != nil {
		return nil, in.err
	}
	contact, _, err := invoke[Contact](ctx, s.c, contactsUpdate, input{args: pathArgs(id), body: req}, opts)
	return contact, err
}

// Delete deletes a contact; the platform keeps it hidden. It fails with
// [ErrNotFound] when there is none, unless an earlier attempt of this very call
// may have deleted it: then the contact is gone as asked, and that is a success.
//
// Source: OpenAPI 1.1.0, operation contactsDelete.
func (s *ContactsService) Delete(ctx context.Context, id ContactID, opts ...CallOption) error {
	in := check(ctx, contactsDelete)
	in.id("id", int64(id))
	if in.err != nil {
		return in.err
	}
	_, _, err := invoke[RawJSON](ctx, s.c, contactsDelete, input{args: pathArgs(id)}, opts)
	return err
}

// newTag is the body of AddTag.
type newTag struct {
	Tag string `json:"tag"`
}

// contactTags is the answer of the two tag operations.
type contactTags struct {
	Tags []string `json:"tags"`
}

func tagsOf(answer *contactTags, err error) ([]string, error) {
	if answer == nil {
		return nil, err
	}
	return answer.Tags, err
}

// AddTag gives a contact a tag and returns all tags it has then. A tag that is
// there already stays.
//
// Source: OpenAPI 1.1.0, operation contactsAddTag.
func (s *ContactsService) AddTag(ctx context.Context, id ContactID, tag string, opts ...CallOption) ([]string, error) {
	in := check(ctx, contactsAddTag)
	in.id("id", int64(id))
	in.required("tag", tag)
	if in.err != nil {
		return nil, in.err
	}
	answer, _, err := invoke[contactTags](ctx, s.c, contactsAddTag, input{args: pathArgs(id), body: newTag{tag}}, opts)
	return tagsOf(answer, err)
}

// RemoveTag takes a tag from a contact and returns the tags that are left. The
// tag may hold any character, but "." and ".." are refused here: servers and
// proxies drop such a path segment, escaped or not, and what would be left is
// the deletion of the contact. [ContactUpdate].Tags removes them. The tags are nil
// where the platform answers the removal without them.
//
// Source: OpenAPI 1.1.0, operation contactsRemoveTag.
func (s *ContactsService) RemoveTag(ctx context.Context, id ContactID, tag string, opts ...CallOption) ([]string, error) {
	in := check(ctx, contactsRemoveTag)
	in.id("id", int64(id))
	in.pathTag(tag)
	if in.err != nil {
		return nil, in.err
	}
	answer, _, err := invoke[contactTags](ctx, s.c, contactsRemoveTag, input{args: pathArgs(id, tag)}, opts)
	return tagsOf(answer, err)
}
