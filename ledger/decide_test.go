package ledger_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// atDesk runs a test at a desk in virtual time.
func atDesk(t *testing.T, test func(*desk), opts ...ledger.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := openDesk(t, opts...)
		test(d)
	})
}

var (
	happened = ledger.Verdict{Kind: ledger.VerdictHappened, Target: ledger.Target{Kind: "message", ID: "1001", Made: true}, Result: []byte(result)}
	useless  = ledger.Verdict{Kind: ledger.VerdictSecretLost, Target: ledger.Target{Kind: "key", ID: "key_7", Made: true}}
	resend   = ledger.Verdict{Kind: ledger.VerdictResend}
	reissue  = ledger.Verdict{Kind: ledger.VerdictReissue, ApprovedBy: "ann"}
	giveUp   = ledger.Verdict{Kind: ledger.VerdictGiveUp}
)

// lost is an operation that may have had its effect.
func (d *desk) lost(draft *ledger.Draft) string { return d.end(d.begin(draft), unknown, "", "") }

// cutOff is an operation whose driver is gone in the middle of an attempt.
func (d *desk) cutOff(draft *ledger.Draft) string {
	drive := d.begin(draft)
	drive.Close()
	time.Sleep(time.Minute)
	return drive.Operation().ID
}

func (d *desk) givenUp(draft *ledger.Draft) string {
	id := d.lost(draft)
	if _, err := d.Decide(d.Context(), id, giveUp, ann); err != nil {
		d.Fatal(err)
	}
	return id
}

// contradicted is an operation that was given up and then seen to succeed.
func (d *desk) contradicted(draft *ledger.Draft) string {
	id := d.lost(draft)
	for _, v := range []ledger.Verdict{giveUp, happened} {
		if _, err := d.Decide(d.Context(), id, v, ann); err != nil {
			d.Fatal(err)
		}
	}
	return id
}

// replaced is an operation whose object had lost its secret, and that was issued again.
func (d *desk) replaced(draft *ledger.Draft) string {
	id := d.lost(draft)
	for _, v := range []ledger.Verdict{useless, reissue} {
		if _, err := d.Decide(d.Context(), id, v, ann); err != nil {
			d.Fatal(err)
		}
	}
	return id
}

func (d *desk) enqueued(draft *ledger.Draft) string {
	op, err := d.Enqueue(d.Context(), *draft)
	if err != nil {
		d.Fatal(err)
	}
	return op.ID
}

func (d *desk) op(id string) *ledger.Operation {
	d.Helper()
	op, err := d.Operation(d.Context(), id)
	if err != nil {
		d.Fatal(err)
	}
	return op
}

