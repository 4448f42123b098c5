package call

import (
	"net/http"

	"github.com/botix-pro/sdk-go/retry"
)

// step is what may follow an attempt.
type step uint8

const (
	stop       step = iota // the answer stands, or nothing safe is left to do
	resend                 // the same request again, after a pause
	resendLate             // the same, but not before the server must be done with the last one
	look                   // find out first; what is absent may be sent again
)

var stepNames = [...]string{stop: "stop", resend: "resend", resendLate: "resend late", look: "look"}

func (s step) String() string { return stepNames[s] }

// decide grants or refuses another try after the last one. It is the only code that
// does.
//
// refused counts the attempts that were refused for now, this one included.
//
// What the platform documents carries a resend without a look: a repeat under
// the same key returns the stored answer. It stores no answer but a 2xx, so a
// server error that was seen is not covered by that, and is looked into. That a
// server stores those too (ProofKey) is only assumed, and relied on only where the
// operation is not recorded: then nobody could find out later. A careful operation
// takes nothing on the key's word.
func decide(op *Operation, v retry.Verdict, last *retry.Attempt, refused int, recorded bool) step {
	coded := v.Rule == retry.RuleCode
	if v.Outcome == retry.Refused && coded && refused <= op.Deliveries && op.Endpoint.Class != Neither {
		return resend // the channel's refusal; not that of a key or a plan
	}
	if !v.Again {
		return stop
	}
	if !v.Outcome.PossiblySent() {
		return resend
	}
	again := resendLate
	if served(last) {
		again = resend // at once: with a 2xx it is stored, only unreadable
	}
	switch op.Endpoint.Class {
	case ByNature:
		if op.Endpoint.Lane != "" && !coded {
			return again // or the last one could be done after what is next in the lane, and undo it
		}
		return resend
	case Safe:
		return resend
	case Neither:
		return stop
	}
	switch {
	case op.Careful && op.Look != nil:
		return look
	case op.Careful:
		return stop
	case coded:
		return resend // the server says that one is under way
	case last.Status < http.StatusInternalServerError:
		return again
	case op.Endpoint.Secret && op.Endpoint.Proof == ProofKey && last.Code == "":
		return again // a page in place of the answer, which alone shows the secret
	case op.Look != nil:
		return look
	case op.Endpoint.Proof == ProofKey && !recorded:
		return again
	}
	return stop
}

// served reports whether the platform itself has answered, and so is done with the
// request. What stands between it and us knows neither its codes nor its request ids.
func served(a *retry.Attempt) bool { return failed(a) || a.Status/100 == 2 && a.RequestID != "" }

// failed reports whether it has answered with an error of its own. A 504 tells of a
// part of the platform that did not wait for another.
func failed(a *retry.Attempt) bool {
	return a.Code != "" && a.Status >= http.StatusInternalServerError && a.Status != http.StatusGatewayTimeout
}
