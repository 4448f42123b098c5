package retry

import "time"

// queue is two lines of callers, one for each priority. Only the first of all
// sleeps until its call may start; the others wait to be woken. So a moment that
// was right when it was computed wakes one caller, not all.
type queue struct {
	lines [2]line
}

// line is a doubly linked list: any waiter can leave, not only the first.
type line struct {
	head, tail *waiter
	len        int
}

type waiter struct {
	wake       chan struct{} // holds one signal
	planned    time.Duration // start of its call, as seen when it was last first in line
	line       *line
	prev, next *waiter
}

// ahead counts the callers that go before a new one of this priority.
func (q *queue) ahead(prio Priority) int {
	n := q.lines[Interactive].len
	if prio != Interactive {
		n += q.lines[Batch].len
	}
	return n
}

func (q *queue) join(prio Priority) *waiter {
	l := &q.lines[Interactive]
	if prio != Interactive {
		l = &q.lines[Batch]
	}
	w := &waiter{wake: make(chan struct{}, 1), line: l, prev: l.tail}
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.next = w
	}
	l.tail = w
	l.len++
	return w
}

func (q *queue) drop(w *waiter) {
	l := w.line
	if w.prev == nil {
		l.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	l.len--
}

func (q *queue) first() *waiter {
	if w := q.lines[Interactive].head; w != nil {
		return w
	}
	return q.lines[Batch].head
}

// wakeAll is for news that concern everybody.
func (q *queue) wakeAll() {
	for i := range q.lines {
		for w := q.lines[i].head; w != nil; w = w.next {
			w.signal()
		}
	}
}

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // a signal is waiting already, and one is enough
	}
}
