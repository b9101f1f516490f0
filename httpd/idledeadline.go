package httpd

import (
	"iter"
	"time"
)

const (
	tick  = 100 * time.Millisecond // the most that a parked connection's timeout may be late
	ticks = 1024
)

// list has the connections in the order in which they were parked.
type list struct{ head, tail *conn }

func (l *list) push(c *conn) {
	c.before, c.behind = l.tail, nil
	if l.tail == nil {
		l.head = c
	} else {
		l.tail.behind = c
	}
	l.tail = c
}

func (l *list) remove(c *conn) {
	if c.before == nil {
		l.head = c.behind
	} else {
		c.before.behind = c.behind
	}
	if c.behind == nil {
		l.tail = c.before
	} else {
		c.behind.before = c.before
	}
	c.before, c.behind = nil, nil
}

// all yields the connections, which the caller may remove.
func (l *list) all() iter.Seq[*conn] {
	return func(yield func(*conn) bool) {
		for c := l.head; c != nil; {
			behind := c.behind
			if !yield(c) {
				return
			}
			c = behind
		}
	}
}

// wheel has the parked connections by their deadlines (a hashed timing wheel). Each list has those
// of one tick of every turn. Parking takes constant time, and the expired ones are in a few lists.
type wheel struct {
	lists [ticks + 1]list // the last one has those without a deadline
	n     int
	swept time.Duration // ticks before this one are over
}

func (w *wheel) list(c *conn) *list {
	if c.until == 0 {
		return &w.lists[ticks]
	}
	return &w.lists[c.until/tick%ticks]
}

func (w *wheel) all() iter.Seq[*conn] {
	return func(yield func(*conn) bool) {
		for i := range w.lists {
			for c := range w.lists[i].all() {
				if !yield(c) {
					return
				}
			}
		}
	}
}

func (w *wheel) over(now time.Duration) iter.Seq[*conn] {
	return func(yield func(*conn) bool) {
		from := max(w.swept, now/tick-ticks)
		w.swept = now / tick
		for ; from < now/tick; from++ {
			for c := range w.lists[from%ticks].all() {
				if c.until <= now && !yield(c) {
					return
				}
			}
		}
	}
}

// next returns when to look again, or 0 without a deadline.
func (w *wheel) next() time.Duration {
	for i := w.swept; i < w.swept+ticks; i++ {
		if w.lists[i%ticks].head != nil {
			return (i + 1) * tick
		}
	}
	return 0
}