// What each verdict makes of an operation, however it stands.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	const (
		success = ledger.StatusSucceeded
		failed  = ledger.StatusFailedFinal
		free    = ledger.StatusFailedRetryable
		unclear = ledger.StatusReconciling
	)
	again := ledger.Verdict{Kind: ledger.VerdictHappened, Target: ledger.Target{Kind: "message", ID: "another"}}
	for name, tt := range map[string]struct {
		stage   func(*desk, *ledger.Draft) string
		verdict ledger.Verdict
		status  ledger.Status
		next    ledger.NextStep
		err     error // instead
	}{
		"no answer, happened":   {(*desk).lost, happened, success, "", nil},
		"no answer, resend":     {(*desk).lost, resend, free, ledger.NextResend, nil},
		"no answer, reissue":    {(*desk).lost, reissue, failed, "", nil},
		"no answer, give up":    {(*desk).lost, giveUp, failed, "", nil},
		"interrupted, happened": {(*desk).cutOff, happened, success, "", nil},
		"interrupted, resend":   {(*desk).cutOff, resend, free, ledger.NextResend, nil},
		"interrupted, reissue":  {(*desk).cutOff, reissue, failed, "", nil},
		"interrupted, give up":  {(*desk).cutOff, giveUp, failed, "", nil},

		"no answer, secret lost":        {(*desk).lost, useless, unclear, ledger.NextPerson, nil},
		"interrupted, secret lost":      {(*desk).cutOff, useless, unclear, ledger.NextPerson, nil},
		"never sent, secret lost":       {(*desk).enqueued, useless, "", "", ledger.ErrTransition},
		"given up, secret lost":         {(*desk).givenUp, useless, "", "", ledger.ErrTransition},
		"in contradiction, secret lost": {(*desk).contradicted, useless, "", "", ledger.ErrTransition},

		"secret lost and replaced, happened": {(*desk).replaced, ledger.Verdict{Kind: ledger.VerdictHappened}, "", "", ledger.ErrVerdict},
		"secret lost and replaced, as known": {(*desk).replaced, ledger.Verdict{Kind: ledger.VerdictHappened, Target: useless.Target}, "", "", ledger.ErrVerdict},

		"never sent, happened": {(*desk).enqueued, happened, success, "", nil}, // somebody did it by hand
		"never sent, resend":   {(*desk).enqueued, resend, "", "", ledger.ErrTransition},
		"never sent, reissue":  {(*desk).enqueued, reissue, "", "", ledger.ErrTransition},
		"never sent, give up":  {(*desk).enqueued, giveUp, failed, "", nil},

		"refused for now, reissue": {func(d *desk, draft *ledger.Draft) string { return d.end(d.begin(draft), retry.Refused, "", "") }, reissue, failed, "", nil},
		"refused for now, resend":  {func(d *desk, draft *ledger.Draft) string { return d.end(d.begin(draft), retry.Refused, "", "") }, resend, "", "", ledger.ErrTransition},

		"done, happened":           {func(d *desk, draft *ledger.Draft) string { return d.done(draft, result) }, ledger.Verdict{Kind: ledger.VerdictHappened}, success, "", nil},
		"done, happened otherwise": {func(d *desk, draft *ledger.Draft) string { return d.done(draft, result) }, again, "", "", ledger.ErrVerdict},
		"done, resend":             {func(d *desk, draft *ledger.Draft) string { return d.done(draft, result) }, resend, "", "", ledger.ErrTransition},
		"done, reissue":            {func(d *desk, draft *ledger.Draft) string { return d.done(draft, result) }, reissue, "", "", ledger.ErrTransition},
		"done, give up":            {func(d *desk, draft *ledger.Draft) string { return d.done(draft, result) }, giveUp, "", "", ledger.ErrTransition},
		"rejected, reissue":        {func(d *desk, draft *ledger.Draft) string { return d.end(d.begin(draft), retry.Rejected, "", "") }, reissue, "", "", ledger.ErrTransition},
		"rejected, happened":       {func(d *desk, draft *ledger.Draft) string { return d.end(d.begin(draft), retry.Rejected, "", "") }, happened, unclear, ledger.NextPerson, nil},

		"in contradiction, happened": {(*desk).contradicted, happened, success, "", nil},
		"in contradiction, resend":   {(*desk).contradicted, resend, "", "", ledger.ErrTransition},
		"in contradiction, reissue":  {(*desk).contradicted, reissue, "", "", ledger.ErrTransition},
		"in contradiction, give up":  {(*desk).contradicted, giveUp, failed, "", nil},

		"driven, give up": {func(d *desk, draft *ledger.Draft) string {
			drive := d.begin(draft)
			d.Cleanup(drive.Close)
			return drive.Operation().ID
		}, giveUp, "", "", ledger.ErrInProgress},
		"another key's window has closed, resend": {func(d *desk, draft *ledger.Draft) string {
			id := d.lost(draft)
			time.Sleep(24 * time.Hour)
			return id
		}, resend, "", "", ledger.ErrWindowClosed},
		"just before it closes, resend": {func(d *desk, draft *ledger.Draft) string {
			id := d.lost(draft)
			time.Sleep(24*time.Hour - time.Second)
			return id
		}, resend, free, ledger.NextResend, nil},
		"long after it has closed, reissue": {func(d *desk, draft *ledger.Draft) string {
			id := d.lost(draft)
			time.Sleep(90 * 24 * time.Hour)
			return id
		}, reissue, failed, "", nil},
		"a key that counts for nothing, resend": {func(d *desk, draft *ledger.Draft) string {
			draft.Retention = 0
			return d.lost(draft)
		}, resend, free, ledger.NextResend, nil},
		"called off, resend": {func(d *desk, draft *ledger.Draft) string {
			id := d.lost(draft)
			if _, err := d.Cancel(d.Context(), id, ann); err != nil {
				d.Fatal(err)
			}
			return id
		}, resend, failed, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atDesk(t, func(d *desk) {
				id := tt.stage(d, draft("7", body))
				before, history := d.op(id), len(d.history(id))
				got, err := d.Decide(d.Context(), id, tt.verdict, ann)
				after := d.op(id)
				if tt.err != nil {
					if !errors.Is(err, tt.err) || after.Status != before.Status || after.Next != before.Next || len(d.history(id)) != history {
						d.Fatalf("Decide = %v, want %v; it stands at %s", err, tt.err, after.Status)
					}
					return
				}
				if err != nil || after.Status != tt.status || after.Next != tt.next {
					d.Fatalf("Decide = %v; it stands at %s, next %q; want %s, next %q", err, after.Status, after.Next, tt.status, tt.next)
				}
				settled := tt.verdict.Kind == ledger.VerdictResend || tt.verdict.Kind == ledger.VerdictReissue || after.Status == success
				if settled && after.PossiblySent {
					d.Error("it is possibly sent still")
				}
				if before.Status == success {
					return
				}
				if last := d.history(id)[len(d.history(id))-1]; last.who != ann.Who || last.why != ann.Why {
					d.Errorf("the history ends with %+v", last)
				}
				if tt.verdict.Kind != ledger.VerdictReissue && got.ID != id || tt.verdict.Kind == ledger.VerdictReissue && got.Supersedes != id {
					d.Errorf("it returned %+v", got)
				}
			})
		})
	}
}

