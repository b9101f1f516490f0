package loadgen

import (
	"fmt"
	"math"
	"strconv"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

const (
	seriesBins     = 400
	seriesInterval = 20 * time.Millisecond
	seriesDigits   = 2
)

// Series is latency over time, by the time a request was due.
type Series struct {
	Interval time.Duration `json:"interval_ns"`
	Points   []Point       `json:"points"` // Points[i] starts i Intervals after the first measured request was due
}

// Point is one interval of a Series. Its latencies are within 1%.
type Point struct {
	Count  int64         `json:"count"`            // answered
	Failed int64         `json:"failed,omitempty"` // of all due in the interval
	P50    time.Duration `json:"p50_ns"`
	P99    time.Duration `json:"p99_ns"`
	Max    time.Duration `json:"max_ns"`

	// Histogram is the text of the latencies' [Histogram], which takes little memory. Merge adds it.
	Histogram string `json:"histogram,omitempty"`
}

// series divides time into at most seriesBins intervals. Beyond that it joins them two by two.
type series struct {
	interval int64 // ns
	list     []bin
}

type bin struct {
	// Of the requests that were due in it.
	latency                   Histogram // of seriesDigits
	count, failed, unfinished int64     // count has the answered

	// Of the requests that ended in it. Overloads need these.
	ended    int64
	answered int64 // of ended
	waited   int64 // by the answered since they were due, ns
}

func newSeries() *series { return &series{interval: int64(seriesInterval)} }

// at returns the bin of a time in nanoseconds since the start. It is valid until the next call.
func (s *series) at(t int64) *bin {
	t = max(t, 0)
	for t/s.interval >= seriesBins {
		s.join()
	}
	for int64(len(s.list)) <= t/s.interval {
		s.list = append(s.list, bin{})
	}
	return &s.list[t/s.interval]
}

func (s *series) join() {
	half := (len(s.list) + 1) / 2
	for i := range half {
		b := s.list[2*i]
		if 2*i+1 < len(s.list) {
			b.add(&s.list[2*i+1])
		}
		s.list[i] = b
	}
	clear(s.list[half:])
	s.list = s.list[:half]
	s.interval *= 2
}

func (b *bin) add(c *bin) {
	b.count += c.count
	b.failed += c.failed
	b.unfinished += c.unfinished
	b.ended += c.ended
	b.answered += c.answered
	b.waited += c.waited
	if b.latency.h == nil {
		b.latency = c.latency
		return
	}
	b.latency.Merge(&c.latency)
}

func (b *bin) due() int64 { return b.count + b.failed + b.unfinished }

func (b *bin) record(ns int64) {
	if b.latency.h == nil {
		b.latency.h = hdr.New(histogramLowest, histogramHighest, seriesDigits)
	}
	b.latency.Record(time.Duration(ns))
}

// ended counts a request that was answered or failed, when it ended.
func (s *series) ended(due, end int64, answered bool) {
	b := s.at(end)
	b.ended++
	if answered {
		b.answered++
		b.waited += end - due
	}
}

func (s *series) result() Series {
	r := Series{Interval: time.Duration(s.interval), Points: []Point{}}
	for _, b := range s.list {
		text, _ := b.latency.MarshalText() // it fails only in Write, and memory takes all
		r.Points = append(r.Points, Point{
			Count: b.count, Failed: b.failed, Histogram: string(text),
			P50: b.latency.Quantile(.5), P99: b.latency.Quantile(.99), Max: b.latency.Max(),
		})
	}
	for n := len(r.Points); n > 0 && r.Points[n-1].Count+r.Points[n-1].Failed == 0; n-- { // only ends
		r.Points = r.Points[:n-1]
	}
	return r
}

// Overload says that the open loop's backlog grew to the end.
type Overload struct {
	// Asked is how many requests per second were due in the second half of the window.
	Asked float64 `json:"asked_per_s"`
	// Answered is Result.Throughput. If the rate changes, it is that of the second half.
	Answered float64 `json:"answered_per_s"`
	Backlog  int64   `json:"backlog"` // due and not ended when the last request was due

	// Generator says that the load generator itself was as far behind, and not the service.
	Generator bool `json:"generator,omitempty"`

	Text string `json:"text"` // all of it, in one sentence
}

func (o *Overload) sentence() string {
	asked, answered := perSecond(o.Asked), perSecond(o.Answered)
	if o.Generator {
		return fmt.Sprintf("the load generator got to %s/s; %s/s is more than it can send from here: "+
			"the service's limit is not known", answered, asked)
	}
	return fmt.Sprintf("the service answered %s/s; %s/s is more than it can do", answered, asked)
}

// perSecond writes at least three digits, and commas between thousands.
func perSecond(x float64) string {
	if x < 100 {
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	s := strconv.FormatFloat(math.Round(x), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// The queue in front of a service that keeps up grows and shrinks. An overload is a queue that grew
// in each of the last four eighths of the window, while answers took ever longer. The first half
// does not count, because a service may need it to warm up.
const (
	overloadBins   = 40   // of the window at least: 0.8 s
	overloadGrowth = .005 // of what was due in an eighth
	overloadTotal  = .01  // of what was due in the second half
	overloadWait   = 1.1  // times as long in the last eighth as in the first of the second half
)

// overload returns nil unless the backlog grew to the end. rate is 0 if it changed. The pacer's
// last request was behind by so many nanoseconds, and it skipped so many requests at the end.
func (s *series) overload(rate float64, behind, skipped int64) *Overload {
	n := 0 // bins before that of the last request due
	for i, b := range s.list {
		if b.due() > 0 {
			n = i
		}
	}
	if n < overloadBins {
		return nil
	}
	sum := func(from, to int) (all bin) {
		for _, b := range s.list[from:to] {
			b.latency = Histogram{}
			all.add(&b)
		}
		return all
	}
	var eighths [4]bin
	var half bin
	for k := range eighths {
		e := sum(n*(k+4)/8, n*(k+5)/8)
		if growth := float64(e.due() - e.ended); growth < 1 || growth < overloadGrowth*float64(e.due()) {
			return nil
		}
		eighths[k] = e
		half.add(&e)
	}
	if float64(half.due()-half.ended) < overloadTotal*float64(half.due()) || half.answered == 0 {
		return nil
	}
	first, last := &eighths[0], &eighths[3]
	if first.answered > 0 && last.answered > 0 &&
		float64(last.waited)/float64(last.answered) < overloadWait*float64(first.waited)/float64(first.answered) {
		return nil // slow from the first to the last, as a long poll is
	}
	all := sum(0, n)
	seconds := (time.Duration(n-n/2) * time.Duration(s.interval)).Seconds()
	o := &Overload{
		Asked: float64(half.due()) / seconds, Answered: float64(half.answered) / seconds,
		Backlog: all.due() - all.ended,
	}
	if rate > 0 && math.Abs(o.Asked/rate-1) < .02 {
		o.Asked = rate
	}
	o.Generator = max(float64(behind)/1e9*o.Asked, float64(skipped)) > float64(o.Backlog)/2
	o.Text = o.sentence()
	return o
}
