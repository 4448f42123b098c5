package partner

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/botix-pro/sdk-go/internal/answer"
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/friend"
	"github.com/botix-pro/sdk-go/internal/rest"
)

// A recorded operation outlives the call that made it. What its answer is to be
// read into, and checked against, is made again from the table and the request.

// revive describes an operation that the ledger has.
func (c *Client) revive(ep *call.Endpoint, req rest.Request) friend.Call {
	e := c.rows[ep.Name]
	in := &input{c: c, ep: e, ids: e.idsIn(req.Path.String())}
	in.body = json.RawMessage(c.names.stored(req.Body, e.takes))
	return e.revive(in)
}

// revived describes a call that is answered with a T and was asked for by a B.
func revived[T, B any](in *input) friend.Call {
	stored, ok := in.body.(json.RawMessage)
	in.body = nil
	if req := new(B); ok && json.Unmarshal(stored, req) == nil {
		in.body = *req
	}
	return describe(in, new(answer.Envelope[T, listMeta]))
}

// idsIn are the ids in a path of the endpoint.
func (e *endpoint) idsIn(path string) map[string]string {
	ids := map[string]string{}
	at := strings.Split(path, "/")
	for i, segment := range strings.Split(e.Path, "/") {
		name, isID := strings.CutPrefix(segment, "{")
		if id, err := url.PathUnescape(at[i]); isID && err == nil {
			ids[strings.TrimSuffix(name, "}")] = id
		}
	}
	return ids
}