// Whoever says no more than that it happened takes nothing back of what is known.
func TestAVerdictKeepsTheTarget(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		id := d.lost(draft("7", body))
		for _, v := range []ledger.Verdict{useless, {Kind: ledger.VerdictHappened}} {
			if _, err := d.Decide(d.Context(), id, v, ann); err != nil {
				d.Fatal(err)
			}
			if op := d.op(id); op.TargetKind != "key" || op.TargetID != "key_7" {
				d.Errorf("after %s its target is %s %s", v.Kind, op.TargetKind, op.TargetID)
			}
		}
	})
}

// What cannot be said changes nothing.
func TestVerdictsThatCannotBeGiven(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		id := d.lost(draft("7", body))
		now := time.Now()
		look := func(change func(*ledger.Look)) []ledger.Look {
			l := ledger.Look{What: "GET /messages", At: now.Add(time.Second), Read: 3, Complete: true}
			change(&l)
			return []ledger.Look{l}
		}
		absent := func(evidence []ledger.Look) ledger.Verdict {
			return ledger.Verdict{Kind: ledger.VerdictResend, Evidence: evidence}
		}
		many := make([]ledger.Look, 50)
		for i := range many {
			many[i] = look(func(l *ledger.Look) { l.Note = strings.Repeat("n", 200) })[0]
		}
		for name, tt := range map[string]struct {
			v   ledger.Verdict
			by  ledger.Decision
			err error
		}{
			"nobody":                         {giveUp, ledger.Decision{Why: "x"}, ledger.ErrDecision},
			"no reason":                      {giveUp, ledger.Decision{Who: "ann"}, ledger.ErrDecision},
			"no verdict":                     {ledger.Verdict{}, ann, ledger.ErrVerdict},
			"an invented one":                {ledger.Verdict{Kind: "maybe"}, ann, ledger.ErrVerdict},
			"a reissue that nobody approved": {ledger.Verdict{Kind: ledger.VerdictReissue}, ann, ledger.ErrDecision},
			"an approval of something else":  {ledger.Verdict{Kind: ledger.VerdictResend, ApprovedBy: "ann"}, ann, ledger.ErrVerdict},
			"half a target":                  {ledger.Verdict{Kind: ledger.VerdictHappened, Target: ledger.Target{ID: "1"}}, ann, ledger.ErrVerdict},
			"a target that is not there":     {ledger.Verdict{Kind: ledger.VerdictResend, Target: happened.Target}, ann, ledger.ErrVerdict},
			"a lost secret of nothing":       {ledger.Verdict{Kind: ledger.VerdictSecretLost}, ann, ledger.ErrVerdict},
			"a result that shows no secret":  {ledger.Verdict{Kind: ledger.VerdictSecretLost, Target: useless.Target, Result: []byte("{}")}, ann, ledger.ErrVerdict},
			"a result of nothing":            {ledger.Verdict{Kind: ledger.VerdictGiveUp, Result: []byte("{}")}, ann, ledger.ErrVerdict},
			"a target of two lines":          {ledger.Verdict{Kind: ledger.VerdictHappened, Target: ledger.Target{Kind: "a", ID: "1\n2"}}, ann, ledger.ErrVerdict},
			"a look at nothing":              {absent(look(func(l *ledger.Look) { l.What = "" })), ann, ledger.ErrVerdict},
			"a look at no time":              {absent(look(func(l *ledger.Look) { l.At = time.Time{} })), ann, ledger.ErrVerdict},
			"a look at a time without end":   {absent(look(func(l *ledger.Look) { l.At = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) })), ann, ledger.ErrVerdict},
			"more found than read":           {absent(look(func(l *ledger.Look) { l.Matches = 4 })), ann, ledger.ErrVerdict},
			"a score beyond all":             {absent(look(func(l *ledger.Look) { l.Score = 101 })), ann, ledger.ErrVerdict},
			"a note of two lines":            {absent(look(func(l *ledger.Look) { l.Note = "a\nb" })), ann, ledger.ErrVerdict},
			"too much evidence":              {absent(many), ann, ledger.ErrVerdict},
			"evidence of before the attempt": {absent(look(func(l *ledger.Look) { l.At = now.Add(-time.Minute) })), ann, ledger.ErrVerdict},
		} {
			if _, err := d.Decide(d.Context(), id, tt.v, tt.by); !errors.Is(err, tt.err) {
				d.Errorf("%s: %v, want %v", name, err, tt.err)
			}
		}
		if op := d.op(id); op.Status != ledger.StatusReconciling || len(d.history(id)) != 1 {
			d.Errorf("it stands at %s after %d changes", op.Status, len(d.history(id)))
		}
		if _, err := d.Decide(d.Context(), "0190", giveUp, ann); !errors.Is(err, ledger.ErrNotFound) {
			d.Errorf("of nothing: %v", err)
		}
		if _, err := d.Decide(d.InsideTx(d.Context()), id, giveUp, ann); !errors.Is(err, ledger.ErrInTx) {
			d.Errorf("in a transaction: %v", err)
		}
	})
}

