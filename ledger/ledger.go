package ledger

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Ledger records operations and their attempts. It is safe for concurrent use
// by any number of clients and goroutines, and several processes may have a
// ledger on the same database.
type Ledger struct {
	store     store.Store
	namespace string
	owner     string // of leases: host, process and a random part
	lease     time.Duration
	failBusy  bool // what is in progress is not waited for
	keeping   Keeping
	details   time.Duration // how long they stay
	seals     *seals        // nil: nothing can be sealed or opened
	source    BodySource    // nil: bodies that are not kept are their callers'

	witnesses []Witness
	site      store.Site
	trust     trust

	keeper keeper
	marker marker

	mu        sync.Mutex
	flights   map[store.Intent]*flight
	executors []*registration
	bells     []chan<- struct{} // of the workers in this process
}

// Option changes a default of a ledger.
type Option func(*Ledger) error

// Namespace tells this program's intents and keys from those of others under
// the same API key, such as "shop-prod" from "shop-test". It is required, and
// part of every key that is made from an intent, so it must not change.
func Namespace(name string) Option {
	return func(l *Ledger) error {
		l.namespace = name
		return checkNamespace(name)
	}
}

// LeaseFor sets how long a right to drive an operation lasts without being
// renewed: how long after a crash another process may take over. Default 15 s,
// at least 1 s.
func LeaseFor(d time.Duration) Option {
	return func(l *Ledger) error {
		if d < time.Second {
			return fmt.Errorf("lease of %v is below a second", d)
		}
		l.lease = d
		return nil
	}
}

// FailInProgress makes a call fail at once with [ErrInProgress] whose intent is being
// driven by another. Without it the call waits for the other and answers as that was
// answered, and takes over when its driver stops without an end.
func FailInProgress() Option { return func(l *Ledger) error { l.failBusy = true; return nil } }

const defaultLease = 15 * time.Second

// New makes a ledger over a store. Programs call Open of a driver package, such
// as ledger/sqlite, which calls it. It closes s when it fails.
func New(s store.Store, opts ...Option) (*Ledger, error) {
	l := &Ledger{
		site: s.Site(), lease: defaultLease, keeping: Keeping{BodyUntilFinal, ResultFull}, details: defaultDetails,
		flights: make(map[store.Intent]*flight),
	}
	l.marker.ledger, l.marker.store = l, s
	l.store = &noticing{s, &l.marker}
	if l.site.Path != "" {
		l.witnesses = []Witness{WitnessFile(l.site.Path + witnessSuffix)}
	}
	err := l.setUp(opts)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ledger: %w", err), s.Close())
	}
	return l, nil
}

func (l *Ledger) setUp(opts []Option) error {
	for _, opt := range opts {
		if err := opt(l); err != nil {
			return err
		}
	}
	if l.namespace == "" {
		return errors.New("a namespace is required: it tells this program's operations from others' (ledger.Namespace)")
	}
	if err := l.CheckKeeping(l.keeping); err != nil {
		return err
	}
	owner, err := newOwner()
	l.owner = owner
	l.keeper.ledger = l
	return err
}

// newOwner names this process among all that may hold leases.
func newOwner() (string, error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), hex.EncodeToString(random[:])), nil
}

// Namespace returns the ledger's namespace.
func (l *Ledger) Namespace() string { return l.namespace }

// Close stops the renewal of leases, marks the database a last time and closes it.
// Operations under way end with errors; what was recorded of them stays.
//
// Its error also tells that a witness could not be told how far the ledger has
// come ([WithWitness]).
func (l *Ledger) Close() error {
	l.keeper.stop()
	return errors.Join(l.marker.stop(), l.store.Close())
}
