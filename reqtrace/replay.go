package reqtrace

import (
	"cmp"
	"slices"
	"time"
)

// WhatIf is what the requests would have taken without the collector: a replay of what they did
// on the same processors, first come first served, without assists, sweeping, mark workers and
// stops of the world. The same replay with them shows how far the model can be trusted.
//
// A look at the network that the collector has held up finds many requests at once. They came at
// any time since the look before: the replay without the collector spreads them evenly.
//
// The model knows processors and their queue. It does not know what else changes without a
// collector: more memory, more page faults, colder caches, no write barriers; and a lock that is
// held for a shorter time is waited for as long as before, less the collector's part of it.
type WhatIf struct {
	Actual     Quantiles     `json:"actual"`
	Replayed   Quantiles     `json:"replayed"`         // with the collector
	WithoutGC  Quantiles     `json:"without_gc"`       // replayed without it
	ModelError float64       `json:"model_error"`      // of the 99th percentile: Replayed / Actual - 1
	Forecast   time.Duration `json:"forecast_p99_ns"`  // the 99th percentile without the collector: WithoutGC, put right by ModelError
	Low        time.Duration `json:"forecast_low_ns"`  // the forecast's interval: blocks of time drawn again (95%),
	High       time.Duration `json:"forecast_high_ns"` // and the replay's own error, at least a half, to both sides
	TailShare  float64       `json:"tail_share"`       // the collector's part of what p99+ takes more than the median, 0 to 1
	TailLow    float64       `json:"tail_share_low"`   // its interval: blocks of time drawn again, of the replay
	TailHigh   float64       `json:"tail_share_high"`  // and of what was measured
}

// Quantiles of the requests' times, and the mean of those from the 99th percentile up.
type Quantiles struct {
	P50  time.Duration `json:"p50_ns"`
	P90  time.Duration `json:"p90_ns"`
	P99  time.Duration `json:"p99_ns"`
	P999 time.Duration `json:"p999_ns"`
	Tail time.Duration `json:"p99+_mean_ns"`
}

// ranked takes the quantiles of times, which come in order.
type ranked struct {
	at   [4]int // where the quantiles stand
	seen int
	q    [4]int64
	sum  float64 // from the 99th percentile up
}

// newRanked returns one for n times.
func newRanked(n int) (r ranked) {
	for i, p := range [...]float64{.5, .9, .99, .999} {
		r.at[i] = min(int(p*float64(n)), n-1)
	}
	return r
}

func (r *ranked) add(ns int64) {
	if r.seen >= r.at[0] {
		for i, at := range r.at {
			if at == r.seen {
				r.q[i] = ns
			}
		}
		if r.seen >= r.at[2] {
			r.sum += float64(ns)
		}
	}
	r.seen++
}

// quantiles returns those of all that was added.
func (r *ranked) quantiles() Quantiles {
	if r.seen == 0 {
		return Quantiles{}
	}
	return Quantiles{dur(r.q[0]), dur(r.q[1]), dur(r.q[2]), dur(r.q[3]), dur(int64(r.sum / float64(r.seen-r.at[2])))}
}

func quantiles(sorted []int64) Quantiles {
	r := newRanked(len(sorted))
	for _, ns := range sorted {
		r.add(ns)
	}
	return r.quantiles()
}

// replay keeps what a replay needs. A request is bursts of computing, each followed by a wait; what the
// collector took of either stands beside it, so that it can be left out:
//
//	on its goroutine    run │ assist │ run │ runnable │ run │ network │ run │ lock, held by who assists │
//	recorded            cpu + gc           │ (queue)  │ cpu │ wait    │ cpu │ wait + waitGC              │
//
// Time runnable is not recorded: queues are what the replay is for. The way to an idle processor is none,
// so it is a wait. Computing of other goroutines competes for the processors as jobs; mark workers
// and stops of the world do so in the replay with the collector alone.
//
// Invariant: a request's cpu, gc, wait and waitGC, and the time that it was runnable without an idle
// processor, add up to its time, but for the stops of the world, which the replay makes itself.
type replay struct {
	n        int        // of requests
	requests []replayed // in the end, by arrival
	bursts   store      // of a request: its arrival, by how much it came early, and whether its time is left out, its time, its bursts, and 0
	batched  bool       // some came earlier than they were seen
	others   store      // computing outside of requests: jobs, each with the distance from the last one
	markers  []job      // mark workers that had a processor to themselves
	stops    []job      // stops of the world
	actual   spread     // of the requests' times as they were

	arrival  int64  // of the request that is being recorded, or was the last one
	now      burst  // its last
	filled   bool   // it has something
	scratch  packed // those before it
	together job    // of others: what joins it may be to come
	last     int64  // when the last of others was
	packing  packed // one of others
}

type replayed struct {
	arrival int64
	first   spot // of bursts: behind its arrival there
}

// burst is computing, then waiting, in nanoseconds.
type burst struct {
	cpu, gc      int64 // own, and for the collector
	wait, waitGC int64 // likewise: for time, others and the network; for the collector
}

// job is computing that is nobody's request. Jobs that follow each other closely are one.
type job struct {
	at int64
	ns int64
	gc int64
}

// joined is in which time from the start of a job others join it.
const joined = 50_000 // ns

func (p *replay) other(j job) {
	if d := j.at - p.together.at; d >= 0 && d < joined && p.together.ns+p.together.gc > 0 {
		p.together.ns += j.ns
		p.together.gc += j.gc
		return
	}
	p.flushOthers()
	p.together = j
}

func (p *replay) flushOthers() {
	j := p.together
	if p.together = (job{}); j.ns+j.gc == 0 {
		return
	}
	s := p.packing[:0]
	s.putSigned(j.at - p.last) // they come by their ends: one may begin before the last one
	s.put(j.ns)
	s.put(j.gc)
	p.others.keep(s)
	p.packing, p.last = s, j.at
}