// What has happened is answered as the first time, and its target is nobody else's.
func TestWhatHasHappenedIsAnswered(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opts   []ledger.Option
		body   string
		atRest string
	}{
		"in clear":         {nil, body, "clear"},
		"sealed":           {[]ledger.Option{ofKeyA, ledger.Keep(sealed)}, body, "sealed"},
		"no bodies":        {[]ledger.Option{ledger.Keep(ledger.Keeping{Bodies: ledger.BodyNone})}, body, ""},
		"there is no body": {nil, "", "clear"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atDesk(t, func(d *desk) {
				id := d.lost(draft("7", tt.body))
				if _, err := d.Decide(d.Context(), id, happened, ann); err != nil {
					d.Fatal(err)
				}
				d.atRest("result", id, tt.atRest, result)
				again, err := d.Open(d.Context(), draft("7", tt.body))
				if err != nil {
					d.Fatal(err)
				}
				defer again.Close()
				kept := result
				if tt.atRest == "" {
					kept = ""
				}
				if got, ok := again.Repeat(); !ok || string(got) != kept {
					d.Errorf("a repeat is answered %q, %t", got, ok)
				}
				other := d.lost(draft("8", body))
				for _, theirs := range []ledger.Verdict{happened, {Kind: ledger.VerdictSecretLost, Target: happened.Target}} {
					if _, err := d.Decide(d.Context(), other, theirs, ann); !errors.Is(err, ledger.ErrTargetTaken) || d.op(other).TargetID != "" {
						d.Errorf("the target of another, %s: %v", theirs.Kind, err)
					}
				}
			}, tt.opts...)
		})
	}
}

