package loadgen

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// job is one request to send: which, and when it was due. Times are nanoseconds since the
// engine's clock started.
type job struct {
	index int64 // into the requests, in turn
	due   int64
}

// recorder gathers what a phase measures. One lock: about 100 ns a request.
type recorder struct {
	open bool // the loop
	from int64
	seen func(due, end int64) // called with mu held

	mu       sync.Mutex // guards all below
	last     int64      // end of the last answer
	res      Result
	statuses [1000]int64
	failures map[Class]*Failure
	series   *series
}

func newRecorder(open bool, from int64) *recorder {
	return &recorder{open: open, from: from, last: from, seen: func(int64, int64) {}, failures: map[Class]*Failure{}, series: newSeries()}
}

// answered records one answer.
func (r *recorder) answered(j job, sent, end int64, a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.res.Answered++
	r.res.Bytes += a.bytes
	r.statuses[a.status]++
	r.took(j, sent, end)
	b := r.series.at(j.due - r.from)
	b.count++
	b.record(end - j.due)
}

// failed records one failure.
func (r *recorder) failed(j job, sent, end int64, err error) {
	c := classify(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failure(c, j, sent, end, err)
}

// unsent records a request that no connection was free for in time. A backlog may have millions.
func (r *recorder) unsent(j job, end int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failure(ClassUnsent, j, end, end, errUnsent)
}

// failure records a failure of a class. Called with mu held.
func (r *recorder) failure(c Class, j job, sent, end int64, err error) {
	f := r.failures[c]
	if f == nil {
		f = &Failure{Class: c, Example: err.Error()}
		r.failures[c] = f
	}
	f.Count++
	r.res.Failed++
	b := r.series.at(j.due - r.from)
	b.failed++
	r.last = max(r.last, end)
	switch {
	case c == ClassUnsent: // it waited, but has no time of sending
		r.latency(j.due, end)
		b.record(end - j.due)
	case c.waited():
		r.took(j, sent, end)
		b.record(end - j.due)
	}
}

// unfinished records a request that the end of the run cut off.
func (r *recorder) unfinished(j job, end int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.res.Unfinished++
	r.res.UnfinishedMax = max(r.res.UnfinishedMax, time.Duration(end-j.due))
}

// ended records how a request ended; ctx is the run's.
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

// took records the times of a request that was sent. Called with mu held.
func (r *recorder) took(j job, sent, end int64) {
	r.last = max(r.last, end)
	r.latency(j.due, end)
	if !r.open {
		return
	}
	r.res.Service.record(end - sent)
	late := time.Duration(sent - j.due)
	if late > LateAfter {
		r.res.Late++
	}
	r.res.LateMax = max(r.res.LateMax, late)
}

// latency records one request's time. Called with mu held.
func (r *recorder) latency(due, end int64) {
	r.res.Latency.record(end - due)
	r.seen(due, end)
}

func (r *recorder) result() *Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := r.res
	res.Duration = time.Duration(r.last - r.from)
	res.Series = r.series.result()
	for s, n := range r.statuses {
		if n > 0 && s > 0 { // a Call has none
			if res.Statuses == nil {
				res.Statuses = map[int]int64{}
			}
			res.Statuses[s] = n
		}
	}
	for _, f := range r.failures {
		res.Failures = append(res.Failures, *f)
	}
	slices.SortFunc(res.Failures, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class))
	})
	return &res
}

// progress fills in what the recorder knows.
func (r *recorder) progress(p *Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Done, p.Failed = r.res.Requests(), r.res.Failed
	p.P50, p.P99 = r.res.Latency.Quantile(.5), r.res.Latency.Quantile(.99)
}
