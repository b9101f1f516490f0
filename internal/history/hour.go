package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/internal/textfmt"
)

// perMinute has the minutes of an hour that are not empty, in order.
type perMinute[T any] []minuteOf[T]

type minuteOf[T any] struct {
	minute uint8
	of     T
}

const wholeHour = 60

func (p *perMinute[T]) at(minute uint8) *T {
	i, found := slices.BinarySearchFunc(*p, minute,
		func(m minuteOf[T], minute uint8) int { return cmp.Compare(m.minute, minute) })
	if !found {
		*p = slices.Insert(*p, i, minuteOf[T]{minute: minute})
	}
	return &(*p)[i].of
}

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

// within reports whether a minute of an hour ends after since. If minutes are not kept apart, the
// hour counts.
func within(hour int64, minute uint8, since time.Time) bool {
	end := time.Unix(hour*3600, 0).Add(time.Duration(min(minute, wholeHour-1)+1) * time.Minute)
	return end.After(since)
}

type hour struct {
	classes map[string]*tally
	cells   map[Key]*cell
}

type tally struct {
	minutes perMinute[Coverage]
	usual   usualRequest
}

// cell is what an hour has of a cause, one request at least.
type cell struct {
	minutes     perMinute[lost]
	first, last time.Time
	worst       Request
}

type lost struct {
	requests uint64
	time     time.Duration
}

func (l *lost) add(m lost) {
	addTo(&l.requests, m.requests)
	l.time = min(l.time+m.time, maxTime)
}

// addTo adds to a sum, which cannot overflow, whatever was read.
func addTo(sum *uint64, n uint64) { *sum = min(*sum+min(n, maxNumber), maxNumber) }

func (c *cell) requests() (n uint64) {
	for _, m := range c.minutes {
		n += m.of.requests
	}
	return n
}

// merge shares only the worst request's path with d. It does not change.
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

func (h *hour) tallyOf(class string) *tally {
	if h.classes[class] == nil && len(h.classes) >= maxClasses {
		class = Others
	}
	return entry(h.classes, class)
}

// entry returns the value of a key, which it makes if necessary.
func entry[K comparable, V any](m map[K]*V, k K) *V {
	if m[k] == nil {
		m[k] = new(V)
	}
	return m[k]
}

// fold merges the causes with the fewest requests. The cause that was added last stays, because
// otherwise a new cause could never grow.
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
		rest := Key{Cause: least.Cause, Function: Others, Class: Others, Services: least.Services}
		entry(h.cells, rest).merge(found)
	}
}

func (h *hour) foldAll(keys int) {
	h.fold(keys, Key{Function: Others, Class: Others})
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(h.classes)), func(name string) bool { return name == Others })
	for _, name := range names[min(maxClasses, len(names)):] {
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

func (h *hour) merge(g *hour) {
	for name, t := range g.classes {
		entry(h.classes, name).merge(t)
	}
	for k, c := range g.cells {
		entry(h.cells, k).merge(c)
	}
}

// Count is slow requests that a service counted, and why some are not explained.
type Count struct {
	Slow    uint64 `json:"slow,omitempty"` // all that took longer than the threshold
	Kept    uint64 `json:"kept,omitempty"`
	Limited uint64 `json:"limited,omitempty"`
	Off     uint64 `json:"off,omitempty"`    // nothing was recorded, to stay within the budget
	Failed  uint64 `json:"failed,omitempty"` // not written, not analysed, or too many
}

type Coverage struct {
	Count
	Seen uint64 `json:"seen,omitempty"`
	Cut  uint64 `json:"cut,omitempty"`
}

func (c *Coverage) add(d Coverage) {
	addTo(&c.Slow, d.Slow)
	addTo(&c.Kept, d.Kept)
	addTo(&c.Limited, d.Limited)
	addTo(&c.Off, d.Off)
	addTo(&c.Failed, d.Failed)
	addTo(&c.Seen, d.Seen)
	addTo(&c.Cut, d.Cut)
}

// String returns "seen 1,947 of 2,079 slow requests; not seen: 120 too soon after a snapshot". A
// trace may see more requests than the service's clock counted.
func (c Coverage) String() string {
	seen, slow := textfmt.Count(float64(c.Seen)), textfmt.Count(float64(c.Slow))
	t := fmt.Sprintf("seen %s of %s slow requests", seen, slow)
	if c.Seen > c.Slow {
		t = fmt.Sprintf("seen %s slow requests, of which the service's own clock counted %s", seen, slow)
	}
	// such as in a snapshot that is being analysed
	others := c.Slow - min(c.Slow, c.Seen+c.Cut+c.Kept+c.Limited+c.Off+c.Failed)
	var why []string
	for _, r := range []struct {
		n    uint64
		what string
	}{
		{c.Kept, "in snapshots that are not analysed"},
		{c.Limited, "too soon after a snapshot"},
		{c.Cut, "that began before their trace"},
		{c.Off, "while recording was off to stay within its budget"},
		{c.Failed, "in snapshots that failed"},
		{others, "others"},
	} {
		if r.n > 0 {
			why = append(why, textfmt.Count(float64(r.n))+" "+r.what)
		}
	}
	if len(why) == 0 {
		return t
	}
	return t + "; not seen: " + strings.Join(why, ", ")
}