// An operation that is issued again has the same bytes, a key and a window of its
// own, and takes the place of the first in every way.
func TestReissue(t *testing.T) {
	t.Parallel()
	without := func(draft *ledger.Draft) *ledger.Draft {
		draft.Intent, draft.Key = ledger.Intent{}, draft.ID
		return draft
	}
	named := func(draft *ledger.Draft) *ledger.Draft {
		draft.Intent, draft.Key, draft.Named = ledger.Intent{}, strings.Repeat("k", 254), true
		return draft
	}
	for name, tt := range map[string]struct {
		opts       []ledger.Option
		draft      func(*ledger.Draft) *ledger.Draft
		repeatable bool
	}{
		"by its intent":     {nil, func(d *ledger.Draft) *ledger.Draft { return d }, true},
		"sealed":            {[]ledger.Option{ofKeyA, ledger.Keep(sealed)}, func(d *ledger.Draft) *ledger.Draft { return d }, true},
		"without an intent": {nil, without, false},
		"by its own key":    {nil, named, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atDesk(t, func(d *desk) {
				id := d.lost(tt.draft(draft("7", body)))
				first := d.op(id)
				time.Sleep(48 * time.Hour)
				var chain []*ledger.Operation
				keys := []string{first.Key}
				for range 2 {
					next, err := d.Decide(d.Context(), id, reissue, ann)
					if err != nil {
						d.Fatal(err)
					}
					if next.Status != ledger.StatusPending || next.PossiblySent || next.Attempts != 0 || !next.ResendUntil.IsZero() ||
						next.Supersedes != id || next.Fingerprint != first.Fingerprint || next.Credential != first.Credential ||
						next.Driver != first.Driver || uuid.MustParse(next.ID).Version() != 7 {
						d.Errorf("issued again: %+v", next)
					}
					if slices.Contains(keys, next.Key) || len(next.Key) > 255 {
						d.Errorf("its key is %q, after %q", next.Key, keys)
					}
					keys = append(keys, next.Key)
					if got, err := d.Body(d.Context(), next, ledger.Significance{}); err != nil || string(got) != body {
						d.Errorf("its bytes are %q, %v", got, err)
					}
					if stored := d.stored("body", id); stored != nil {
						d.Errorf("the first keeps %q", stored)
					}
					if _, err := d.Decide(d.Context(), id, reissue, ann); !errors.Is(err, ledger.ErrTransition) {
						d.Errorf("a second time: %v", err)
					}
					if !tt.repeatable && !slices.Contains(d.interrupted(), next.ID) {
						d.Error("nobody can repeat it, and it is not listed")
					}
					chain, id = append(chain, next), next.ID
					driven := d.attempt(next.ID, tt.draft(draft("7", body)), tt.repeatable)
					if driven.ID != next.ID || driven.Key != next.Key {
						d.Errorf("a repeat drives %s under %s", driven.ID, driven.Key)
					}
					if want := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Millisecond); !driven.ResendUntil.Equal(want) {
						d.Errorf("its window is open until %v, want %v", driven.ResendUntil, want)
					}
				}
				if first.Intent != (ledger.Intent{}) && chain[1].Intent.Version != "order-1~2" {
					d.Errorf("the second version is %q", chain[1].Intent.Version)
				}
			}, tt.opts...)
		})
	}
}

// attempt makes an attempt without an answer, by a repeat of the draft or, where
// nobody can repeat it, by the operation's id. It returns what was driven.
func (d *desk) attempt(id string, draft *ledger.Draft, repeatable bool) (driven *ledger.Operation) {
	d.Helper()
	if repeatable {
		drive := d.begin(draft)
		driven = drive.Operation()
		d.end(drive, unknown, "", "")
		return driven
	}
	carry := func(ctx context.Context, drive *ledger.Drive) error {
		if err := drive.Accept(ctx, &ledger.Draft{Retention: 24 * time.Hour}); err != nil {
			return err
		}
		if err := drive.Begin(ctx, open); err != nil {
			return err
		}
		driven = drive.Operation()
		d.end(drive, unknown, "", "")
		return nil
	}
	op := d.op(id)
	if _, err := d.ResumeWith(d.Context(), id, carrier{ledger.Place{API: op.API, Origin: op.Origin, Credential: op.Credential}, carry}); err != nil {
		d.Fatal(err)
	}
	return driven
}

// carrier is an executor of one function.
type carrier struct {
	place ledger.Place
	carry func(context.Context, *ledger.Drive) error
}

func (c carrier) Place() ledger.Place { return c.place }

func (c carrier) Carry(ctx context.Context, d *ledger.Drive) error { return c.carry(ctx, d) }

func (d *desk) interrupted() (ids []string) {
	d.Helper()
	for op, err := range d.Interrupted(d.Context()) {
		if err != nil {
			d.Fatal(err)
		}
		ids = append(ids, op.ID)
	}
	return ids
}

// The version that an operation issued again has cannot be chosen, neither as a
// version nor as a key in its place: it could meet one.
func TestVersionsOfReissuesAreKept(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	version, key := draft("7", body), draft("7", body)
	version.Intent.Version = "order-1~1"
	key.Intent, key.Key, key.Named = ledger.Intent{}, "order-1~1", true
	for name, draft := range map[string]*ledger.Draft{"a version": version, "a key": key} {
		if _, err := d.Open(t.Context(), draft); !errors.Is(err, ledger.ErrIntent) {
			t.Errorf("%s: %v, want ErrIntent", name, err)
		}
	}
}

