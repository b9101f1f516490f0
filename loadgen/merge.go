package loadgen

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// MergeError says which of the results given to [Merge] cannot be added to those before it, and what to do.
type MergeError struct {
	Index  int    // of the result, from 0
	Reason string // what is wrong, and what to do
}

func (e *MergeError) Error() string { return fmt.Sprintf("loadgen: result %d: %s", e.Index, e.Reason) }

// RecordN adds n durations of the same length, as if Record were called n times. With n below 1 it adds nothing.
func (h *Histogram) RecordN(d time.Duration, n int64) {
	if n < 1 {
		return
	}
	if h.h == nil {
		h.h = hdr.New(histogramLowest, histogramHighest, histogramDigits)
	}
	_ = h.h.RecordValues(min(max(int64(d), 0), h.h.HighestTrackableValue()), n) // in range
}

// Merge adds what several generators measured at the same time of the same targets. It is what one generator would have
// measured if all of these requests had been its own: counts are added, in the histograms and in each interval of the
// series, and percentiles are taken of the sums. Rates, connections and counts are sums; the window goes from the first
// measured request of any of them to the last answer of any.
//
// An interval of the series counts from each generator's own start. So start them together.
//
// What cannot be added is refused with a *MergeError: other targets, another kind of loop, another timeout or warm-up,
// histograms of other bounds or digits, a series without its histograms, an interrupted load.
func Merge(results ...*Result) (*Result, error) {
	if len(results) == 0 {
		return nil, &MergeError{0, "there is none: give at least one"}
	}
	first := results[0]
	sum := &Result{Targets: slices.Clone(first.Targets), Timeout: first.Timeout, Warmup: first.Warmup, Started: first.Started}
	var end time.Time
	var line mergedSeries
	for i, r := range results {
		why := cmp.Or(r.damaged(), r.unlike(first), sum.add(r), line.take(&r.Series))
		if why != "" {
			return nil, &MergeError{i, why}
		}
		if r.Started.Before(sum.Started) {
			sum.Started = r.Started
		}
		if e := r.Started.Add(r.Duration); i == 0 || e.After(end) {
			end = e
		}
	}
	sum.Duration = end.Sub(sum.Started)
	sum.Rate, _ = strconv.ParseFloat(strconv.FormatFloat(sum.Rate, 'g', 12, 64), 64) // thirds of a rate add up to it
	slices.SortFunc(sum.Failures, mostFirst)
	series, err := line.sum()
	if err != nil {
		return nil, err
	}
	sum.Series = series
	return sum, nil
}

// counts are the figures of a result that add up.
func (r *Result) counts() []*int64 {
	return []*int64{&r.Answered, &r.Failed, &r.Unfinished, &r.Bytes, &r.Connects, &r.Late}
}

// damaged says why no generator can have measured this.
func (r *Result) damaged() string {
	const again = "; the file was changed or damaged: collect it or measure again"
	for _, n := range r.counts() {
		if *n < 0 {
			return fmt.Sprintf("it has a count of %d%s", *n, again)
		}
	}
	for _, d := range []time.Duration{r.Duration, r.Timeout, r.Warmup, r.LateMax, r.UnfinishedMax, r.Series.Interval} {
		if d < 0 {
			return fmt.Sprintf("it has a duration of %v%s", d, again)
		}
	}
	for status, n := range r.Statuses {
		if n < 0 {
			return fmt.Sprintf("it has %d answers of status %d%s", n, status, again)
		}
	}
	for _, f := range r.Failures {
		if f.Count < 0 {
			return fmt.Sprintf("it has %d failures of class %s%s", f.Count, f.Class, again)
		}
	}
	if !(r.Rate >= 0 && r.Rate <= math.MaxFloat64) || r.Connections < 0 {
		return fmt.Sprintf("it has a rate of %v over %d connections%s", r.Rate, r.Connections, again)
	}
	return ""
}

// unlike says why a result is of another load than the first one.
func (r *Result) unlike(first *Result) string {
	switch {
	case !slices.Equal(r.Targets, first.Targets):
		return fmt.Sprintf("it has other targets, %s in place of %s: give each generator the same URLs in the same order",
			strings.Join(r.Targets, ", "), strings.Join(first.Targets, ", "))
	case (r.Rate > 0) != (first.Rate > 0):
		return "one is of an open loop (with a rate) and one of a closed loop, whose latencies count from different moments: give each generator a rate, or none"
	case r.Timeout != first.Timeout:
		return fmt.Sprintf("its requests had %v to be answered, and others %v: give each generator the same timeout", r.Timeout, first.Timeout)
	case r.Warmup != first.Warmup:
		return fmt.Sprintf("it was measured after %v of warm-up, and others after %v: give each generator the same", r.Warmup, first.Warmup)
	case r.Interrupted:
		return "it was interrupted, so that a part of the load is missing in the rest of the window: measure again"
	}
	return ""
}

