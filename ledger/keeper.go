package ledger

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// keeper renews the leases of drives that last longer than a third of one. It
// runs only while there are any: most drives end before it first looks.
type keeper struct {
	ledger *Ledger

	mu      sync.Mutex
	held    map[string]heldLease // by operation id
	timer   *time.Timer          // nil while nothing is held
	beating sync.WaitGroup
	stopped bool
}

type heldLease struct{ token, until int64 }

// hold keeps the lease of a drive alive until it is dropped.
func (k *keeper) hold(d *Drive) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return
	}
	if k.held == nil {
		k.held = make(map[string]heldLease)
	}
	k.held[d.op.ID] = heldLease{d.op.Lease.Token, d.op.Lease.Until}
	if k.timer == nil {
		k.timer = time.AfterFunc(k.every(), k.beat)
	}
}

func (k *keeper) drop(d *Drive) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held[d.op.ID].token <= d.op.Lease.Token { // a greater one is another drive's
		delete(k.held, d.op.ID)
	}
}

// until is when the lease of a drive ends; 0 when it is lost.
func (k *keeper) until(d *Drive) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	held := k.held[d.op.ID]
	if held.token != d.op.Lease.Token { // it is another drive's by now
		return 0
	}
	return held.until
}

func (k *keeper) every() time.Duration { return k.ledger.lease / 3 }

// beat renews what has lived for a third of its lease.
func (k *keeper) beat() {
	k.mu.Lock()
	if k.stopped || len(k.held) == 0 {
		k.timer = nil
		k.mu.Unlock()
		return
	}
	k.beating.Add(1)
	now := k.ledger.store.Now()
	due := make(map[string]heldLease)
	for id, h := range k.held {
		if h.until-now <= (k.ledger.lease - k.every()).Milliseconds() {
			due[id] = h
		}
	}
	k.mu.Unlock()
	defer k.beating.Done()

	k.renew(due, now+k.ledger.lease.Milliseconds())

	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.stopped {
		k.timer.Reset(k.every())
	}
}

// renew moves the end of leases in one transaction. One that is lost is not kept
// any more; its drive learns that when it next writes. Should the database not
// answer, the next beat comes soon enough: two more fit into a lease.
func (k *keeper) renew(due map[string]heldLease, until int64) {
	if len(due) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), k.every())
	defer cancel()
	var lost []string
	err := k.ledger.store.Write(ctx, func(tx store.Tx) error {
		lost = lost[:0]
		for id, h := range due {
			switch err := tx.Renew(ctx, id, h.token, until); {
			case errors.Is(err, store.ErrLeaseLost):
				lost = append(lost, id)
			case err != nil:
				return err
			}
		}
		return nil
	})
	if err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, h := range due {
		if now, still := k.held[id]; still && now.token == h.token {
			k.held[id] = heldLease{h.token, max(now.until, until)}
		}
	}
	for _, id := range lost {
		if k.held[id].token == due[id].token {
			delete(k.held, id)
		}
	}
}

// stop ends the keeper and waits for a beat that is under way.
func (k *keeper) stop() {
	k.mu.Lock()
	k.stopped = true
	if k.timer != nil {
		k.timer.Stop()
	}
	k.mu.Unlock()
	k.beating.Wait()
}
