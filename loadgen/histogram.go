package loadgen

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

const (
	histogramLowest  = int64(time.Microsecond)
	histogramHighest = int64(time.Hour)
	histogramDigits  = 3
)

// Histogram is an HDR histogram (hdrhistogram.org) of durations from 1 µs to 1 h, within 0.1% or
// 0.5 µs. Longer ones count as 1 h. The zero value is empty. It is not safe for concurrent use. In
// JSON it is HdrHistogram's V2 compressed encoding in base64.
type Histogram struct{ h *hdr.Histogram }

// Record adds a duration. One out of range counts as the nearest in range.
func (h *Histogram) Record(d time.Duration) { h.RecordN(d, 1) }

// RecordN adds n durations of one length. If n is below 1, it adds nothing.
func (h *Histogram) RecordN(d time.Duration, n int64) {
	if n < 1 {
		return
	}
	h.fill()
	_ = h.h.RecordValues(min(max(int64(d), 0), h.h.HighestTrackableValue()), n) // in range
}

func (h *Histogram) fill() {
	if h.h == nil {
		h.h = hdr.New(histogramLowest, histogramHighest, histogramDigits)
	}
}

// Count returns the number of durations.
func (h *Histogram) Count() int64 {
	if h.h == nil {
		return 0
	}
	return h.h.TotalCount()
}

// Quantile returns the duration that a fraction q (0 to 1) of them does not exceed. Of an empty
// histogram it is 0.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	if q = max(q, 0); !(q <= 1) {
		q = 1
	}
	return time.Duration(h.h.ValueAtQuantile(q * 100))
}

// Max returns the longest duration.
func (h *Histogram) Max() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.h.ValueAtQuantile(100))
}

// Mean returns the mean.
func (h *Histogram) Mean() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.h.Mean())
}

// Merge adds the durations of from. Those beyond the range of h count as its longest.
func (h *Histogram) Merge(from *Histogram) {
	if from.Count() == 0 {
		return
	}
	h.fill()
	if beyond := h.h.Merge(from.h); beyond > 0 {
		_ = h.h.RecordValues(h.h.HighestTrackableValue(), beyond) // in range
	}
}

// All yields the longest duration and the count of each bucket that is not empty, in rising order.
func (h *Histogram) All() iter.Seq2[time.Duration, int64] {
	return func(yield func(time.Duration, int64) bool) {
		if h.h == nil {
			return
		}
		for _, b := range h.h.Distribution() {
			if b.Count > 0 && !yield(time.Duration(b.To), b.Count) {
				return
			}
		}
	}
}

// MarshalJSON writes the V2 compressed encoding in base64, or "" if h is empty.
func (h Histogram) MarshalJSON() ([]byte, error) {
	if h.Count() == 0 {
		return []byte(`""`), nil
	}
	b, err := h.h.EncodeV2()
	if err != nil {
		return nil, err
	}
	return json.Marshal(string(b))
}

// UnmarshalJSON reads what MarshalJSON or any other HdrHistogram wrote.
func (h *Histogram) UnmarshalJSON(b []byte) error {
	h.h = nil
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if s == "" {
		return nil
	}
	var err error
	h.h, err = decode(s)
	return err
}

func decode(text string) (*hdr.Histogram, error) {
	h, err := hdr.Decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("histogram: not HdrHistogram's V2 compressed encoding in base64: %w", err)
	}
	return h, nil
}

// Packed is a [Histogram] that takes little memory, because a [Series] has hundreds. Its JSON is
// that of a Histogram. It is encoded when written, and decoded by [Merge].
type Packed struct {
	text string // as read; "": measured, or empty

	lowest, highest, digits int64
	buckets                 []packedBucket
}

// packedBucket is a bucket that is not empty. index is HdrHistogram's.
type packedBucket struct {
	index int32
	count int64
}

// Pack packs a histogram.
func Pack(h *Histogram) Packed {
	if h.Count() == 0 {
		return Packed{}
	}
	return pack(h.h)
}

func pack(h *hdr.Histogram) Packed {
	s := h.Export()
	p := Packed{lowest: s.LowestTrackableValue, highest: s.HighestTrackableValue, digits: s.SignificantFigures}
	for i, n := range s.Counts {
		if n > 0 {
			p.buckets = append(p.buckets, packedBucket{int32(i), n})
		}
	}
	p.buckets = slices.Clone(p.buckets) // without the room that append left
	return p
}

// IsZero reports whether it is empty.
func (p Packed) IsZero() bool { return p.text == "" && len(p.buckets) == 0 }

// unpack returns nil for an empty one.
func (p Packed) unpack() (*hdr.Histogram, error) {
	switch {
	case p.text != "":
		return decode(p.text)
	case len(p.buckets) == 0:
		return nil, nil
	}
	s := &hdr.Snapshot{LowestTrackableValue: p.lowest, HighestTrackableValue: p.highest, SignificantFigures: p.digits}
	s.Counts = make([]int64, p.buckets[len(p.buckets)-1].index+1)
	for _, b := range p.buckets {
		s.Counts[b.index] = b.count
	}
	return hdr.Import(s), nil
}

// MarshalJSON writes the V2 compressed encoding in base64, or "" if p is empty.
func (p Packed) MarshalJSON() ([]byte, error) {
	if p.text != "" {
		return json.Marshal(p.text)
	}
	h, err := p.unpack()
	if err != nil {
		return nil, err
	}
	return Histogram{h}.MarshalJSON()
}

// UnmarshalJSON keeps the text. [Merge] finds out whether it is a histogram.
func (p *Packed) UnmarshalJSON(b []byte) error {
	*p = Packed{}
	return json.Unmarshal(b, &p.text)
}
