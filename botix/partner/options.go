package partner

import (
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
// package only. Default [DefaultContract].
func WithContract(c Contract) Option {
	c = c.clone()
	return friend.Option[Option](func(f *friend.Client) { f.Contract = c })
}
