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

// Merge adds the results of generators that measured the same targets at the same time. It adds
// rates, connections and counts, and takes percentiles from the sums. The window spans all of
// theirs.
//
// Start the generators together, because each series counts from its own start. A *MergeError
// refuses results of another load, other histogram bounds, and interrupted runs.
func Merge(results ...*Result) (*Result, error) {
	if len(results) == 0 {
		return nil, &MergeError{0, "give at least one result"}
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
	var all TargetClass
	var end time.Time
	for i, r := range results {
		why := r.unlike(first)
		if why == "" {
			why = cmp.Or(all.add(r.all()), sum.add(r))
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
	sum.Rate, _ = strconv.ParseFloat(strconv.FormatFloat(sum.Rate, 'g', 12, 64), 64) // so thirds of a rate add up
	sum.setAll(&all)
	var err error
	if sum.Series, err = addSeries(results); err != nil {
		return nil, err
	}
	return sum, nil
}

func (r *Result) unlike(first *Result) string {
	switch {
	case !slices.Equal(r.Targets, first.Targets) || r.MoreTargets != first.MoreTargets:
		return fmt.Sprintf("it has other targets, %s in place of %s: give each generator the same URLs in the same "+
			"order", strings.Join(r.Targets, ", "), strings.Join(first.Targets, ", "))
	case !slices.EqualFunc(r.Classes, first.Classes, func(a, b TargetClass) bool {
		return a.Name == b.Name && a.Share == b.Share
	}):
		return "its targets have other classes or weights: give each generator the same targets"
	case r.Protocol != first.Protocol || r.Streams != first.Streams:
		return fmt.Sprintf("it spoke %q with %d streams a connection, and others %q with %d: give each generator the "+
			"same protocol", r.Protocol, r.Streams, first.Protocol, first.Streams)
	case r.Arrivals != first.Arrivals:
		return fmt.Sprintf("its arrivals are %v, and others' %v: give each generator the same kind", r.Arrivals,
			first.Arrivals)
	case !slices.EqualFunc(r.Stages, first.Stages, func(a, b Stage) bool { return a.Duration == b.Duration }):
		return "its rate changes at other times: give each generator stages of the same lengths"
	case (r.Rate > 0) != (first.Rate > 0):
		return "one is of an open loop (with a rate) and one of a closed loop, whose latencies count from different " +
			"moments: give each generator a rate, or none"
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

// add adds all but the figures of a TargetClass and the series, or says why it cannot.
func (r *Result) add(from *Result) string {
	r.Unfinished += from.Unfinished
	r.UnfinishedMax = max(r.UnfinishedMax, from.UnfinishedMax)
	r.Connects += from.Connects
	r.Late += from.Late
	r.LateMax = max(r.LateMax, from.LateMax)
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
	return cmp.Or(r.Service.add(&from.Service), r.Pacer.add(&from.Pacer))
}

// all returns the figures of all requests.
func (r *Result) all() *TargetClass {
	return &TargetClass{
		Answered: r.Answered, Failed: r.Failed, Bytes: r.Bytes, Statuses: r.Statuses, Failures: r.Failures,
		Latency: r.Latency,
	}
}

func (r *Result) setAll(c *TargetClass) {
	r.Answered, r.Failed, r.Bytes = c.Answered, c.Failed, c.Bytes
	r.Statuses, r.Failures, r.Latency = c.Statuses, c.Failures, c.Latency
}

func (c *TargetClass) add(from *TargetClass) string {
	c.Answered += from.Answered
	c.Failed += from.Failed
	c.Bytes += from.Bytes
	for status, n := range from.Statuses {
		if c.Statuses == nil {
			c.Statuses = map[int]int64{}
		}
		c.Statuses[status] += n
	}
	for _, f := range from.Failures {
		sum := failureOf(&c.Failures, f.Class)
		sum.Count += f.Count
		sum.Example = cmp.Or(sum.Example, f.Example)
	}
	slices.SortFunc(c.Failures, mostFirst)
	return c.Latency.add(&from.Latency)
}

func failureOf(list *[]Failure, c Class) *Failure {
	i := slices.IndexFunc(*list, func(f Failure) bool { return f.Class == c })
	if i < 0 {
		i = len(*list)
		*list = append(*list, Failure{Class: c})
	}
	return &(*list)[i]
}

// overloads adds overloads. A generator without one had what it asked for.
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

// add adds count by count, or says why it cannot.
func (h *Histogram) add(from *Histogram) string {
	if from.Count() == 0 {
		return ""
	}
	if h.h == nil {
		h.h = hdr.New(from.h.LowestTrackableValue(), from.h.HighestTrackableValue(), int(from.h.SignificantFigures()))
	}
	switch {
	case from.h.SignificantFigures() != h.h.SignificantFigures(),
		from.h.LowestTrackableValue() != h.h.LowestTrackableValue(),
		from.h.HighestTrackableValue() != h.h.HighestTrackableValue():
		return "its histogram has other buckets: measure with the same evenkeel, or count each again in the same " +
			"ones (evenkeel convert -to hlog, and back)"
	case from.Count() > math.MaxInt64-h.Count():
		return "the counts are more than a number holds; the file was changed or damaged: collect it or measure again"
	}
	h.h.Merge(from.h)
	return ""
}

// addSeries adds series by interval. Intervals are 20 ms times a power of two, so a long one holds
// whole short ones. The sum has points only if all have.
func addSeries(results []*Result) (Series, error) {
	empty := slices.IndexFunc(results, func(r *Result) bool { return len(r.Series.Points) == 0 })
	if empty >= 0 {
		if slices.ContainsFunc(results, func(r *Result) bool { return len(r.Series.Points) > 0 }) {
			return Series{}, &MergeError{empty, "it has no figures over time, and others have: give all of one kind"}
		}
		return Series{}, nil
	}
	sum := &series{}
	for _, r := range results {
		sum.interval = max(sum.interval, int64(r.Series.Interval))
	}
	for i, r := range results {
		interval := int64(r.Series.Interval)
		if interval <= 0 || sum.interval%interval != 0 {
			return Series{}, &MergeError{i, fmt.Sprintf("its figures over time have intervals of %v, which do not fit "+
				"whole into the %v of another: give all of one kind", r.Series.Interval, time.Duration(sum.interval))}
		}
		for k, p := range r.Series.Points {
			at := int64(k) / (sum.interval / interval)
			for int64(len(sum.list)) <= at {
				sum.list = append(sum.list, bin{})
			}
			if why := sum.list[at].addPoint(&p); why != "" {
				return Series{}, &MergeError{i, "figures over time: " + why}
			}
		}
	}
	return sum.result(), nil
}

func (b *bin) addPoint(p *Point) string {
	if p.Count > 0 && p.Histogram == "" {
		return "percentiles without their histograms cannot be added: measure again"
	}
	var from Histogram
	if err := from.UnmarshalText([]byte(p.Histogram)); err != nil {
		return err.Error() + ": collect the file or measure again"
	}
	b.count += p.Count
	b.failed += p.Failed
	return b.latency.add(&from)
}
