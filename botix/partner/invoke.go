package partner

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/internal/answer"
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/friend"
	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/ledger"
)

// invoke makes one call and returns its data.
func invoke[T any](ctx context.Context, in *input, opts []CallOption) (*T, error) {
	data, _, err := exchange[T](ctx, in, opts)
	return data, err
}

// exchange makes one call and returns the data and meta of its envelope.
func exchange[T any](ctx context.Context, in *input, opts []CallOption) (*T, *listMeta, error) {
	if in.err != nil {
		return nil, nil, in.err
	}
	request, err := in.request()
	if err != nil {
		return nil, nil, err
	}
	var env answer.Envelope[T, listMeta]
	described := friend.Option[CallOption](func(f *friend.Call) {
		*f = describe(in, &env)
	})
	err = in.c.core.Do(ctx, request, nil, slices.Concat([]CallOption{described}, opts)...)
	if _, unrecorded := err.(*ledger.UnrecordedError); err != nil && !unrecorded {
		return nil, nil, err
	}
	if env.Data == nil {
		env.Data = new(T) // an empty answer where that is a success
	}
	if !in.ep.Mutates() && !in.owns(env.Data) {
		return nil, nil, &TenantError{in.ep.Name}
	}
	return env.Data, env.Meta, err
}

// describe is a call whose answer is read into env.
func describe[T any](in *input, env *answer.Envelope[T, listMeta]) friend.Call {
	c := friend.Call{
		Endpoint: &in.ep.Endpoint,
		Read:     func(status int, body []byte) call.Reading { return read(in, env, status, body) },
		Made:     func() ledger.Target { return in.target(env.Data) },
		Foreign:  func() bool { return foreign(env.Data, in.body) },
	}
	if in.ep.Secret {
		c.Secret = func() string { return shown(env.Data) }
	}
	// Without a ledger nobody knows whose an object is; a look shows no secret, and
	// only a store can know it.
	if in.ep.find != nil && in.c.engine.Ledger != nil && (!in.ep.Secret || in.c.engine.Vault != nil) {
		look(in, env, &c)
	}
	return c
}

// request is the call as package botix makes it.
func (in *input) request() (botix.Request, error) {
	path, err := in.ep.path(in.ids)
	if err != nil {
		return botix.Request{}, &botix.InputError{Operation: in.ep.Name, Field: "path", Problem: err.Error()}
	}
	body, err := in.encode()
	if err != nil {
		return botix.Request{}, &botix.InputError{Operation: in.ep.Name, Field: "body", Problem: "cannot be encoded: " + err.Error()}
	}
	return botix.Request{Method: in.ep.Method, Path: path.String(), Query: in.query, Body: body}, nil
}

// encode makes the body, in the contract's words.
func (in *input) encode() (any, error) {
	if in.body == nil {
		return nil, nil // and not a json.RawMessage of nothing
	}
	body, err := rest.Encode(in.body)
	if err != nil {
		return nil, err
	}
	renamed, err := in.c.names.request(body, in.ep.takes)
	return renamed, err
}

// read takes one answer apart. It refuses a success without what makes it one, and
// one that is about somebody else.
func read[T any](in *input, env *answer.Envelope[T, listMeta], status int, body []byte) call.Reading {
	r := env.Read(status, in.c.names.answer(body, in.ep.gives), in.ep.EmptyOK)
	r.Code = in.c.contract.code(r.Code)
	if !r.Success || env.Data == nil {
		return r
	}
	err := complete(env.Data)
	if err == nil && in.ep.Mutates() && !in.owns(env.Data) {
		err = &TenantError{in.ep.Name} // it tells nothing of what was asked for
	}
	if err != nil {
		*env = answer.Envelope[T, listMeta]{}
		return call.Reading{Envelope: true, Err: err}
	}
	return r
}

// complete refuses data without what makes it a success, such as a new group's id.
func complete(data any) error {
	if d, ok := data.(list); ok {
		for item := range d.each() {
			if err := complete(item); err != nil {
				return err
			}
		}
	}
	if d, ok := data.(interface{ missing() string }); ok {
		if what := d.missing(); what != "" {
			return fmt.Errorf("the answer has no %s", what)
		}
	}
	return nil
}

type list interface{ each() iter.Seq[any] }

// owner is whom an object belongs to, as far as it tells.
type owner struct {
	group   GroupID
	key     KeyID
	project ProjectID
}

type owned interface{ owner() owner }

// owns reports whether data is of the group, key and project that the call names.
// What an object does not tell, or the call does not name, is no contradiction.
func (in *input) owns(data any) bool {
	if d, ok := data.(list); ok {
		for item := range d.each() {
			if !in.owns(item) {
				return false
			}
		}
	}
	d, ok := data.(owned)
	if !ok {
		return true
	}
	of := d.owner()
	for name, is := range map[string]string{"group": string(of.group), "key": string(of.key), "project": projectText(of.project)} {
		if named := in.ids[name]; is != "" && named != "" && is != named {
			return false
		}
	}
	return true
}

// target names the object that an answer is about, and whether the call made it.
func (in *input) target(data any) ledger.Target {
	d, ok := data.(interface{ target() (kind, id string) })
	if !ok {
		return ledger.Target{}
	}
	kind, id := d.target()
	return ledger.Target{Kind: kind, ID: id, Made: in.ep.creates}
}

// shown is the secret that an answer shows, "" for none.
func shown(data any) string {
	if d, ok := data.(interface{ shown() string }); ok {
		return d.shown()
	}
	return ""
}

// foreign reports that a stored answer cannot be to this request.
func foreign(data, request any) bool {
	d, ok := request.(interface{ contradicts(data any) bool })
	return ok && d.contradicts(data)
}
