package botix

import (
	"context"

	"github.com/botix-pro/sdk-go/internal/call"
)

// MaxBulkContacts is how many contacts one bulk call takes.
//
// Source: OpenAPI 1.1.0, operations contactsBulkCreate and contactsBulkUpdate.
const MaxBulkContacts = 100

// ContactChange is one item of a bulk update: which contact, and the fields to
// change.
type ContactChange struct {
	ID     ContactID     `json:"id"`
	Fields ContactUpdate `json:"fields"`
}

// newContacts is the body of a bulk create.
type newContacts struct {
	Contacts []CreateContact `json:"contacts"`
}

// contactChanges is the body of a bulk update.
type contactChanges struct {
	Updates []ContactChange `json:"updates"`
}

// ContactsBulk is the answer of a bulk call on contacts. That some items failed
// is no error: look at the rows.
//
// Source: OpenAPI 1.1.0, schema BulkResult.
type ContactsBulk struct {
	Created *int               `json:"created"` // nil after a bulk update
	Updated *int               `json:"updated"` // nil after a bulk create
	Failed  int                `json:"failed"`
	Results []ContactsBulkItem `json:"results"`
}

func (r ContactsBulk) missing() string {
	if r.Results == nil {
		return "results"
	}
	return ""
}

// ContactsBulkItem is the row of one item: an id, or an error.
type ContactsBulkItem struct {
	Index   int        `json:"index"` // the item's place in the request, from 0
	ID      *ContactID `json:"id"`
	Error   *Code      `json:"error"`   // such as [CodeDuplicateKey]
	Message *string    `json:"message"` // the platform's own words
}

// Err returns nil for an item that was done and an [*ItemError] for one that was
// refused.
func (r ContactsBulkItem) Err() error { return itemError(r.Index, r.Error, r.Message) }

func (r ContactsBulkItem) place() int { return r.Index }

// items tells the rows in the form that reports use.
func (r *ContactsBulk) items() []Item[ContactID] {
	if r == nil {
		return nil
	}
	rows := make([]Item[ContactID], len(r.Results))
	for i, row := range r.Results {
		rows[i] = Item[ContactID]{Index: row.Index, State: ItemUnknown, Err: errNoRow}
		if err := row.Err(); err != nil {
			rows[i].State, rows[i].Err = ItemFailed, err
		} else if row.ID != nil && *row.ID > 0 {
			rows[i].State, rows[i].Err, rows[i].Result = ItemDone, nil, *row.ID
		}
	}
	return rows
}

// BulkCreate makes 1 to 100 contacts in one request, which counts as one against
// the rate limit. Each item stands alone: some may fail while others are made.
// For more than 100 see [ContactsService.CreateMany].
//
// A repeat with the same idempotency key within 24 hours returns the first
// answer, failed items included: to try those again, send them in a new call.
//
// Source: OpenAPI 1.1.0, operation contactsBulkCreate.
func (s *ContactsService) BulkCreate(ctx context.Context, contacts []CreateContact, opts ...CallOption) (*ContactsBulk, error) {
	in := check(ctx, contactsBulkCreate)
	in.atMostItems("contacts", len(contacts), MaxBulkContacts)
	checkNewContacts(in, contacts)
	if in.err != nil {
		return nil, in.err
	}
	return s.bulkCreate(ctx, contacts, opts)
}

// BulkUpdate changes fields of 1 to 100 contacts in one request, which counts as
// one against the rate limit. Each item stands alone: some may fail while others
// are changed. For more than 100 see [ContactsService.UpdateMany].
//
// Source: OpenAPI 1.1.0, operation contactsBulkUpdate.
func (s *ContactsService) BulkUpdate(ctx context.Context, updates []ContactChange, opts ...CallOption) (*ContactsBulk, error) {
	in := check(ctx, contactsBulkUpdate)
	in.atMostItems("updates", len(updates), MaxBulkContacts)
	checkChanges(in, updates)
	if in.err != nil {
		return nil, in.err
	}
	return s.bulkUpdate(ctx, updates, opts)
}

