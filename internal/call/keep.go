package call

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// Vault keeps secrets that an answer shows once, by a name that is the same for
// every attempt of an operation. It is used from many goroutines.
type Vault interface {
	// Probe is an error when a secret could not be put now.
	Probe(ctx context.Context) error
	// Put keeps a secret. It may be called again with the same.
	Put(ctx context.Context, ref, secret string) error
	// Has reports whether a secret was put.
	Has(ctx context.Context, ref string) (bool, error)
}

// ErrSecretLost says that something was made whose secret nobody has.
var ErrSecretLost = errors.New("what was made is there, and its secret reached no store")

const (
	ruleNotKept    = "secret not kept"
	ruleSecretLost = "secret lost"
)

// keeps reports whether the answer shows a secret that is to be kept.
func (r *run) keeps() bool { return r.engine.Vault != nil && r.op.Secret != nil }

// secretLost reports whether the last attempt showed that nobody has the secret.
func (r *run) secretLost() bool { return r.last().Rule == ruleSecretLost }

// probe keeps a request from being sent whose answer could not be kept.
func (r *run) probe(ctx context.Context) error {
	if !r.keeps() {
		return nil
	}
	if err := r.engine.Vault.Probe(ctx); err != nil {
		return &VaultError{err}
	}
	return nil
}

// VaultError says that the store of secrets does not work. Nothing was sent.
type VaultError struct{ Err error }

func (e *VaultError) Error() string { return "the store of secrets does not work: " + e.Err.Error() }

// Unwrap returns why.
func (e *VaultError) Unwrap() error { return e.Err }

// Outcome is [retry.NotSent].
func (e *VaultError) Outcome() retry.Outcome { return retry.NotSent }

// keep puts the secret of a success where it is kept, before anything says that it
// was one. Without that it is none: the request is sent again, if that is allowed,
// since the stored answer may show the secret; and what is answered without it is
// asked of the store, where an attempt that was cut off may have put it.
func (r *run) keep(ctx context.Context, v retry.Verdict) retry.Verdict {
	if v.Outcome != retry.Succeeded || !r.keeps() {
		return v
	}
	err := r.put(ctx)
	if err == nil {
		return v
	}
	v = retry.Verdict{Outcome: retry.Unknown, Rule: ruleNotKept, Again: true}
	if errors.Is(err, ErrSecretLost) || decide(r.op, v, r.last(), r.refused, r.recording()) == stop {
		v.Rule, v.Again = ruleSecretLost, false
		if errors.Is(err, ErrSecretLost) {
			err = r.unkept
		}
		if err == nil {
			err = ErrSecretLost
		} else {
			err = fmt.Errorf("%w: %w", ErrSecretLost, err)
		}
		r.Reading.Code = ledger.CodeSecretLost
	}
	a := r.last()
	a.Outcome, a.Rule, a.Code, a.Err = v.Outcome, v.Rule, r.Reading.Code, err
	if r.first.Local.IsZero() {
		r.first.Local = a.Started
	}
	return v
}

// keepFound is keep for what a look found, which shows no secret: an attempt that
// was cut off may have put it.
func (r *run) keepFound(ctx context.Context) error {
	if !r.keeps() {
		return nil
	}
	err := r.put(ctx)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, ErrSecretLost):
		return r.bar(err)
	case r.recording():
		r.saw()
		err = errors.Join(err, r.drives.SecretLost(r.target()))
	}
	if errors.Is(err, ledger.ErrTargetTaken) {
		return ErrAmbiguous // what was found is another operation's
	}
	r.Reading.Code = ledger.CodeSecretLost
	return err
}

// put tries as often as a request would be, while the secret is at hand. The end
// of the caller's context is no reason to lose it.
func (r *run) put(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.engine.AttemptTimeout)
	defer cancel()
	ref := r.op.ID
	if r.engine.Ledger == nil { // then only the key is the same each time
		ref = r.op.Request.Key
	}
	secret := r.op.Secret()
	if secret == "" {
		has, err := r.engine.Kept(ctx, ref)
		if err == nil && !has {
			err = ErrSecretLost
		}
		return err
	}
	err := r.putAgain(ctx, ref, secret)
	if err == nil {
		return nil
	}
	// It may have put the secret and then failed.
	if has, e := r.engine.Kept(context.WithoutCancel(ctx), ref); e == nil && has {
		return nil
	}
	r.unkept = err
	return err
}

// notKept is why a store did not take a secret: told and logged, as what the program's
// own code says, but never with the secret in it.
func notKept(err error, secret string) error {
	if strings.Contains(err.Error(), secret) {
		return errors.New("the store of secrets did not take it, and its error is not shown: it holds the secret")
	}
	return fmt.Errorf("the store of secrets did not take it: %w", err)
}

func (r *run) putAgain(ctx context.Context, ref, secret string) error {
	backoff := r.engine.Policy.NewBackOff()
	for n := 1; ; n++ {
		err := r.engine.Vault.Put(ctx, ref, secret)
		if err == nil {
			return nil
		}
		err = notKept(err, secret)
		if n == r.engine.Policy.MaxAttempts {
			return err
		}
		wait, e := backoff.Next(ctx, 0)
		if e == nil {
			e = retry.Sleep(ctx, wait)
		}
		if e != nil {
			return err
		}
	}
}

// Kept reports whether the store has a secret under a name, such as the id of an
// operation of the ledger: it is asked wherever something shows that what was made
// is there, and not its secret.
func (e *Engine) Kept(ctx context.Context, ref string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, e.AttemptTimeout)
	defer cancel()
	return e.Vault.Has(ctx, ref)
}
