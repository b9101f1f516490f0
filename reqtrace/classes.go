package reqtrace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"evenkeel.dev"
)

// noClass stands for requests without a class in Options.Class.
const noClass = "-"

const maxClasses = 64

// OtherClasses stands for all classes that have no row of their own.
const OtherClasses = "(others)"

// Class is requests of one kind, such as those of a route.
type Class struct {
	Name     string `json:"name"` // as in [Request].Class
	Requests int    `json:"requests"`

	P50  time.Duration `json:"p50_ns"`
	P90  time.Duration `json:"p90_ns"`
	P99  time.Duration `json:"p99_ns"`
	P999 time.Duration `json:"p999_ns"`
	Tail time.Duration `json:"p99+_mean_ns"` // from P99 up

	Slow  int   `json:"slow"` // in the slowest 1% of all requests
	Total Parts `json:"total_ns"`
}

func (c *Class) quantiles(times []int64) {
	at := func(q float64) int { return min(int(q*float64(len(times))), len(times)-1) }
	c.P50, c.P90, c.P99, c.P999 = dur(times[at(.5)]), dur(times[at(.9)]), dur(times[at(.99)]), dur(times[at(.999)])
	var sum float64
	tail := times[at(.99):]
	for _, t := range tail {
		sum += float64(t)
	}
	c.Tail = dur(int64(sum / float64(len(tail))))
}

type classes struct {
	pattern string
	sites   *sites
	known   map[siteID]bool
	total   map[siteID]*Parts
}

func newClasses(pattern string, s *sites) *classes {
	return &classes{pattern: pattern, sites: s, known: map[siteID]bool{}, total: map[siteID]*Parts{}}
}

func (c *classes) wants(id siteID) bool {
	if c.pattern == "" {
		return true
	}
	wanted, ok := c.known[id]
	if !ok {
		name := c.sites.name(id)
		wanted = name != "" && matches(c.pattern, name) || name == "" && c.pattern == noClass
		c.known[id] = wanted
	}
	return wanted
}

func (c *classes) add(id siteID, p *Parts) {
	t := c.total[id]
	if t == nil {
		t = &Parts{}
		c.total[id] = t
	}
	t.AddAll(*p)
}

func (c *classes) asked() (total Parts) {
	for id, p := range c.total {
		if c.wants(id) {
			total.AddAll(*p)
		}
	}
	return total
}

// list returns the classes with most of the slowest requests first. requests are in order of time.
func (c *classes) list(requests []record) []Class {
	slow := max(min(int(.99*float64(len(requests))), len(requests)-1), 0)
	count, late := c.sites.countClasses(requests), c.sites.countClasses(requests[slow:])
	var ids []siteID
	for id, n := range count {
		if n > 0 {
			ids = append(ids, siteID(id))
		}
	}
	slices.SortFunc(ids, func(a, b siteID) int {
		return cmp.Or(cmp.Compare(late[b], late[a]), cmp.Compare(count[b], count[a]),
			cmp.Compare(c.sites.name(a), c.sites.name(b)))
	})
	list := make([]Class, 0, min(len(ids), maxClasses))
	rowOf := make([]uint8, len(count))
	for i, id := range ids {
		switch {
		case i < maxClasses-1:
			list = append(list, Class{Name: c.sites.name(id)})
		case i == maxClasses-1:
			list = append(list, Class{Name: OtherClasses})
		}
		last := &list[len(list)-1]
		last.Requests, last.Slow = last.Requests+count[id], last.Slow+late[id]
		last.Total.AddAll(*c.total[id])
		rowOf[id] = uint8(len(list) - 1)
	}
	times := make([][]int64, len(list))
	for i := range requests {
		row := rowOf[requests[i].class]
		times[row] = append(times[row], requests[i].time)
	}
	for i := range list {
		list[i].quantiles(times[i])
	}
	return list
}

func (s *sites) countClasses(requests []record) []int {
	count := make([]int, len(s.places))
	for i := range requests {
		count[requests[i].class]++
	}
	return count
}

func classError(pattern string, list []Class) error {
	var names []string
	for _, c := range list {
		names = append(names, fmt.Sprintf("%q (%d)", cmp.Or(c.Name, noClass), c.Requests))
	}
	return evenkeel.NewOptionError("reqtrace.Options", "Class",
		"no request is of class %q; write one of %s, or a pattern of path.Match",
		pattern, strings.Join(names, ", "))
}