// jobs reads others.
type jobs struct {
	now  packed
	rest store
	at   int64
}

// next returns the next one, or false at the end.
func (s *jobs) next() (job, bool) {
	if len(s.now) == 0 {
		if len(s.rest) == 0 {
			return job{}, false
		}
		s.now, s.rest = s.rest[0], s.rest[1:]
	}
	s.at += s.now.nextSigned()
	return job{at: s.at, ns: s.now.next(), gc: s.now.next()}, true
}

// begin begins a request of so many nanoseconds, which pieces and an end follow. Without the collector it would have
// been seen earlier, by so much. What is left out takes processors, and its time is not wanted.
func (p *replay) begin(arrival, early, took int64, leftOut bool) {
	p.scratch = p.scratch[:0]
	p.scratch.putSigned(arrival - p.arrival)
	p.arrival = arrival
	first := early << 1
	if leftOut {
		first |= 1
	}
	p.scratch.put(first)
	p.scratch.put(took)
	p.batched = p.batched || early > 0
}

// piece adds a segment of the request's goroutine: its time, what of it was the collector's, and
// what the way to an idle processor.
func (p *replay) piece(s state, all, gc, idle int64) {
	switch s {
	case stateStopping: // the replay stops the world itself
	case stateRunnable: // it ends a burst; the queue is the replay's own business, the way to an idle processor is not
		if idle > 0 {
			p.now.wait += idle
			p.filled = true
		}
		p.flush()
	case stateRunning, stateAssistMark, stateSweep:
		if p.now.wait+p.now.waitGC > 0 {
			p.flush()
		}
		p.now.cpu += all - gc
		p.now.gc += gc
		p.filled = true
	default:
		p.now.wait += all - gc
		p.now.waitGC += gc
		p.filled = true
	}
}

func (p *replay) end() {
	p.flush()
	p.scratch.put(0)
	p.bursts.keep(p.scratch)
	p.n++
}

// recorded ends the recording.
func (p *replay) recorded() {
	p.flushOthers()
	p.requests = make([]replayed, 0, p.n)
	at := int64(0)
	for i, c := range p.bursts {
		for in := c; len(in) > 0; {
			at += in.nextSigned()
			p.requests = append(p.requests, replayed{at, spotAt(i, len(c)-len(in))})
			in.next()
			in.next()
			for more := true; more; {
				_, more = in.nextBurst()
			}
		}
	}
	byArrival(p.requests)
	p.actual = p.newSpread()
	for _, r := range p.requests {
		bursts := p.bursts.at(r.first)
		if bursts.next()&1 == 0 { // it is not left out
			p.actual.add(r.arrival, bursts.next())
		}
	}
}

// newSpread returns an empty spread of the requests, which are in order.
func (p *replay) newSpread() spread {
	if len(p.requests) == 0 {
		return newSpread(0, 0)
	}
	return newSpread(p.requests[0].arrival, p.requests[len(p.requests)-1].arrival)
}

// byArrival puts requests in order, and leaves those in theirs that arrived together. They come by their ends, so most are near
// their places; where they are not, as streams among short requests, sorting is left to what bears that.
func byArrival(r []replayed) {
	const near = 64
	moves := 0
	for i := range r {
		q, j := r[i], i
		for ; j > 0 && r[j-1].arrival > q.arrival; j-- {
			r[j] = r[j-1]
		}
		r[j] = q
		if moves += i - j; moves > near*len(r) {
			slices.SortStableFunc(r, func(a, b replayed) int { return cmp.Compare(a.arrival, b.arrival) })
			return
		}
	}
}

// arrivals returns the requests in the order in which they are seen.
func (p *replay) arrivals(gc bool) []replayed {
	if gc || !p.batched {
		return p.requests
	}
	r := slices.Clone(p.requests)
	for i := range r {
		bursts := p.bursts.at(r[i].first)
		r[i].arrival -= bursts.next() >> 1
	}
	byArrival(r)
	return r
}

func (p *replay) flush() {
	if p.filled {
		p.scratch.putBurst(p.now)
	}
	p.now, p.filled = burst{}, false
}

// putBurst writes a burst; most have nothing of the collector's.
func (p *packed) putBurst(b burst) {
	first := (max(b.cpu, 0) + 1) << 1
	if b.gc <= 0 && b.waitGC <= 0 {
		p.put(first)
		p.put(b.wait)
		return
	}
	p.put(first | 1)
	p.put(b.wait)
	p.put(b.gc)
	p.put(b.waitGC)
}

// nextBurst reads one back, or false at the end.
func (p *packed) nextBurst() (b burst, ok bool) {
	first := p.next()
	if first == 0 {
		return b, false
	}
	b.cpu, b.wait = first>>1-1, p.next()
	if first&1 != 0 {
		b.gc, b.waitGC = p.next(), p.next()
	}
	return b, true
}

// newWhatIf compares requests' times with those of replays.
func newWhatIf(actual Quantiles, with, without *simulated) WhatIf {
	w := WhatIf{Actual: actual, Replayed: quantiles(with.times), WithoutGC: quantiles(without.times)}
	if w.Actual.P99 > 0 {
		w.ModelError = float64(w.Replayed.P99)/float64(w.Actual.P99) - 1
	}
	if w.Replayed.P99 > 0 {
		w.Forecast = dur(int64(float64(w.WithoutGC.P99) / float64(w.Replayed.P99) * float64(w.Actual.P99)))
	}
	if more := w.Replayed.Tail - w.Replayed.P50; more > 0 {
		w.TailShare = min(max(float64(w.Replayed.Tail-w.WithoutGC.Tail)/float64(more), 0), 1)
	}
	return w
}
