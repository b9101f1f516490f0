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

// within reports whether a minute of an hour ends after since.
func within(hour int64, minute uint8, since time.Time) bool {
	return time.Unix(hour*3600+60*(int64(minute)+1), 0).After(since)
}

type hour struct {
	classes map[string]*tally
	cells   map[Key]*cell
}

type tally struct {
	Minutes map[uint8]*Coverage `json:"minutes,omitempty"`
	Usual   usualRequest        `json:"usual,omitzero"`
}

// cell is what an hour has of a cause, one request at least.
type cell struct {
	Minutes map[uint8]*lost `json:"minutes"`
	First   time.Time       `json:"first"`
	Last    time.Time       `json:"last"`
	Worst   Request         `json:"worst"`
}

type lost struct {
	Requests uint64        `json:"requests"`
	Time     time.Duration `json:"lost_ns"`
}

func (l *lost) add(m lost) {
	addTo(&l.Requests, m.Requests)
	l.Time = min(l.Time+boundedTime(m.Time), maxTime)
}

// addTo adds to a sum, which cannot overflow, whatever was read.
func addTo(sum *uint64, n uint64) { *sum = min(*sum+min(n, maxNumber), maxNumber) }

func (c *cell) requests() (n uint64) {
	for _, m := range c.Minutes {
		n += m.Requests
	}
	return n
}

func (c *cell) merge(d *cell) {
	for minute, m := range d.Minutes {
		entry(&c.Minutes, minute).add(*m)
	}
	c.First, c.Last = earlier(c.First, d.First), later(c.Last, d.Last)
	if compareWorst(&d.Worst, &c.Worst) < 0 {
		c.Worst = d.Worst
	}
}

func (t *tally) merge(u *tally) {
	for minute, m := range u.Minutes {
		entry(&t.Minutes, minute).add(*m)
	}
	t.Usual.add(u.Usual)
}

// earlier takes a zero time for one that is not known.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

func (h *hour) tallyOf(class string) *tally {
	if h.classes[class] == nil && len(h.classes) >= maxClasses {
		class = Others
	}
	return entry(&h.classes, class)
}

// entry returns the value of a key. It makes the value and the map if necessary.
func entry[K comparable, V any](m *map[K]*V, k K) *V {
	if *m == nil {
		*m = map[K]*V{}
	}
	if (*m)[k] == nil {
		(*m)[k] = new(V)
	}
	return (*m)[k]
}

// fold merges the causes with the fewest requests. The cause that was added last stays, because
// otherwise a new cause could never grow.
func (h *hour) fold(added Key) {
	for len(h.cells) > maxKeys {
		keys := slices.DeleteFunc(slices.Collect(maps.Keys(h.cells)), func(k Key) bool {
			return k.Function == Others && k.Class == Others || k == added
		})
		if len(keys) == 0 {
			return
		}
		least := slices.MinFunc(keys, func(a, b Key) int {
			x, y := h.cells[a], h.cells[b]
			return cmp.Or(cmp.Compare(x.requests(), y.requests()), x.Last.Compare(y.Last), compareKeys(a, b))
		})
		rest := Key{Cause: least.Cause, Function: Others, Class: Others, Services: least.Services}
		entry(&h.cells, rest).merge(h.cells[least])
		delete(h.cells, least)
	}
}

func (h *hour) foldAll() {
	h.fold(Key{Function: Others, Class: Others})
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(h.classes)), func(name string) bool { return name == Others })
	for _, name := range names[min(maxClasses, len(names)):] {
		t := h.classes[name]
		delete(h.classes, name)
		h.tallyOf(Others).merge(t)
	}
}

func (h *hour) merge(g *hour) {
	for name, t := range g.classes {
		entry(&h.classes, name).merge(t)
	}
	for k, c := range g.cells {
		entry(&h.cells, k).merge(c)
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
