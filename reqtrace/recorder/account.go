package recorder

import (
	"math"
	"time"
)

// The account counts CPU time, never elapsed time. The clock of the thread measures snapshots and
// analyses. A model estimates tracing, by second, goroutine and event. The bytes of a snapshot give
// the events per request. The recorder measures an event when it starts, and later corrects the
// model ([pairs]).
const (
	eventBytes    = 5.5
	listedBytes   = 17                      // of a trace, for a goroutine that did nothing
	goroutineCost = time.Microsecond        // each second lists all goroutines
	secondCost    = 2500 * time.Microsecond // of tracing
	snapshotCost  = 300 * time.Microsecond
	requestBytes  = 100
	analysisCost  = 40. // ns per byte, until it is measured

	enoughRequests = 50 // to attribute all bytes to requests
)

// account is the CPU time that budget.go may spend. The process's CPU time earns a share, and the
// recorder spends its own. It belongs to the recorder's goroutine.
type account struct {
	share      float64
	credit     time.Duration
	rate       float64       // ns per second, smoothed
	cost       Cost          // without Within and Budget
	most       time.Duration // that the process has taken
	earned     time.Duration
	event      time.Duration
	watching   time.Duration // per second, for watching the CPU quota
	pairs      pairs
	perRequest float64
	others     float64 // bytes per second, if there were too few requests
	perByte    float64 // ns of an analysis
}

const (
	idleBusy       = .25 // of a processor: the least that a process earns by
	accountSeconds = 60. // of earnings, which the account holds
	fullShare      = .9  // of that, at which a longer slice begins too
	sliceMost      = time.Minute
	measureTime    = time.Second
	measureAgain   = 5 * time.Second
	measureEach    = time.Minute
)

func (a *account) earn(taken, passed time.Duration) {
	if passed <= 0 {
		return
	}
	a.most += taken
	earned := a.share * max(float64(taken), idleBusy*float64(passed))
	a.earned += time.Duration(earned)
	a.credit += time.Duration(earned)
	const smooth = .1
	rate := earned / passed.Seconds()
	if a.rate == 0 {
		a.rate = rate
	}
	a.rate += smooth * (rate - a.rate)
	a.credit = min(a.credit, time.Duration(accountSeconds*a.rate))
}

func listed(goroutines int) float64 { return listedBytes * float64(goroutines) }

// measured counts bytes per request, or per second if there were too few requests.
func (a *account) measured(bytes float64, requests uint64, passed time.Duration) {
	switch {
	case requests >= enoughRequests:
		a.perRequest, a.others = bytes/float64(requests), 0
	case passed > 0:
		a.others = bytes / passed.Seconds()
	}
}

func (a *account) bytes(requests uint64, passed time.Duration) float64 {
	return a.perRequest*float64(requests) + a.others*passed.Seconds()
}

func (a *account) model(requests uint64, goroutines int, passed time.Duration) time.Duration {
	events := a.bytes(requests, passed) / eventBytes
	second := secondCost + a.watching + time.Duration(goroutines)*goroutineCost
	return time.Duration(events*float64(a.event)) + time.Duration(passed.Seconds()*float64(second))
}

// tracing returns what tracing takes in a time. Without a measurement it is not less than the
// model.
func (a *account) tracing(requests uint64, goroutines int, passed time.Duration) time.Duration {
	ratio, _, known := a.pairs.ratio()
	if !known {
		ratio = max(ratio, 1)
	}
	return time.Duration(ratio * float64(a.model(requests, goroutines, passed)))
}

// traced, snapshot and analyzed spend no more than the process has taken in total.
func (a *account) traced(d time.Duration)   { a.spend(&a.cost.Tracing, d) }
func (a *account) snapshot(d time.Duration) { a.spend(&a.cost.Snapshots, d+snapshotCost) }
func (a *account) analyzed(d time.Duration) { a.spend(&a.cost.Analysis, d) }

func (a *account) spend(of *time.Duration, d time.Duration) {
	if a.most > 0 {
		d = min(d, max(a.most-a.cost.total(), 0))
	}
	*of += d
	a.credit -= d
}

func (a *account) learn(bytes int64, took time.Duration) {
	const least, smooth = 1 << 10, .3 // a smaller snapshot says little
	if bytes < least {
		return
	}
	a.perByte += smooth * (float64(took)/float64(bytes) - a.perByte)
}

func (a *account) ending(bytes float64) time.Duration {
	const fixed, written = time.Millisecond, .5
	return fixed + snapshotCost + time.Duration(bytes*written+min(bytes, maxAnalyzed)*a.perByte)
}

func (a *account) unbounded() bool { return a.share >= 1 }

func (a *account) over(ending time.Duration) bool { return a.credit < ending && !a.unbounded() }

func (a *account) enough(slice time.Duration) bool { return a.full() || a.credit >= slice }

// full reports whether the account loses what is not spent now.
func (a *account) full() bool {
	return a.unbounded() || a.credit >= time.Duration(fullShare*accountSeconds*a.rate)
}

// pairs measures what tracing takes. It compares the process's CPU time per request while the
// recorder is on with that just before or after, while it is off.
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

type part struct {
	on       bool
	cpu      time.Duration
	model    time.Duration // of tracing
	requests uint64
	passed   time.Duration
}

const (
	pairLeast    = 4 * time.Second
	pairRequests = 100
	pairsEnough  = 12
	pairsWithin  = .5 // of the model: half the widest interval that is used
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

// ratio returns what tracing takes divided by the model, ± at 95% confidence, and whether that is
// close enough.
func (p *pairs) ratio() (ratio, within float64, known bool) {
	if p.n < 2 || p.model <= 0 {
		return 0, math.Inf(1), false
	}
	within = 1.96 * math.Sqrt(p.m2/(p.n-1)/p.n) / p.model
	return min(max(p.mean/p.model, .2), 10), within, p.n >= pairsEnough && within <= pairsWithin
}