// CreateMany makes any number of contacts, 100 in a request, in order, and
// reports on each. The error speaks of whole requests and is nil although single
// items failed; the report is complete also beside an error, and nil only when
// the arguments were refused. After a request that did not leave, or two in a row
// without a readable answer, the rest is not sent.
//
// An idempotency key given for the call gets a suffix for each request that
// tells its place among them: the same input under the same key is the same job.
//
// Source: OpenAPI 1.1.0, operation contactsBulkCreate.
func (s *ContactsService) CreateMany(ctx context.Context, contacts []CreateContact, opts ...CallOption) (*Report[ContactID], error) {
	in := check(ctx, contactsBulkCreate)
	checkNewContacts(in, contacts)
	return inChunks(ctx, in, "contacts", contacts, MaxBulkContacts, opts,
		func(ctx context.Context, chunk []CreateContact, opts []CallOption) ([]Item[ContactID], error) {
			answer, err := s.bulkCreate(ctx, chunk, opts)
			return answer.items(), err
		})
}

// UpdateMany changes any number of contacts, 100 in a request, in order, and
// reports on each as [ContactsService.CreateMany] does.
//
// Source: OpenAPI 1.1.0, operation contactsBulkUpdate.
func (s *ContactsService) UpdateMany(ctx context.Context, updates []ContactChange, opts ...CallOption) (*Report[ContactID], error) {
	in := check(ctx, contactsBulkUpdate)
	checkChanges(in, updates)
	return inChunks(ctx, in, "updates", updates, MaxBulkContacts, opts,
		func(ctx context.Context, chunk []ContactChange, opts []CallOption) ([]Item[ContactID], error) {
			answer, err := s.bulkUpdate(ctx, chunk, opts)
			return answer.items(), err
		})
}

func (s *ContactsService) bulkCreate(ctx context.Context, contacts []CreateContact, opts []CallOption) (*ContactsBulk, error) {
	look := seekBulkCreated(s.c, contacts)
	answer, _, err := invokeSeeking(ctx, s.c, contactsBulkCreate, input{body: newContacts{contacts}}, look, opts)
	return answer, err
}

// bulkCreating finds the contacts of a bulk create.
type bulkCreating struct {
	seek[ContactsBulk]
	client  *Client
	created []CreateContact
}

func seekBulkCreated(c *Client, created []CreateContact) *seek[ContactsBulk] {
	s := &bulkCreating{client: c, created: created}
	s.finder = s
	for i := range created {
		s.likeness = append(s.likeness, c.likeContact(&created[i]))
	}
	return &s.seek
}

func (s *bulkCreating) find(ctx context.Context, when call.Span) (lineup[ContactsBulk], error) {
	return findContacts(ctx, s.client, when, &s.seek, s.created, adoptBulkCreated)
}

func (s *bulkCreating) foreign(r *ContactsBulk) bool { return !fits(len(s.created), r.Results) }

func (s *bulkCreating) made(all []call.Object, r *ContactsBulk) []call.Object {
	for _, row := range r.Results {
		if row.ID != nil {
			all = append(all, upstream(kindContact, *row.ID))
		}
	}
	return all
}

func (s *ContactsService) bulkUpdate(ctx context.Context, updates []ContactChange, opts []CallOption) (*ContactsBulk, error) {
	answer, _, err := invoke[ContactsBulk](ctx, s.c, contactsBulkUpdate, input{body: contactChanges{updates}}, opts)
	return answer, err
}

func checkNewContacts(in *checker, contacts []CreateContact) {
	in.each("contacts", len(contacts), func(i int) { contacts[i].check(in) })
}

func checkChanges(in *checker, updates []ContactChange) {
	in.each("updates", len(updates), func(i int) {
		in.id("id", int64(updates[i].ID))
		updates[i].Fields.check(in, "fields")
	})
}

// adoptBulkCreated is the answer to a bulk call all of whose contacts were found.
func adoptBulkCreated(found []*Contact) *ContactsBulk {
	r := &ContactsBulk{Created: new(len(found)), Results: make([]ContactsBulkItem, len(found))}
	for i, contact := range found {
		r.Results[i] = ContactsBulkItem{Index: i, ID: &contact.ID}
	}
	return r
}
