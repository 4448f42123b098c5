package partner

import (
	"context"
	"encoding/json"
	"time"

	"github.com/botix-pro/sdk-go/internal/answer"
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/friend"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// look makes a call one whose effect can be looked up.
func look[T any](in *input, env *answer.Envelope[T, listMeta], c *friend.Call) {
	c.Proves = true
	c.Look = func(ctx context.Context, s call.Search) (call.Sighting, error) {
		found, err := in.lookUp(ctx, s)
		if err != nil {
			return call.Ambiguous, err
		}
		s.Saw(found.read...)
		if found.sighting != call.Found {
			return found.sighting, nil
		}
		data, _ := found.sure[0].data.(*T)
		*env = answer.Envelope[T, listMeta]{Data: data}
		return call.Found, nil
	}
	c.Render = func() []byte { return in.c.names.render(env.Data, in.ep.gives) }
}

// seen is what a look came to.
type seen struct {
	*lookout
	sighting call.Sighting
	why      string
}

// lookUp finds out whether an operation had its effect. That it had none is known
// when lists have had the time to show it, and it is not in a list that has something
// younger than the operation; or when two looks agree that are as far apart as lists
// may lag. For that it waits, unless ctx does not allow it.
func (in *input) lookUp(ctx context.Context, s call.Search) (*seen, error) {
	settle := in.c.engine.Settle
	var earlier []ledger.Look
	for again := false; ; again = true {
		at := time.Now()
		found, err := in.lookOnce(ctx, s)
		if err != nil {
			return nil, err
		}
		found.read = append(earlier, found.read...)
		earlier = found.read
		settled := !at.Before(s.Done.Add(settle))
		if found.sighting != call.Absent || settled && (again || found.newer || found.direct) {
			return found, nil
		}
		wait := time.Until(s.Done.Add(settle))
		if !found.direct {
			wait = max(wait, settle)
		}
		if err := retry.Allow(ctx, wait); err != nil {
			return nil, err
		}
		if err := retry.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// lookOnce is one look.
func (in *input) lookOnce(ctx context.Context, s call.Search) (*seen, error) {
	l := &lookout{see: in.c.reads(), ids: in.ids, asked: in.body, Span: s.Span()}
	if err := in.ep.find(ctx, l); err != nil {
		return nil, err
	}
	if err := l.leaveOthers(ctx, s.Taken); err != nil {
		return nil, err
	}
	found := &seen{lookout: l}
	found.sighting, found.why = l.judge(s.Rivals)
	return found, nil
}

// render is a success with data as the server would have answered it; nil where it
// answers without a body.
func (s *spelling) render(data any, object string) []byte {
	if object == "" {
		return nil
	}
	body, err := json.Marshal(map[string]any{"success": true, "data": data})
	if err != nil {
		return nil // then a repeat finds that the result was not kept
	}
	if s == nil {
		return body
	}
	renamed, err := rename(body, "envelope", s.theirs, map[string]string{"envelope." + s.theirs["envelope"]["data"]: object})
	if err != nil {
		return nil
	}
	return renamed
}
