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

// MergeError says which result [Merge] cannot add, and what to do.
type MergeError struct {
	Index  int    // of the result, from 0
	Reason string // what is wrong, and what to do
}

func (e *MergeError) Error() string { return fmt.Sprintf("loadgen: result %d: %s", e.Index, e.Reason) }

// RecordN adds n durations of the same length. With n below 1 it adds nothing.
func (h *Histogram) RecordN(d time.Duration, n int64) {
	if n < 1 {
		return
	}
	if h.h == nil {
		h.h = hdr.New(histogramLowest, histogramHighest, histogramDigits)
	}
	_ = h.h.RecordValues(min(max(int64(d), 0), h.h.HighestTrackableValue()), n) // in range
}

// Merge adds the results of generators that measured the same targets at the same time. Counts are
// added, in the histograms and in each interval of the series, and percentiles come from the sums.
// Rates, connections and counts are sums. The window goes from the first measured request to the
// last answer of any.
//
// An interval of the series counts from each generator's start, so start them together. A
// *MergeError refuses other targets, another loop, timeout or warm-up, other histogram bounds, and
// interrupted loads.
func Merge(results ...*Result) (*Result, error) {
	if len(results) == 0 {
		return nil, &MergeError{0, "there is none: give at least one"}
	}
	first := results[0]
	sum := &Result{
		Targets: slices.Clone(first.Targets), MoreTargets: first.MoreTargets, Protocol: first.Protocol,
		Streams: first.Streams, Arrivals: first.Arrivals,
		Stages: make([]Stage, len(first.Stages)), Timeout: first.Timeout, Warmup: first.Warmup, Started: first.Started,
	}
	for i, s := range first.Stages {
		sum.Stages[i].Duration = s.Duration
	}
	for _, c := range first.Classes {
		sum.Classes = append(sum.Classes, TargetClass{Name: c.Name, Share: c.Share})
	}
	var end time.Time
	var line mergedSeries
	for i, r := range results {
		why := cmp.Or(r.damaged(), r.unlike(first))
		if why == "" {
			why = cmp.Or(sum.add(r), line.take(&r.Series))
		}
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
	sum.Overload = overloads(results)
	sum.Rate, _ = strconv.ParseFloat(strconv.FormatFloat(sum.Rate, 'g', 12, 64), 64) // so that thirds of a rate add up
	slices.SortFunc(sum.Failures, mostFirst)
	series, err := line.sum()
	if err != nil {
		return nil, err
	}
	sum.Series = series
	return sum, nil
}

// counts returns the figures that add up.
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
	for _, c := range r.Classes {
		if c.Answered < 0 || c.Failed < 0 || c.Bytes < 0 {
			return fmt.Sprintf("its class %s has a negative count%s", c.Name, again)
		}
	}
	if !(r.Rate >= 0 && r.Rate <= math.MaxFloat64) || r.Connections < 0 {
		return fmt.Sprintf("it has a rate of %v over %d connections%s", r.Rate, r.Connections, again)
	}
	return ""
}

// unlike says why r is of another load than first.
func (r *Result) unlike(first *Result) string {
	switch {
	case !slices.Equal(r.Targets, first.Targets) || r.MoreTargets != first.MoreTargets:
		return fmt.Sprintf("it has other targets, %s in place of %s: give each generator the same URLs in the same order",
			strings.Join(r.Targets, ", "), strings.Join(first.Targets, ", "))
	case !slices.EqualFunc(r.Classes, first.Classes, func(a, b TargetClass) bool {
		return a.Name == b.Name &&
			a.Share == b.Share
	}):
		return "its targets have other classes or weights: give each generator the same targets"
	case r.Protocol != first.Protocol || r.Streams != first.Streams:
		return fmt.Sprintf("it spoke %v with %d streams a connection, and others %v with %d: give each generator the same protocol", r.Protocol, r.Streams, first.Protocol, first.Streams)
	case r.Arrivals != first.Arrivals:
		return fmt.Sprintf("its arrivals are %v, and others' %v: give each generator the same kind", r.Arrivals,
			first.Arrivals)
	case !slices.EqualFunc(r.Stages, first.Stages, func(a, b Stage) bool { return a.Duration == b.Duration }):
		return "its rate changes at other times: give each generator stages of the same lengths"
	case (r.Rate > 0) != (first.Rate > 0):
		return "one is of an open loop (with a rate) and one of a closed loop, whose latencies count from different moments: give each generator a rate, or none"
	case r.Timeout != first.Timeout:
		return fmt.Sprintf("its requests had %v to be answered, and others %v: give each generator the same timeout",
			r.Timeout, first.Timeout)
	case r.Warmup != first.Warmup:
		return fmt.Sprintf("it was measured after %v of warm-up, and others after %v: give each generator the same",
			r.Warmup, first.Warmup)
	case r.Interrupted:
		return "it was interrupted, so that a part of the load is missing in the rest of the window: measure again"
	}
	return ""
}

