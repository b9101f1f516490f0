package history

import (
	"cmp"
	"slices"
	"time"
)

// perMinute is something of each minute of an hour in which there was something, in order.
type perMinute[T any] []minuteOf[T]

type minuteOf[T any] struct {
	minute uint8 // 0 to 59, or wholeHour
	of     T
}

// wholeHour is the minute of what is no longer told apart by minutes.
const wholeHour = 60

// at returns that of a minute, a new one where there is none.
func (p *perMinute[T]) at(minute uint8) *T {
	i, found := slices.BinarySearchFunc(*p, minute,
		func(m minuteOf[T], minute uint8) int { return cmp.Compare(m.minute, minute) })
	if !found {
		*p = slices.Insert(*p, i, minuteOf[T]{minute: minute})
	}
	return &(*p)[i].of
}

// coarsen puts all minutes together.
func (p *perMinute[T]) coarsen(add func(to *T, m T)) {
	if len(*p) == 0 || len(*p) == 1 && (*p)[0].minute == wholeHour {
		return
	}
	var sum T
	for _, m := range *p {
		add(&sum, m.of)
	}
	*p = perMinute[T]{{wholeHour, sum}}
}

// within reports whether a minute of an hour is not over at since; of what is told by the hour,
// whether the hour is not.
func within(hour int64, minute uint8, since time.Time) bool {
	end := time.Unix(hour*3600, 0).Add(time.Duration(min(minute, wholeHour-1)+1) * time.Minute)
	return end.After(since)
}

// hour is what an hour of the wall clock has.
type hour struct {
	classes map[string]*tally
	cells   map[Key]*cell
}

// tally is what an hour has of a class.
type tally struct {
	minutes perMinute[Coverage]
	usual   usualRequest
}

// cell is what an hour has of a cause. It has one request at least.
type cell struct {
	minutes     perMinute[lost]
	first, last time.Time // starts of requests
	worst       Request
}

// lost is requests of a cause, and what it took of them.
type lost struct {
	requests uint64
	time     time.Duration
}

func (l *lost) add(m lost) {
	addTo(&l.requests, m.requests)
	l.time = min(l.time+m.time, maxTime)
}

// addTo adds to a sum, which stays where no service gets to: so it cannot overflow, whatever was read.
func addTo(sum *uint64, n uint64) { *sum = min(*sum+min(n, maxNumber), maxNumber) }

func (c *cell) requests() (n uint64) {
	for _, m := range c.minutes {
		n += m.of.requests
	}
	return n
}

// merge adds d, and shares nothing with it but the worst request's path, which nobody changes.
func (c *cell) merge(d *cell) {
	if len(c.minutes) == 0 {
		c.first, c.last, c.worst = d.first, d.last, d.worst
	}
	for _, m := range d.minutes {
		c.minutes.at(m.minute).add(m.of)
	}
	c.first, c.last = earlier(c.first, d.first), later(c.last, d.last)
	if compareWorst(&d.worst, &c.worst) < 0 {
		c.worst = d.worst
	}
}

func (t *tally) merge(u *tally) {
	for _, m := range u.minutes {
		t.minutes.at(m.minute).add(m.of)
	}
	t.usual.add(u.usual)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func newHour() *hour { return &hour{map[string]*tally{}, map[Key]*cell{}} }

// tallyOf returns that of a class; of more than maxClasses the rest are one.
func (h *hour) tallyOf(class string) *tally {
	t := h.classes[class]
	if t == nil && len(h.classes) >= maxClasses {
		class = Others
		t = h.classes[class]
	}
	if t == nil {
		t = &tally{}
		h.classes[class] = t
	}
	return t
}

// cellOf returns that of a cause.
func (h *hour) cellOf(k Key) *cell {
	c := h.cells[k]
	if c == nil {
		c = &cell{}
		h.cells[k] = c
	}
	return c
}

// fold has at most so many causes: those with the fewest requests go together, by cause, and of
// equal ones those that were last seen longest ago. Which one was added last stays, or a new cause
// would never be one of many.
func (h *hour) fold(keys int, added Key) {
	for len(h.cells) > keys {
		var least Key
		var found *cell
		for k, c := range h.cells {
			if k.Function == Others && k.Class == Others || k == added {
				continue
			}
			if found == nil || cmp.Or(cmp.Compare(c.requests(), found.requests()), c.last.Compare(found.last),
				compareKeys(k, least)) < 0 {
				least, found = k, c
			}
		}
		if found == nil {
			return
		}
		delete(h.cells, least)
		h.cellOf(Key{Cause: least.Cause, Function: Others, Class: Others}).merge(found)
	}
}

// foldAll is fold without one that was added last, and so of classes.
func (h *hour) foldAll(keys int) {
	h.fold(keys, Key{Function: Others, Class: Others})
	names := make([]string, 0, len(h.classes))
	for name := range h.classes {
		if name != Others {
			names = append(names, name)
		}
	}
	if len(names) <= maxClasses {
		return
	}
	slices.Sort(names)
	for _, name := range names[maxClasses:] {
		t := h.classes[name]
		delete(h.classes, name)
		h.tallyOf(Others).merge(t)
	}
}

func (h *hour) coarsen() {
	for _, c := range h.cells {
		c.minutes.coarsen((*lost).add)
	}
	for _, t := range h.classes {
		t.minutes.coarsen((*Coverage).add)
	}
}

// merge adds g, and shares nothing with it.
func (h *hour) merge(g *hour) {
	for name, t := range g.classes {
		if h.classes[name] == nil {
			h.classes[name] = &tally{}
		}
		h.classes[name].merge(t)
	}
	for k, c := range g.cells {
		h.cellOf(k).merge(c)
	}
}
