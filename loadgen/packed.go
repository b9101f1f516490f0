package loadgen

import (
	"encoding/json"
	"fmt"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

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