// A repeat that is recorded is the operation that was issued again, too; and the
// story of each tells of the other, with what was read before.
func TestStoryOfAReissue(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		id := d.lost(draft("7", body))
		v := reissue
		v.Evidence = []ledger.Look{{What: "GET /messages", At: time.Now(), Read: 12, Complete: true, SHA256: "9f86d081"}}
		v.ApprovedBy = "boris"
		next, err := d.Decide(d.Context(), id, v, ann)
		if err != nil {
			d.Fatal(err)
		}
		repeat, err := d.Enqueue(d.Context(), *draft("7", body))
		if err != nil || repeat.ID != next.ID {
			d.Errorf("recorded again: %+v, %v", repeat, err)
		}
		old, err := d.Story(d.Context(), id)
		if err != nil {
			d.Fatal(err)
		}
		last := old.Events[len(old.Events)-1]
		if last.What != "reconciling → failed_final: reissued as "+next.ID || last.Who != "ann, approved by boris" || last.Why != ann.Why ||
			len(last.Evidence) != 1 || !last.Evidence[0].At.Equal(v.Evidence[0].At) || last.Evidence[0].SHA256 != "9f86d081" {
			d.Errorf("the story of the first ends with %+v", last)
		}
		if text := old.String(); !strings.Contains(text, "  saw      GET /messages at ") || !strings.Contains(text, "12 read, 0 may be its") {
			d.Errorf("it shows no evidence:\n%s", text)
		}
		fresh, err := d.Story(d.Context(), next.ID)
		if err != nil || !strings.HasSuffix(fresh.Events[0].What, ", in place of "+id) {
			d.Errorf("the story of the second: %v\n%s", err, fresh)
		}

		// What was read is erased with the rest that people said.
		if _, err := d.Erase(d.Context(), "7", dpo); err != nil {
			d.Fatal(err)
		}
		d.gone("9f86d081", ann.Why)
		if old, err = d.Story(d.Context(), id); err != nil || strings.Contains(old.String(), "saw") {
			d.Errorf("after the erasure: %v\n%s", err, old)
		}
	})
}

// In one lane what is issued again would come last: so it is not, where something
// newer was sent or is to be.
func TestReissueKeepsTheOrderOfALane(t *testing.T) {
	t.Parallel()
	for name, newer := range map[string]func(*desk, *ledger.Draft) string{
		"a newer one was sent": func(d *desk, draft *ledger.Draft) string { return d.done(draft, result) },
		"a newer one waits":    (*desk).enqueued,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atDesk(t, func(d *desk) {
				inLane := func(version string) *ledger.Draft {
					draft := draft("7", body)
					draft.Intent.Version, draft.Lane = version, "contact:1"
					return draft
				}
				older := d.lost(inLane("1"))
				id := newer(d, inLane("2"))
				_, err := d.Decide(d.Context(), older, reissue, ann)
				if !errors.Is(err, ledger.ErrSuperseded) || !strings.Contains(err.Error(), id) || d.op(older).Status != ledger.StatusReconciling {
					d.Errorf("Decide = %v", err)
				}
				if _, err := d.Decide(d.Context(), older, giveUp, ann); err != nil {
					d.Error(err)
				}
				// Of the newest nothing speaks against it.
				latest := d.lost(inLane("3"))
				if _, err := d.Decide(d.Context(), latest, reissue, ann); err != nil {
					d.Error(err)
				}
			})
		})
	}
}

// Whatever settles an operation makes due what waited for it, at once.
func TestAVerdictReleasesTheGroup(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]ledger.Verdict{"happened": happened, "resend": resend, "reissue": reissue, "give up": giveUp} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atDesk(t, func(d *desk) {
				inGroup := func(version string) *ledger.Draft {
					draft := draft("7", body)
					draft.Intent.Version, draft.Group = version, "wallet:7"
					return draft
				}
				first := d.lost(inGroup("1"))
				waits := d.enqueued(inGroup("2"))
				e := &executor{place: ledger.Place{API: "botix", Origin: "https://api.example", Credential: "0123456789abcdef"}}
				d.Register(e)
				stop := d.working()
				time.Sleep(time.Hour)
				if op := d.op(waits); op.Status != ledger.StatusPending || e.n.Load() != 0 || string(d.stored("blocked_by", waits)) != first {
					d.Fatalf("it stands at %+v, blocked by %q, after %d attempts", op, d.stored("blocked_by", waits), e.n.Load())
				}
				if _, err := d.Decide(d.Context(), first, v, ann); err != nil {
					d.Fatal(err)
				}
				time.Sleep(time.Second)
				if op := d.op(waits); op.Status != ledger.StatusSucceeded {
					d.Errorf("a second later it stands at %s, not before %v", op.Status, op.NotBefore)
				}
				stop()
			})
		})
	}
}

