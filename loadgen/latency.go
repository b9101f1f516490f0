package loadgen

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// job is a request to send. Times are nanoseconds since the engine's epoch.
type job struct {
	index int64 // into the requests, in turn
	due   int64
	rec   *recorder // of its phase
}

// recorder collects what a phase measures. Its lock takes about 100 ns per request.
type recorder struct {
	open  bool // the loop
	from  int64
	until int64                // nothing is due from then on
	seen  func(due, end int64) // called with mu held

	class func(job) int // nil: fewer than two classes

	pacer   Histogram // these three are the pacer's until it ends
	behind  int64     // of its last request, ns
	skipped int64     // requests at the end

	mu      sync.Mutex // guards all below
	last    int64      // end of the last answer
	res     Result
	all     tally
	byClass []tally
	series  *series
}

// tally counts how requests ended. The recorder's mu guards it.
type tally struct {
	TargetClass // without Statuses
	statuses    [1000]int64
}

func newRecorder(open bool, from int64) *recorder {
	return &recorder{
		open: open, from: from, until: math.MaxInt64, last: from, seen: func(int64, int64) {}, series: newSeries(),
	}
}

func (r *recorder) classify(classes []TargetClass, class func(job) int) {
	if len(classes) < 2 {
		return
	}
	r.class = class
	for _, c := range classes {
		r.byClass = append(r.byClass, tally{TargetClass: c})
	}
}

// tallies calls f for all requests and the job's class. The caller holds mu.
func (r *recorder) tallies(j job, f func(*tally)) {
	f(&r.all)
	if r.class != nil {
		f(&r.byClass[r.class(j)])
	}
}

// paced records how many ns late the pacer was.
func (r *recorder) paced(late int64) {
	r.behind = late
	r.pacer.Record(time.Duration(late))
}

// answered and the others below take times in ns since the engine's epoch.
func (r *recorder) answered(j job, sent, end int64, a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tallies(j, func(t *tally) {
		t.Answered++
		t.Bytes += a.bytes
		t.statuses[a.status]++
	})
	r.took(j, sent, end)
	r.ends(j, end, true)
	b := r.series.at(j.due - r.from)
	b.count++
	b.record(end - j.due)
}

func (r *recorder) failed(j job, sent, end int64, err error) {
	c := classify(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tallies(j, func(t *tally) {
		t.Failed++
		f := failureOf(&t.Failures, c)
		if f.Count++; f.Count == 1 {
			f.Example = err.Error()
		}
	})
	r.ends(j, end, false)
	b := r.series.at(j.due - r.from)
	b.failed++
	r.last = max(r.last, end)
	switch {
	case c == ClassUnsent: // it was never sent
		r.latency(j, end)
		b.record(end - j.due)
	case c.waited():
		r.took(j, sent, end)
		b.record(end - j.due)
	}
}

func (r *recorder) unfinished(j job, end int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.res.Unfinished++
	r.res.UnfinishedMax = max(r.res.UnfinishedMax, time.Duration(end-j.due))
	r.series.at(j.due-r.from).unfinished++
}

// allDue says that nothing more is due.
func (r *recorder) allDue(now int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until = min(r.until, now)
}

// ends counts an end while requests are due, which decides whether the backlog grew.
func (r *recorder) ends(j job, end int64, answered bool) {
	if r.open && end < r.until {
		r.series.ended(j.due-r.from, end-r.from, answered)
	}
}

// ended takes the run's ctx.
func (r *recorder) ended(ctx context.Context, j job, sent, end int64, a answer, err error) {
	switch {
	case err == nil:
		r.answered(j, sent, end, a)
	case ctx.Err() != nil:
		r.unfinished(j, end)
	default:
		r.failed(j, sent, end, err)
	}
}

// took records a sent request. The caller holds mu.
func (r *recorder) took(j job, sent, end int64) {
	r.last = max(r.last, end)
	r.latency(j, end)
	if !r.open {
		return
	}
	r.res.Service.Record(time.Duration(end - sent))
	late := time.Duration(sent - j.due)
	if late > LateAfter {
		r.res.Late++
	}
	r.res.LateMax = max(r.res.LateMax, late)
}

// latency counts from the time at which the request was due, not from the time at which it was
// sent, so a late sender does not hide what the service makes users wait (coordinated omission).
// The caller holds mu.
func (r *recorder) latency(j job, end int64) {
	r.tallies(j, func(t *tally) { t.Latency.Record(time.Duration(end - j.due)) })
	r.seen(j.due, end)
}

// result returns what was measured, after the pacer has ended.
func (r *recorder) result() *Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := r.res
	res.Duration = time.Duration(r.last - r.from)
	res.Series = r.series.result()
	all := r.all.result()
	res.setAll(&all)
	for k := range r.byClass {
		res.Classes = append(res.Classes, r.byClass[k].result())
	}
	res.Pacer = r.pacer
	return &res
}

func (t *tally) result() TargetClass {
	c := t.TargetClass
	for s, n := range t.statuses {
		if n > 0 && s > 0 { // a Call has no status
			if c.Statuses == nil {
				c.Statuses = map[int]int64{}
			}
			c.Statuses[s] = n
		}
	}
	slices.SortFunc(c.Failures, mostFirst)
	return c
}

// overload returns nil for a closed loop, which cannot fall behind.
func (r *recorder) overload(rate float64) *Overload {
	if !r.open {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.series.overload(rate, r.behind, r.skipped)
}

func (r *recorder) progress(p *Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Done, p.Failed = r.all.Answered+r.all.Failed, r.all.Failed
	p.P50, p.P99 = r.all.Latency.Quantile(.5), r.all.Latency.Quantile(.99)
}
