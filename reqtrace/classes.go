package reqtrace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// NoClass is what Options.Class names the requests by that have none.
const NoClass = "-"

// maxClasses is how many classes a report lists; what is beyond is one, [OtherClasses].
const maxClasses = 64

// OtherClasses is the name of all classes together that have no row of their own in a list.
const OtherClasses = "(others)"

// Class is requests of one kind: of a route, a handler, a worker. [Request.Class] says what its name is.
type Class struct {
	Name     string `json:"name"` // "": no stack of these requests was seen in their handler
	Requests int    `json:"requests"`
	Quantiles
	Slow  int   `json:"slow"` // those among the slowest 1% (p99+) of all requests
	Total Parts `json:"total_ns"`
}

// classes says which classes are asked for, and adds up what all of them took.
type classes struct {
	pattern string // Options.Class
	sites   *sites
	known   map[siteID]bool
	total   map[siteID]*Parts
}

func newClasses(pattern string, s *sites) *classes {
	return &classes{pattern: pattern, sites: s, known: map[siteID]bool{}, total: map[siteID]*Parts{}}
}

// wants reports whether requests of a class are asked for.
func (c *classes) wants(id siteID) bool {
	if c.pattern == "" {
		return true
	}
	wanted, ok := c.known[id]
	if !ok {
		name := c.sites.name(id)
		wanted = name != "" && matches(c.pattern, name) || name == "" && c.pattern == NoClass
		c.known[id] = wanted
	}
	return wanted
}

// add adds a request.
func (c *classes) add(id siteID, p *Parts) {
	t := c.total[id]
	if t == nil {
		t = &Parts{}
		c.total[id] = t
	}
	t.AddAll(*p)
}

// list returns the classes of requests that are in order of their times: those with most requests among the slowest
// first, and then those with most requests.
func (c *classes) list(requests []record) []Class {
	slow := min(int(.99*float64(len(requests))), len(requests)-1)
	times, late := map[siteID][]int64{}, map[siteID]int{}
	for i, r := range requests {
		times[r.class] = append(times[r.class], r.time)
		if i >= slow {
			late[r.class]++
		}
	}
	ids := make([]siteID, 0, len(times))
	for id := range times {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b siteID) int {
		return cmp.Or(cmp.Compare(late[b], late[a]), cmp.Compare(len(times[b]), len(times[a])), cmp.Compare(c.sites.name(a), c.sites.name(b)))
	})
	list := make([]Class, 0, min(len(ids), maxClasses))
	for _, id := range ids[:min(len(ids), maxClasses-1)] {
		list = append(list, Class{Name: c.sites.name(id), Requests: len(times[id]), Quantiles: quantiles(times[id]), Slow: late[id], Total: *c.total[id]})
	}
	if rest := ids[len(list):]; len(rest) > 0 {
		others, all := Class{Name: OtherClasses}, []int64{}
		for _, id := range rest {
			all = append(all, times[id]...)
			others.Slow += late[id]
			others.Total.AddAll(*c.total[id])
		}
		slices.Sort(all)
		others.Requests, others.Quantiles = len(all), quantiles(all)
		list = append(list, others)
	}
	return list
}

// classError is the error of Options.Class where no request is of such a class.
func classError(pattern string, list []Class) error {
	var names []string
	for _, c := range list {
		names = append(names, fmt.Sprintf("%q (%d)", cmp.Or(c.Name, NoClass), c.Requests))
	}
	return &OptionError{"Class", fmt.Sprintf("no request is of class %q; write one of %s, or a pattern of path.Match", pattern, strings.Join(names, ", "))}
}