// working runs a worker until stop is called.
func (d *desk) working() (stop func()) {
	d.Helper()
	w, err := ledger.NewWorker(d.Ledger, ledger.WorkerConfig{Poll: 30 * time.Second})
	if err != nil {
		d.Fatal(err)
	}
	ctx, cancel := context.WithCancel(d.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		d.Helper()
		cancel()
		if err := <-ended; err != nil {
			d.Error(err)
		}
	}
}

// A workflow stands as the newest version of its step does, and sees one that was
// replaced and comes back to life. It moves once for each verdict.
func TestAWorkflowFollowsVerdicts(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		step := draft("7", body)
		m, err := ledger.NewMachine(d.Ledger, ledger.Definition[string]{Name: ledger.ActionProvisionCustomer, Done: "done",
			Steps: []ledger.Step[string]{{State: "open", Calls: func(context.Context, *ledger.Flow, string) ([]ledger.Draft, error) {
				return []ledger.Draft{*step}, nil
			}}}})
		if err != nil {
			t.Fatal(err)
		}
		w, err := m.Run(d.Context(), "7", "v1", "100.00")
		if !errors.Is(err, ledger.ErrNoExecutor) { // the test is the client
			t.Fatal(err)
		}
		first := d.lost(step)
		next, err := d.Decide(d.Context(), first, reissue, ann)
		if err != nil {
			d.Fatal(err)
		}
		if op := d.op(w.ID); op.Status != ledger.StatusPending || next.ParentID != w.ID {
			d.Errorf("after the reissue: %s, its new step is %+v", op.Status, next)
		}
		if n := len(d.history(w.ID)); n != 2 { // reconciling, and pending
			d.Errorf("it has moved %d times: %+v", n, d.history(w.ID))
		}
		if _, err := d.Decide(d.Context(), first, happened, ann); err != nil {
			d.Fatal(err)
		}
		if op := d.op(w.ID); op.Status != ledger.StatusReconciling || op.Next != ledger.NextPerson {
			d.Errorf("when the first has happened after all: %s, next %q", op.Status, op.Next)
		}
		if _, err := d.Decide(d.Context(), first, giveUp, ann); err != nil {
			d.Fatal(err)
		}
		d.done(step, result)
		op := d.op(w.ID)
		if op.Status != ledger.StatusSucceeded {
			d.Errorf("when all is done: %s", op.Status)
		}
		if _, err := d.Decide(d.Context(), w.ID, giveUp, ann); err == nil {
			d.Error("a workflow was given up")
		}
	})
}

// Who is called off is not sent, and what may have been is found out.
func TestCancel(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stage  func(*desk, *ledger.Draft) string
		status ledger.Status
		next   ledger.NextStep
		err    error
	}{
		"never sent":      {(*desk).enqueued, ledger.StatusFailedFinal, "", nil},
		"refused for now": {func(d *desk, draft *ledger.Draft) string { return d.end(d.begin(draft), retry.Refused, "", "") }, ledger.StatusFailedFinal, "", nil},
		"no answer":       {(*desk).lost, ledger.StatusReconciling, ledger.NextLook, nil},
		"interrupted":     {(*desk).cutOff, ledger.StatusReconciling, ledger.NextLook, nil},
		"a person's":      {(*desk).contradicted, ledger.StatusReconciling, ledger.NextPerson, nil},
		"done":            {func(d *desk, draft *ledger.Draft) string { return d.done(draft, result) }, "", "", ledger.ErrTransition},
		"driven": {func(d *desk, draft *ledger.Draft) string {
			drive := d.begin(draft)
			d.Cleanup(drive.Close)
			return drive.Operation().ID
		}, "", "", ledger.ErrInProgress},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atDesk(t, func(d *desk) {
				id := tt.stage(d, draft("7", body))
				op, err := d.Cancel(d.Context(), id, ann)
				if !errors.Is(err, tt.err) || err == nil && (op.Status != tt.status || op.Next != tt.next) {
					d.Fatalf("Cancel = %v, %+v; want %s, next %q", err, op, tt.status, tt.next)
				}
				if err != nil {
					return
				}
				if last := d.history(id)[len(d.history(id))-1]; last.who != ann.Who || last.what != string(ledger.CauseCancelled) {
					d.Errorf("the history ends with %+v", last)
				}
				if drive, err := d.Open(d.Context(), draft("7", body)); err == nil {
					defer drive.Close()
					if err := drive.Begin(d.Context(), open); err == nil {
						d.Error("it was sent again")
					}
				}
			})
		})
	}
	d := openDesk(t)
	if _, err := d.Cancel(t.Context(), "0190", ledger.Decision{}); !errors.Is(err, ledger.ErrDecision) {
		t.Errorf("by nobody: %v", err)
	}
}