// add adds the figures of r but for the series, and says why they cannot be added.
func (r *Result) add(from *Result) string {
	to := r.counts()
	for i, n := range from.counts() {
		if *n > math.MaxInt64-*to[i] {
			return "the counts are more than a number holds: the file was changed or damaged; collect it or measure again"
		}
		*to[i] += *n
	}
	r.Rate += from.Rate
	r.Connections += from.Connections
	r.LateMax = max(r.LateMax, from.LateMax)
	r.UnfinishedMax = max(r.UnfinishedMax, from.UnfinishedMax)
	for status, n := range from.Statuses {
		if r.Statuses == nil {
			r.Statuses = map[int]int64{}
		}
		r.Statuses[status] += n
	}
	for _, f := range from.Failures {
		i := slices.IndexFunc(r.Failures, func(g Failure) bool { return g.Class == f.Class })
		if i < 0 {
			i = len(r.Failures)
			r.Failures = append(r.Failures, Failure{Class: f.Class, Example: f.Example})
		}
		r.Failures[i].Count += f.Count
	}
	return cmp.Or(r.Latency.add(&from.Latency), r.Service.add(&from.Service))
}

// mostFirst is the order of Result.Failures.
func mostFirst(a, b Failure) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class))
}

// add adds from count by count, or says why the buckets of the two are not the same ones.
func (h *Histogram) add(from *Histogram) string {
	if from.Count() == 0 {
		return ""
	}
	if h.h == nil {
		h.h = hdr.New(from.h.LowestTrackableValue(), from.h.HighestTrackableValue(), int(from.h.SignificantFigures()))
	}
	switch {
	case from.h.SignificantFigures() != h.h.SignificantFigures():
		return fmt.Sprintf("its histogram has %d significant digits, and others %d, so that buckets are cut elsewhere: measure with the same evenkeel, or convert each of them first",
			from.h.SignificantFigures(), h.h.SignificantFigures())
	case from.h.LowestTrackableValue() != h.h.LowestTrackableValue() || from.h.HighestTrackableValue() != h.h.HighestTrackableValue():
		return fmt.Sprintf("its histogram goes from %d to %d ns, and others from %d to %d ns, so that buckets are cut elsewhere: measure with the same evenkeel, or convert each of them first",
			from.h.LowestTrackableValue(), from.h.HighestTrackableValue(), h.h.LowestTrackableValue(), h.h.HighestTrackableValue())
	case from.Count() > math.MaxInt64-h.Count():
		return "the counts are more than a number holds: the file was changed or damaged; collect it or measure again"
	}
	h.h.Merge(from.h)
	return ""
}

// mergedSeries adds series interval by interval. The intervals of a load are 20 ms times a power of two, so that those of
// the coarsest series hold whole ones of all others.
type mergedSeries struct {
	series []*Series
	with   int // how many of them have points
}

// take takes a series, or says why it cannot be added.
func (m *mergedSeries) take(s *Series) string {
	m.series = append(m.series, s)
	if len(s.Points) == 0 {
		return ""
	}
	m.with++
	if s.Interval <= 0 {
		return fmt.Sprintf("its figures over time have intervals of %v: the file was changed or damaged; collect it or measure again", s.Interval)
	}
	for _, p := range s.Points {
		if p.Count < 0 || p.Failed < 0 {
			return "its figures over time have a negative count: the file was changed or damaged; collect it or measure again"
		}
		if p.Count > 0 && p.Histogram.IsZero() {
			return "its figures over time are percentiles without their histograms, which an older evenkeel wrote, and percentiles cannot be added: measure again with this one"
		}
	}
	return ""
}

// sum adds them. Where not each of them has points, none of the sum has.
func (m *mergedSeries) sum() (Series, error) {
	if m.with < len(m.series) {
		if m.with > 0 {
			i := slices.IndexFunc(m.series, func(s *Series) bool { return len(s.Points) == 0 })
			return Series{}, &MergeError{i, "it has no figures over time, and others have: give all of one kind"}
		}
		return Series{}, nil
	}
	var interval time.Duration
	for _, s := range m.series {
		interval = max(interval, s.Interval)
	}
	var bins []bin
	for i, s := range m.series {
		if interval%s.Interval != 0 {
			return Series{}, &MergeError{i, fmt.Sprintf("its figures over time have intervals of %v, which do not fit whole into the %v of another: give all of one kind", s.Interval, interval)}
		}
		for k, p := range s.Points {
			at := int(int64(k) / int64(interval/s.Interval))
			for len(bins) <= at {
				bins = append(bins, bin{})
			}
			b, err := p.bin()
			if err == "" && bins[at].latency != nil && b.latency != nil {
				sum := Histogram{bins[at].latency}
				err = sum.add(&Histogram{b.latency})
				b.latency = nil
			}
			if err != "" {
				return Series{}, &MergeError{i, "figures over time: " + err}
			}
			bins[at].add(b)
		}
	}
	s := series{interval: int64(interval), bins: bins}
	return s.result(), nil
}

// bin is the point as the recorder had it.
func (p *Point) bin() (bin, string) {
	h, err := p.Histogram.unpack()
	if err != nil {
		return bin{}, err.Error() + ": collect the file or measure again"
	}
	return bin{count: p.Count, failed: p.Failed, latency: h}, ""
}
