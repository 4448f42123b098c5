package partner

import (
	"context"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/internal/friend"
	"github.com/botix-pro/sdk-go/ledger"
)

// Option changes a default of [New]. Every option of package botix is one:
// time-outs, retries, pace, logger, hooks, and so on.
type Option = botix.Option

// CallOption changes one call. Every call option of package botix is one.
type CallOption = botix.CallOption

// WithLedger is [botix.WithLedger]: every change is recorded in l before it is
// sent. A ledger may be shared with clients of the public API.
func WithLedger(l *ledger.Ledger) Option { return botix.WithLedger(l) }

// WithoutLedger is [botix.WithoutLedger]: what a crash interrupts is not known
// afterwards.
func WithoutLedger() Option { return botix.WithoutLedger() }

// WithBaseURL is [botix.WithBaseURL]. Default [botix.DefaultBaseURL].
func WithBaseURL(url string) Option { return botix.WithBaseURL(url) }

// WithContract serves a server that calls things otherwise. It is for [New] of this
// package only, as are the options after it. Default [DefaultContract].
func WithContract(c Contract) Option {
	c = c.clone()
	return own(func(s *settings) { s.contract = c })
}

// WithKeyBuilder has the keys of the client's own operations, such as
// [Client.TopUp] and the steps of [Client.Provision], built by b: for customers whose
// ids are personal ([KeyBuilder.Blind]). Default one of the ledger's namespace.
func WithKeyBuilder(b KeyBuilder) Option { return own(func(s *settings) { s.keys = b }) }

// OnProvisioned has tell called when a customer was provisioned, by a worker of any
// process that has this option, at least once for each: until it returns nil. It has
// a minute. The [Provisioning.OperationID] is the same each time.
//
// Every customer is to be told of, whether or not the process that provisions it has the
// option: until there is a worker of one that has, the notices wait in the ledger, and
// then all of them are told. The view partner_notices lists those that wait. A tell that
// does nothing is for a program that wants none.
func OnProvisioned(tell func(context.Context, *Provisioning) error) Option {
	return own(func(s *settings) { s.onProvisioned = tell })
}

// WithLostKeysReplaced lets a machine replace a key whose secret is lost, without a
// person: it revokes the key, and then makes another in its place. It gives up after
// three for one key, since then it is the store that is broken.
func WithLostKeysReplaced() Option { return own(func(s *settings) { s.replaceLost = true }) }

// settings are what the options of this package set.
type settings struct {
	contract      Contract
	keys          KeyBuilder
	onProvisioned func(context.Context, *Provisioning) error
	replaceLost   bool
}

func own(set func(*settings)) Option {
	return friend.Option[Option](func(f *friend.Client) { set(settingsOf(f)) })
}

func settingsOf(f *friend.Client) *settings {
	s, ok := f.Own.(*settings)
	if !ok {
		s = &settings{contract: DefaultContract()}
		f.Own = s
	}
	return s
}