// add adds the figures except the series, or says why it cannot.
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
	for i, s := range from.Stages {
		r.Stages[i].From += s.From
		r.Stages[i].To += s.To
	}
	for i := range from.Classes {
		if why := r.Classes[i].add(&from.Classes[i]); why != "" {
			return why
		}
	}
	r.LateMax = max(r.LateMax, from.LateMax)
	r.UnfinishedMax = max(r.UnfinishedMax, from.UnfinishedMax)
	addStatuses(&r.Statuses, from.Statuses)
	addFailures(&r.Failures, from.Failures)
	return cmp.Or(r.Latency.add(&from.Latency), r.Service.add(&from.Service), r.Pacer.add(&from.Pacer))
}

// add adds the figures of the same class.
func (c *TargetClass) add(from *TargetClass) string {
	c.Answered += from.Answered
	c.Failed += from.Failed
	c.Bytes += from.Bytes
	addStatuses(&c.Statuses, from.Statuses)
	addFailures(&c.Failures, from.Failures)
	slices.SortFunc(c.Failures, mostFirst)
	return c.Latency.add(&from.Latency)
}

func addStatuses(to *map[int]int64, from map[int]int64) {
	for status, n := range from {
		if *to == nil {
			*to = map[int]int64{}
		}
		(*to)[status] += n
	}
}

func addFailures(to *[]Failure, from []Failure) {
	for _, f := range from {
		i := slices.IndexFunc(*to, func(g Failure) bool { return g.Class == f.Class })
		if i < 0 {
			i = len(*to)
			*to = append(*to, Failure{Class: f.Class, Example: f.Example})
		}
		(*to)[i].Count += f.Count
	}
}

// overloads adds overloads. A generator without one had what it asked for. The sum is the
// generators' if one of them is.
func overloads(results []*Result) *Overload {
	sum, seen := new(Overload), false
	for _, r := range results {
		o := r.Overload
		if o == nil {
			o = &Overload{Asked: r.Rate, Answered: r.Rate}
		} else {
			seen = true
		}
		sum.Asked += o.Asked
		sum.Answered += o.Answered
		sum.Backlog += o.Backlog
		sum.Generator = sum.Generator || o.Generator
	}
	if !seen {
		return nil
	}
	sum.Text = sum.sentence()
	return sum
}

func mostFirst(a, b Failure) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class))
}

// add adds from count by count, or says why the buckets differ.
func (h *Histogram) add(from *Histogram) string {
	if from.Count() == 0 {
		return ""
	}
	if h.h == nil {
		h.h = hdr.New(from.h.LowestTrackableValue(), from.h.HighestTrackableValue(), int(from.h.SignificantFigures()))
	}
	switch {
	case from.h.SignificantFigures() != h.h.SignificantFigures():
		return fmt.Sprintf("its histogram has %d significant digits, and others %d, so that buckets are cut elsewhere: measure with the same evenkeel, or count each again in the same ones (evenkeel convert -to hlog, and back)",
			from.h.SignificantFigures(), h.h.SignificantFigures())
	case from.h.LowestTrackableValue() != h.h.LowestTrackableValue() ||
		from.h.HighestTrackableValue() != h.h.HighestTrackableValue():
		return fmt.Sprintf("its histogram goes from %d to %d ns, and others from %d to %d ns, so that buckets are cut elsewhere: measure with the same evenkeel, or count each again in the same ones (evenkeel convert -to hlog, and back)",
			from.h.LowestTrackableValue(), from.h.HighestTrackableValue(), h.h.LowestTrackableValue(),
			h.h.HighestTrackableValue())
	case from.Count() > math.MaxInt64-h.Count():
		return "the counts are more than a number holds: the file was changed or damaged; collect it or measure again"
	}
	h.h.Merge(from.h)
	return ""
}

// Limits of a series to add. Ours have 400 points of 27 KiB, imported ones more.
const (
	maxPoints     = 1000
	maxPointBytes = 1 << 20
)

// mergedSeries adds series by interval. Intervals are 20 ms times a power of two, so a coarse one
// holds whole fine ones.
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
	if len(s.Points) > maxPoints {
		return fmt.Sprintf("its figures over time have %d points, and %d can be added: the file was changed or damaged; collect it or measure again", len(s.Points), maxPoints)
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

// sum adds them. It has points only if all have.
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
			return Series{}, &MergeError{
				i,
				fmt.Sprintf("its figures over time have intervals of %v, which do not fit whole into the %v of another: give all of one kind", s.Interval, interval),
			}
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
	if h != nil && h.ByteSize() > maxPointBytes {
		return bin{}, fmt.Sprintf("a histogram of %d digits from %d to %d ns is too large for a point: measure with the same evenkeel", h.SignificantFigures(), h.LowestTrackableValue(), h.HighestTrackableValue())
	}
	return bin{count: p.Count, failed: p.Failed, latency: h}, ""
}
