package reqtrace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// Parts is a time by its causes. Two Parts with the same times are equal by ==. In JSON it is an
// object of nanoseconds by the names of the causes that have a time:
// {"running":2000000,"lock":4000000}.
type Parts struct {
	ns [numCauses]time.Duration // unexported, so that another cause does not change the type
}

// PartsOf returns Parts with these times.
func PartsOf(times map[Cause]time.Duration) (p Parts) {
	for c, d := range times {
		p.Add(c, d)
	}
	return p
}

// Of returns the time of one cause.
func (p Parts) Of(c Cause) time.Duration {
	if c >= numCauses {
		return 0
	}
	return p.ns[c]
}

// Share returns which part of the total is c's, from 0 to 1. It is 0 if there is no time.
func (p Parts) Share(c Cause) float64 {
	if total := p.Total(); total > 0 {
		return float64(p.Of(c)) / float64(total)
	}
	return 0
}

// All yields the causes that have a time, in the order of their numbers.
func (p Parts) All() iter.Seq2[Cause, time.Duration] {
	return func(yield func(Cause, time.Duration) bool) {
		for c, d := range p.ns {
			if d != 0 && !yield(Cause(c), d) {
				return
			}
		}
	}
}

// Total returns the sum of p.
func (p Parts) Total() (sum time.Duration) {
	for _, d := range p.ns {
		sum += d
	}
	return sum
}

// Add adds d to the time of c. A cause of another build counts as CauseUnknown.
func (p *Parts) Add(c Cause, d time.Duration) {
	if c >= numCauses {
		c = CauseUnknown
	}
	p.ns[c] += d
}

// AddAll adds all of q.
func (p *Parts) AddAll(q Parts) {
	for c, d := range q.ns {
		p.ns[c] += d
	}
}

// String lists the causes, the largest first: "lock 4ms, running 2ms".
func (p Parts) String() string {
	type part struct {
		c Cause
		d time.Duration
	}
	var parts []part
	for c, d := range p.All() {
		parts = append(parts, part{c, d})
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.d, a.d) })
	var list []string
	for _, q := range parts {
		list = append(list, fmt.Sprintf("%v %v", q.c, q.d))
	}
	if len(list) == 0 {
		return "no time"
	}
	return strings.Join(list, ", ")
}

// MarshalJSON writes the causes that have a time.
func (p Parts) MarshalJSON() ([]byte, error) {
	times := map[Cause]time.Duration{}
	for c, d := range p.All() {
		times[c] = d
	}
	return json.Marshal(times)
}

// UnmarshalJSON reads what MarshalJSON wrote. An unknown cause is an error.
func (p *Parts) UnmarshalJSON(b []byte) error {
	var times map[Cause]time.Duration
	if err := json.Unmarshal(b, &times); err != nil {
		return err
	}
	*p = PartsOf(times)
	return nil
}

func dur(ns int64) time.Duration { return time.Duration(ns) }
