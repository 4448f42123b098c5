package ledger

import "slices"

// Notify makes the workers of this process look for work at once. A program
// calls it after it has committed a transaction of its own in which operations
// were recorded; without it they are found a little later.
func (l *Ledger) Notify() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, bell := range l.bells {
		select {
		case bell <- struct{}{}:
		default: // it has been rung and not been heard yet
		}
	}
}

// listen returns a channel that Notify sends to, and what ends that.
func (l *Ledger) listen() (bell <-chan struct{}, leave func()) {
	c := make(chan struct{}, 1)
	l.mu.Lock()
	l.bells = append(l.bells, c)
	l.mu.Unlock()
	return c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.bells = slices.DeleteFunc(l.bells, func(b chan<- struct{}) bool { return b == c })
	}
}
