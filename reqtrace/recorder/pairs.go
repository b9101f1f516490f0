package recorder

import (
	"math"
	"time"
)

// pairs measures what tracing takes in place. It compares the process's CPU time per request
// while the recorder is on with that just before or after, while it is off.
//
//	off          on           off          on
//	cpu/request  cpu/request  cpu/request  cpu/request     each neighbour differs by tracing and by chance
//	└──── pair ────┘            └──── pair ────┘
type pairs struct {
	now, last part
	n         float64
	mean, m2  float64 // of the differences in ns per request, by Welford's method (Technometrics 4, 1962)
	model     float64
}

// part is a time during which the recorder was on or off.
type part struct {
	on       bool
	cpu      time.Duration
	model    time.Duration // of tracing, by the model
	requests uint64
	passed   time.Duration
}

const (
	pairLeast    = 4 * time.Second
	pairRequests = 100
	pairsEnough  = 12
	pairsWithin  = .5 // of the model: greatest half-width of an interval that is used
)

func (p *pairs) add(t part) {
	if t.on != p.now.on {
		p.end(t.on)
	}
	p.now.cpu += t.cpu
	p.now.model += t.model
	p.now.requests += t.requests
	p.now.passed += t.passed
}

func (p *pairs) end(on bool) {
	done := p.now
	p.now = part{on: on}
	if done.passed < pairLeast || done.requests < pairRequests {
		done = part{}
	}
	if done.requests == 0 || p.last.requests == 0 {
		p.last = done
		return
	}
	with, without := done, p.last
	if !with.on {
		with, without = without, with
	}
	p.last = part{} // each part belongs to one pair
	d := float64(with.cpu)/float64(with.requests) - float64(without.cpu)/float64(without.requests)
	p.n++
	before := d - p.mean
	p.mean += before / p.n
	p.m2 += before * (d - p.mean)
	p.model += (float64(with.model)/float64(with.requests) - p.model) / p.n
}

// ratio returns what tracing takes divided by what the model says, with its ± at 95% confidence,
// and whether that is close enough to be used.
func (p *pairs) ratio() (ratio, within float64, known bool) {
	if p.n < 2 || p.model <= 0 {
		return 0, math.Inf(1), false
	}
	within = 1.96 * math.Sqrt(p.m2/(p.n-1)/p.n) / p.model
	return min(max(p.mean/p.model, .2), 10), within, p.n >= pairsEnough && within <= pairsWithin
}
