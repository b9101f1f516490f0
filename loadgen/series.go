package loadgen

import (
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

const (
	seriesBins     = 400 // at most; then bins are joined two by two
	seriesInterval = 20 * time.Millisecond
	seriesDigits   = 2
)

// Series is latency over time, by the time a request was due.
type Series struct {
	Interval time.Duration `json:"interval_ns"`
	Points   []Point       `json:"points"` // Points[i] starts at i x Interval after the first measured request was due
}

// Point is one interval of a Series. Its latencies are within 1%.
type Point struct {
	Count  int64         `json:"count"`            // answered
	Failed int64         `json:"failed,omitempty"` // of all due in the interval
	P50    time.Duration `json:"p50_ns"`
	P99    time.Duration `json:"p99_ns"`
	Max    time.Duration `json:"max_ns"`

	Histogram Packed `json:"histogram,omitzero"` // that the latencies are taken from, of two digits: what Merge adds
}

// series collects a Series: bins of one interval, joined when there are too many.
type series struct {
	interval int64
	bins     []bin
}

type bin struct {
	latency *hdr.Histogram
	failed  int64
	count   int64
}

func newSeries() *series { return &series{interval: int64(seriesInterval)} }

// at returns the bin of a time in nanoseconds since the start.
func (s *series) at(t int64) *bin {
	i := int(max(t, 0) / s.interval)
	for i >= seriesBins {
		s.join()
		i = int(max(t, 0) / s.interval)
	}
	for len(s.bins) <= i {
		s.bins = append(s.bins, bin{})
	}
	return &s.bins[i]
}

func (s *series) join() {
	n := 0
	for i := 0; i < len(s.bins); i += 2 {
		b := s.bins[i]
		if i+1 < len(s.bins) {
			b.add(s.bins[i+1])
		}
		s.bins[n] = b
		n++
	}
	clear(s.bins[n:])
	s.bins = s.bins[:n]
	s.interval *= 2
}

func (b *bin) add(c bin) {
	b.failed += c.failed
	b.count += c.count
	switch {
	case b.latency == nil:
		b.latency = c.latency
	case c.latency != nil:
		b.latency.Merge(c.latency)
	}
}

func (b *bin) record(ns int64) {
	if b.latency == nil {
		b.latency = hdr.New(histogramLowest, histogramHighest, seriesDigits)
	}
	_ = b.latency.RecordValue(min(max(ns, 0), histogramHighest)) // in range
}

func (s *series) result() Series {
	r := Series{Interval: time.Duration(s.interval), Points: make([]Point, len(s.bins))}
	for i, b := range s.bins {
		p := Point{Count: b.count, Failed: b.failed}
		if b.latency != nil {
			p.P50 = time.Duration(b.latency.ValueAtQuantile(50))
			p.P99 = time.Duration(b.latency.ValueAtQuantile(99))
			p.Max = time.Duration(b.latency.Max())
			p.Histogram = pack(b.latency)
		}
		r.Points[i] = p
	}
	return r
}
