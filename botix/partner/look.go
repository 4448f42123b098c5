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
		if err == nil || found.sighting == call.Absent { // a look that broke off is none for the next call
			s.Saw(found.read...)
		}
		if err != nil {
			return call.Ambiguous, err
		}
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
// may lag, of which the first may have been an earlier call's. For that it waits,
// unless ctx does not allow it. What was read it returns beside an error, too.
func (in *input) lookUp(ctx context.Context, s call.Search) (*seen, error) {
	settle, unseen := in.c.engine.Settle, s.Unseen
	var earlier []ledger.Look
	for {
		at := time.Now()
		found, err := in.lookOnce(ctx, s)
		found.read = append(earlier, found.read...)
		if earlier = found.read; err != nil || found.sighting != call.Absent {
			return found, err
		}
		if unseen.IsZero() {
			unseen = at
		}
		var proved time.Time // when what is still not there is known not to come
		switch {
		case found.direct && s.Answered:
		case found.direct, found.newer, unseen.Before(s.Done):
			proved = s.Done.Add(settle)
		default:
			proved = unseen.Add(settle)
		}
		if !at.Before(proved) {
			return found, nil
		}
		if err := retry.Allow(ctx, time.Until(proved)); err != nil {
			return found, err
		}
		if err := retry.Sleep(ctx, time.Until(proved)); err != nil {
			return found, err
		}
	}
}

// lookOnce is one look.
func (in *input) lookOnce(ctx context.Context, s call.Search) (*seen, error) {
	found := &seen{lookout: &lookout{see: in.c.reads(), ids: in.ids, asked: in.body, Span: s.Span()}}
	if err := in.ep.find(ctx, found.lookout); err != nil {
		return found, err
	}
	if err := found.leaveOthers(ctx, s.Taken); err != nil {
		return found, err
	}
	found.sighting, found.why = found.judge(s.Rivals)
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
