package partner

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/friend"
	"github.com/botix-pro/sdk-go/ledger"
)

// lookout is one look at the server for the effect of one operation. What it finds
// it notes; nothing follows from it yet.
type lookout struct {
	see   reads
	ids   map[string]string // that the operation's path names
	asked any               // its request
	call.Span

	sure    []sighted // the operation's, for all that can be seen
	perhaps []sighted // like the operation's, and something does not fit
	partly  bool      // a list was not read to its end
	newer   bool      // something is listed that is younger than the operation's last attempt
	direct  bool      // only the object itself was read, which does not lag as lists do
	read    []ledger.Look
	info    botix.Info // of the last request
}

// as marks the requests of a look: in an outage they must not add to the load.
func (l *lookout) as() []CallOption { return []CallOption{asLook, botix.WithInfo(&l.info)} }

// sighted is an object that may be the effect.
type sighted struct {
	target ledger.Target
	data   any    // what a call that succeeded returns
	but    string // what does not fit; "" for nothing
}

func (s *sighted) object() call.Object { return call.Object{Kind: s.target.Kind, Text: s.target.ID} }

var asLook = friend.Option[CallOption](func(f *friend.Call) { f.Unearned = true })

// survey reads a list; judge notes what it makes of an item and says how well that
// fits.
func survey[T any](l *lookout, what string, list iter.Seq2[*T, error], judge func(*T) call.Fit) error {
	sure, perhaps := len(l.sure), len(l.perhaps)
	r, err := call.Survey(what, list, judge)
	if err != nil {
		return err
	}
	l.partly = l.partly || !r.Complete
	var ids []string
	for _, s := range append(l.sure[sure:len(l.sure):len(l.sure)], l.perhaps[perhaps:]...) {
		ids = append(ids, s.target.ID)
	}
	r.RequestID, r.Note = call.Line(l.info.RequestID), call.Line(strings.Join(ids, ", "))
	l.read = append(l.read, r)
	return nil
}

// one is survey of a single object, nil where there is none.
func one[T any](l *lookout, what string, object *T, judge func(*T) call.Fit) error {
	l.direct = true
	return survey(l, what, func(yield func(*T, error) bool) {
		if object != nil {
			yield(object, nil)
		}
	}, judge)
}

// made notes an object that the operation may have made. named tells that it bears a
// name that the operation gave it: then it is of interest however old it is. but says
// what of it does not fit.
func (l *lookout) made(kind, id string, at time.Time, data any, named bool, but string) call.Fit {
	s := sighted{target: ledger.Target{Kind: kind, ID: id, Made: true}, data: data, but: but}
	switch {
	case but != "":
	case at.Before(l.From) && !named:
		return call.FitsNot
	case at.Before(l.From):
		s.but = "it is older than the operation"
	case l.Since.IsZero() || at.Before(l.Since):
		s.but = "it may be older than the operation: the clocks do not tell"
	case at.After(l.Done) && !named:
		s.but = "it came to be when the server must have been done with the operation"
	default:
		l.sure = append(l.sure, s)
		return call.Fits
	}
	l.perhaps = append(l.perhaps, s)
	return call.FitsNearly
}

// leaveOthers takes out what other operations of the ledger made.
func (l *lookout) leaveOthers(ctx context.Context, taken func(context.Context, []call.Object) (map[call.Object]bool, error)) error {
	if taken == nil {
		return nil
	}
	var objects []call.Object
	for _, s := range l.all() {
		if s.target.Made {
			objects = append(objects, s.object())
		}
	}
	theirs, err := taken(ctx, objects)
	if err != nil {
		return err
	}
	without := func(all []sighted) (left []sighted) {
		for _, s := range all {
			if !theirs[s.object()] {
				left = append(left, s)
			}
		}
		return left
	}
	l.sure, l.perhaps = without(l.sure), without(l.perhaps)
	return nil
}

func (l *lookout) all() []sighted { return append(l.sure[:len(l.sure):len(l.sure)], l.perhaps...) }

// judge says what was seen, and why in words. An operation is found when there is
// one object for it, and one for each other operation that asks for the same and is
// not settled either. Fewer could be the others', more could be somebody else's.
func (l *lookout) judge(rivals ledger.Rivals) (seen call.Sighting, why string) {
	n := len(l.sure)
	switch {
	case n == 0 && len(l.perhaps) > 0:
		return call.Ambiguous, l.perhaps[0].target.Kind + " " + l.perhaps[0].target.ID + ": " + l.perhaps[0].but
	case l.partly: // what is not there may be farther down, and so may be another like it
		return call.Ambiguous, fmt.Sprintf("the list has more than the %d that were read", call.MostRead)
	case n == 0:
		return call.Absent, "there is nothing that could be its"
	case rivals.Underway > 0:
		return call.Ambiguous, "another operation that asks for the same is under way"
	case n < 1+rivals.Unclear:
		return call.Ambiguous, fmt.Sprintf("%d object(s) could be its, and %d operations ask for the same", n, 1+rivals.Unclear)
	case n > 1+rivals.Unclear:
		return call.Ambiguous, fmt.Sprintf("%d objects look alike, and %d operation(s) asked for such", n, 1+rivals.Unclear)
	case len(l.perhaps) > 0:
		return call.Ambiguous, "one fits, and another nearly: " + l.perhaps[0].but
	}
	return call.Found, "one fits in everything that was asked for"
}
