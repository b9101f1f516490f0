package loadgen

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// A histogram's range and resolution: 1 µs to 1 h, three significant digits.
const (
	histogramLowest  = int64(time.Microsecond)
	histogramHighest = int64(time.Hour)
	histogramDigits  = 3
)

// Histogram counts durations in an HDR histogram (hdrhistogram.org) of nanoseconds, from 1 µs to 1
// h, within 0.1% or 0.5 µs. A longer one counts as 1 h. Its zero value is empty. It is not safe for
// concurrent use. In JSON it is HdrHistogram's V2 compressed encoding in base64.
type Histogram struct{ h *hdr.Histogram }

func (h *Histogram) record(ns int64) {
	if h.h == nil {
		h.h = hdr.New(histogramLowest, histogramHighest, histogramDigits)
	}
	// In range, so it cannot fail.
	_ = h.h.RecordValue(min(max(ns, 0), histogramHighest))
}

// Record adds a duration. One out of range counts as the nearest in range.
func (h *Histogram) Record(d time.Duration) { h.record(int64(d)) }

// Count returns the number of durations.
func (h *Histogram) Count() int64 {
	if h.h == nil {
		return 0
	}
	return h.h.TotalCount()
}

// Quantile returns the duration that a fraction q (0 to 1) does not exceed, or 0 of an empty
// histogram. The 99th percentile is Quantile(.99). A q out of range counts as 0 or 1, and NaN as 1.
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
	if h.h == nil {
		h.h = hdr.New(histogramLowest, histogramHighest, histogramDigits)
	}
	if beyond := h.h.Merge(from.h); beyond > 0 {
		_ = h.h.RecordValues(h.h.HighestTrackableValue(), beyond) // in range
	}
}

// All yields the buckets that are not empty, in rising order: the longest duration and the count.
func (h *Histogram) All() iter.Seq2[time.Duration, int64] {
	return func(yield func(time.Duration, int64) bool) {
		if h.h == nil {
			return
		}
		s := h.h.Export()
		// HdrHistogram's layout: the first half of the counts are buckets one unit wide, and so is
		// the second. The buckets of each further half are twice as wide. Distribution makes a bar
		// of each, most of them 0.
		unit := int(math.Floor(math.Log2(float64(s.LowestTrackableValue))))
		half := 1 << bits.Len(uint(math.Pow10(int(s.SignificantFigures)))-1)
		left := h.Count() // most counts are behind the longest duration
		for i, n := range s.Counts {
			if left <= 0 {
				return
			}
			if n <= 0 {
				continue
			}
			left -= n
			wide, at := 0, i
			if i >= 2*half {
				wide, at = i/half-1, i%half+half
			}
			if !yield(time.Duration(int64(at+1)<<(wide+unit)-1), n) {
				return
			}
		}
	}
}

// MarshalJSON writes the V2 compressed encoding in base64, "" for an empty histogram.
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
	d, err := hdr.Decode([]byte(s))
	if err != nil {
		return fmt.Errorf("histogram: not HdrHistogram's V2 compressed encoding in base64: %w", err)
	}
	h.h = d
	return nil
}

// Packed is the histogram of a [Point]: a [Histogram] that takes little memory, since a series has
// hundreds. It is what [Merge] adds. In JSON it is what a Histogram is; it is encoded when it is
// written, and decoded when it is added to another.
type Packed struct {
	text string // as it was read; "": it was measured, or is empty

	lowest, highest, digits int64 // of what was measured
	buckets                 []packedBucket
}

// packedBucket is a bucket that holds something: its index in HdrHistogram's counts, and how many.
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
	filled := 0
	for _, n := range s.Counts {
		if n > 0 {
			filled++
		}
	}
	p := Packed{
		lowest: s.LowestTrackableValue, highest: s.HighestTrackableValue, digits: s.SignificantFigures,
		buckets: make([]packedBucket, 0, filled),
	}
	for i, n := range s.Counts {
		if n > 0 {
			p.buckets = append(p.buckets, packedBucket{int32(i), n})
		}
	}
	return p
}

// IsZero reports whether it is empty.
func (p Packed) IsZero() bool { return p.text == "" && len(p.buckets) == 0 }

// unpack returns the histogram; nil for an empty one.
func (p Packed) unpack() (*hdr.Histogram, error) {
	switch {
	case p.text != "":
		h, err := hdr.Decode([]byte(p.text))
		if err != nil {
			return nil, fmt.Errorf("histogram: not HdrHistogram's V2 compressed encoding in base64: %w", err)
		}
		return h, nil
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

// MarshalJSON writes the V2 compressed encoding in base64, "" for an empty one.
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

// UnmarshalJSON keeps the text; whether it is a histogram is found by [Merge].
func (p *Packed) UnmarshalJSON(b []byte) error {
	*p = Packed{}
	return json.Unmarshal(b, &p.text)
}
