package loadgen

import (
	"fmt"
	"iter"
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
// JSON it is the text of MarshalText.
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
func (h *Histogram) Max() time.Duration { return h.Quantile(1) }

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

// MarshalText writes the V2 compressed encoding in base64, or nothing if h is empty.
func (h Histogram) MarshalText() ([]byte, error) {
	if h.Count() == 0 {
		return nil, nil
	}
	return h.h.EncodeV2()
}

// UnmarshalText reads what MarshalText or any other HdrHistogram wrote.
func (h *Histogram) UnmarshalText(text []byte) error {
	h.h = nil
	if len(text) == 0 {
		return nil
	}
	decoded, err := hdr.Decode(text)
	if err != nil {
		return fmt.Errorf("histogram: not HdrHistogram's V2 compressed encoding in base64: %w", err)
	}
	h.h = decoded
	return nil
}