// While somebody asks, nobody sends and nobody else decides; the verdict is recorded
// under the lease that was held, or the operation is given back as it was.
func TestReconcile(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		step := draft("7", body)
		id := d.enqueued(step)
		e := &executor{
			place:   ledger.Place{API: "botix", Origin: "https://api.example", Credential: "0123456789abcdef"},
			outcome: func(int64) retry.Outcome { return retry.Unknown },
		}
		d.Register(e)
		defer d.working()()
		time.Sleep(time.Second)
		other := openDeskAt(d.T, d.file)

		asked := 0
		ask := func(v ledger.Verdict, failure error) func(context.Context, *ledger.Operation) (ledger.Verdict, ledger.Decision, error) {
			return func(ctx context.Context, op *ledger.Operation) (ledger.Verdict, ledger.Decision, error) {
				asked++
				n := e.n.Load()
				if op.ID != id || op.Status != ledger.StatusReconciling {
					d.Errorf("asked about %+v", op)
				}
				if _, err := other.Decide(ctx, id, giveUp, ann); !errors.Is(err, ledger.ErrInProgress) {
					d.Errorf("beside it: %v", err)
				}
				time.Sleep(5 * time.Minute) // longer than any lease: it is kept alive
				if e.n.Load() != n {
					d.Error("it was sent meanwhile")
				}
				return v, ann, failure
			}
		}
		failure := errors.New("the server cannot be reached")
		for name, tt := range map[string]struct {
			v       ledger.Verdict
			failure error
			want    error
		}{
			"nothing is known": {ledger.Verdict{}, nil, nil},
			"the look failed":  {ledger.Verdict{}, failure, failure},
			"no verdict":       {ledger.Verdict{Kind: "maybe"}, nil, ledger.ErrVerdict},
			"out of date":      {ledger.Verdict{Kind: ledger.VerdictResend, Evidence: []ledger.Look{{What: "x", At: time.Unix(0, 0)}}}, nil, ledger.ErrVerdict},
		} {
			op, err := d.Reconcile(d.Context(), id, ask(tt.v, tt.failure))
			if !errors.Is(err, tt.want) || err == nil && (op.Status != ledger.StatusReconciling || !op.LockedUntil.IsZero()) {
				d.Errorf("%s: %+v, %v", name, op, err)
			}
			if op := d.op(id); op.Status != ledger.StatusReconciling || !op.LockedUntil.IsZero() {
				d.Errorf("%s: it stands at %+v", name, op)
			}
		}
		op, err := d.Reconcile(d.Context(), id, ask(happened, nil))
		if err != nil || op.Status != ledger.StatusSucceeded || op.TargetID != "1001" || asked != 5 {
			d.Errorf("found: %+v, %v after %d questions", op, err, asked)
		}
		if op, err = d.Reconcile(d.Context(), id, ask(giveUp, nil)); err != nil || op.Status != ledger.StatusSucceeded || asked != 5 {
			d.Errorf("of what is done: %+v, %v after %d questions", op, err, asked)
		}
	})
}

// Who stood still for longer than the lease decides nothing.
func TestReconcileByOneWhoStoodStill(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		id := d.lost(draft("7", body))
		_, err := d.Reconcile(d.Context(), id, func(context.Context, *ledger.Operation) (ledger.Verdict, ledger.Decision, error) {
			d.store("lease_token", id, 99)
			return giveUp, ann, nil
		})
		if !errors.Is(err, ledger.ErrLeaseLost) || d.op(id).Status != ledger.StatusReconciling {
			d.Errorf("Reconcile = %v, it stands at %s", err, d.op(id).Status)
		}
	})
}
