package botixtest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// PartnerConfig says how the partner half of the API behaves. The zero value works, and does what the contract assumes of
// the real service; where that is only assumed, a field turns it off.
type PartnerConfig struct {
	Table PartnerTable // how everything is spelled, default [DefaultPartnerTable]. Fixed once the server runs

	Balance  string // of every new partner account, default "1000.00"
	Currency string // default "RUB"
	MinTopUp string // the smallest top-up, default "1.00"
	Price    string // of a request on the public half under a group's key, default "0.01"; "0" for none
	Scale    int    // decimals that amounts are written with at least, default 2, at most 8

	Retention time.Duration // how long an answer lives under its Idempotency-Key, default 7 days
	Storage   Storage       // which answers are kept, default [StoreFinal]
	Unlocked  bool          // a key in flight is not locked: both requests are executed. By default the second is 409

	ReplaySecret SecretForm // of a new key, when its creation is answered again under its Idempotency-Key
	ReadSecret   SecretForm // of a key in every other answer; [SecretWhole] counts as masked there

	Unique        bool          // a second object with the same external_id or reference is ALREADY_EXISTS
	Pending       time.Duration // how long a new group is pending and takes no keys; its creation is answered 202
	IgnoreFilters bool          // lists ignore the filters that the contract does not name: all but ids of groups, projects and keys

	// Lags is how long news stays out of an answer, by operation: of lists and of balanceGet. [Config.Lag] holds for
	// those without one.
	Lags map[string]time.Duration

	Deprecation *Deprecation // of the partner half, default none
}

// Storage is which answers of executed requests are kept under their Idempotency-Key.
type Storage int

const (
	StoreFinal      Storage = iota // success, refusals that no waiting changes, and the platform's own 5xx; not 402
	StoreSuccess                   // 2xx only
	StoreEverything                // 402 too: more money does not help before the key is forgotten
)

// keeps reports whether an answer is stored.
func (s Storage) keeps(status int) bool {
	switch s {
	case StoreSuccess:
		return status/100 == 2
	case StoreEverything:
		return true
	}
	return status != 401 && status != 402 && status != 403 && status != 429
}

// SecretForm is how an answer shows a secret that was shown once before.
type SecretForm int

const (
	SecretMissing SecretForm = iota // there is no field
	SecretNull
	SecretEmpty
	SecretMasked // the first characters and dots
	SecretWhole  // the stored answer as it was
)

// tariff is the money of a [PartnerConfig], read.
type tariff struct{ balance, minTopUp, price money }

// withDefaults fills in what is left out and refuses what makes no sense.
func (c PartnerConfig) withDefaults() (PartnerConfig, tariff, error) {
	setIfZero(&c.Currency, "RUB")
	setIfZero(&c.Scale, 2)
	setIfZero(&c.Retention, 7*day)
	if c.Scale < 0 || c.Scale > moneyScale || c.Retention < 0 || c.Pending < 0 {
		return c, tariff{}, fmt.Errorf("partner configuration: Scale must be 0 to %d, Retention and Pending not negative", moneyScale)
	}
	for id := range c.Lags {
		if !knownOperation(partnerOperations, id) {
			return c, tariff{}, fmt.Errorf("partner configuration: Lags names %q, which is no operation", id)
		}
	}
	var t tariff
	for _, field := range []struct {
		name, missing string
		text          *string
		into          *money
	}{
		{"Balance", "1000.00", &c.Balance, &t.balance},
		{"MinTopUp", "1.00", &c.MinTopUp, &t.minTopUp},
		{"Price", "0.01", &c.Price, &t.price},
	} {
		setIfZero(field.text, field.missing)
		var err error
		if *field.into, err = parseMoney(*field.text); err != nil {
			return c, tariff{}, fmt.Errorf("partner configuration: %s %w", field.name, err)
		}
	}
	return c, t, nil
}

func setIfZero[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

// account is everything one partner owns. Server.mu guards it. Lists are in order of identity.
type account struct {
	id           int64
	balance      money
	drift        money // of it no transaction tells
	groups       []*group
	keys         []*groupKey
	projects     []*subProject
	transactions []*transaction
	requests     []*usageRequest
	audit        []*auditEvent
}

// account returns the partner account with that id; a key may be the first to name it.
func (s *Server) account(id int64) *account {
	a := s.accounts[id]
	if a == nil {
		a = &account{id: id}
		s.accounts[id] = a
		if s.tariff.balance.sign() > 0 {
			s.book(a, nil, entry{kind: "deposit", amount: s.tariff.balance, requestID: uuid(s.partnerRandom)}).at = time.Time{} // no list lags behind the beginning
		}
	}
	return a
}

// serial is embedded by the stored objects whose public id is a text: their order in lists.
type serial struct {
	birth
	n int64
}

func (o serial) identity() int64 { return o.n }

// serialFor numbers a new object of a list.
func serialFor[T listed](s *Server, all []T) serial {
	return serial{birth: birth{s.clock.Now()}, n: nextID(all)}
}

// publicID makes the id of a partner's object. Ids come from a stream of their own, so that what happens on one half
// of the API leaves the other the same for the same seed.
func (s *Server) publicID(prefix string) string {
	return prefix + strings.ToLower(alphanumerics(s.partnerRandom, 16))
}

// byName finds an object by its public id.
func byName[T any](all []T, id string, name func(T) string) (T, bool) {
	if i := slices.IndexFunc(all, func(o T) bool { return name(o) == id }); i >= 0 {
		return all[i], true
	}
	var none T
	return none, false
}

// text writes an amount as the configuration wants it.
func (s *Server) text(m money) string { return m.text(s.config.Partner.Scale) }
