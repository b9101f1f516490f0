package capacity

import "math"

// A Range is a figure that is known to lie between two. The zero Range is not known.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Exactly returns the range of a known figure.
func Exactly(x float64) Range { return Range{x, x} }

// IsZero reports whether the figure is not known.
func (r Range) IsZero() bool { return r == Range{} }

// Times returns the range of the product with a figure that is not negative.
func (r Range) Times(x float64) Range { return Range{r.Low * x, r.High * x} }

func (r Range) add(s Range) Range { return Range{r.Low + s.Low, r.High + s.High} }

func (r Range) check(field string) error {
	if !(r.Low >= 0 && r.High >= r.Low && r.High <= math.MaxFloat64) {
		return refuseField(field, "%g to %g is not a range: use figures that are not negative, the lower one first",
			r.Low, r.High)
	}
	return nil
}
