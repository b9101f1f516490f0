package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"evenkeel.dev/reqtrace"
)

const (
	maxClasses  = 64  // in a trace and in an hour
	sampleSize  = 512 // requests of a class that a trace keeps
	usualLeast  = 20  // without these a trace knows no usual request of a class
	usualLow    = .45 // quantiles of the usual requests, as in [reqtrace.Report].Median
	usualHigh   = .55
	usualEnough = 200 // requests of a class: older hours do not matter
)

// Usual is what the usual requests of each class took.
type Usual map[string]usualRequest

// usualRequest is the sum of some requests of a class around the median, without times in which
// the machine stood still.
type usualRequest struct {
	Requests uint64         `json:"requests"`
	Parts    reqtrace.Parts `json:"parts_ns"`
}

// UnmarshalJSON reads the time of an unknown cause as [reqtrace.CauseUnknown].
func (u *usualRequest) UnmarshalJSON(b []byte) error {
	var j struct {
		Requests uint64                   `json:"requests"`
		Parts    map[string]time.Duration `json:"parts_ns"`
	}
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*u = usualRequest{Requests: j.Requests}
	for name, d := range j.Parts {
		u.Parts.Add(causeOf(name), d)
	}
	return nil
}

func causeOf(name string) reqtrace.Cause {
	c, err := reqtrace.ParseCause(name)
	if err != nil {
		return reqtrace.CauseUnknown
	}
	return c
}

func (u *usualRequest) add(v usualRequest) {
	v.Requests += u.Requests
	v.Parts.AddAll(u.Parts)
	if v.check() == nil {
		*u = v
	}
}

func (u *usualRequest) check() error {
	if u.Requests == 0 || u.Requests > maxNumber {
		return fmt.Errorf("%d usual requests", u.Requests)
	}
	for c, d := range u.Parts.All() {
		if d < 0 || d > maxTime {
			return fmt.Errorf("%s took %d ns of its usual requests", c, d)
		}
	}
	return nil
}

func (u *usualRequest) mean() (p reqtrace.Parts) {
	for c, d := range u.Parts.All() {
		p.Add(c, d/time.Duration(u.Requests))
	}
	return p
}

// sample is requests of a class, each kept with the same chance.
type sample struct {
	seen   int
	kept   []sampled
	random *rand.Rand
}

type sampled struct {
	own   time.Duration // without the time in which the machine stood still
	parts reqtrace.Parts
}

func (x *explainer) sampleOf(class string) *sample {
	c := x.classes[class]
	if c == nil && len(x.classes) >= maxClasses {
		class = Others
		c = x.classes[class]
	}
	if c == nil {
		c = &sample{random: rand.New(rand.NewPCG(1, 2))} // the same trace says the same
		x.classes[class] = c
	}
	return c
}

func (s *sample) add(q *reqtrace.Request) {
	s.seen++
	at := len(s.kept)
	if at == sampleSize {
		if at = s.random.IntN(s.seen); at >= sampleSize {
			return
		}
	} else {
		s.kept = append(s.kept, sampled{})
	}
	still := q.Parts.Of(reqtrace.CauseMachine)
	p := joined(q.Parts)
	p.Add(reqtrace.CauseMachine, -still)
	s.kept[at] = sampled{q.Duration() - still, p}
}

// usual returns the sum of the usual requests. ok is false if they are too few, or slow.
func (s *sample) usual(threshold time.Duration) (u usualRequest, ok bool) {
	n := len(s.kept)
	if n < usualLeast {
		return u, false
	}
	slices.SortFunc(s.kept, func(a, b sampled) int { return cmp.Compare(a.own, b.own) })
	if s.kept[n/2].own > threshold {
		return u, false
	}
	for _, k := range s.kept[int(usualLow*float64(n)):int(usualHigh*float64(n))] {
		u.add(usualRequest{1, k.parts})
	}
	return u, true
}
