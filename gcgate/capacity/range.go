package capacity

import (
	"fmt"
	"math"
)

// A Range is a figure that is known to lie between two. The zero Range is a figure that is not
// known.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Exactly returns the range of a figure that is known.
func Exactly(x float64) Range { return Range{x, x} }

// IsZero reports whether the figure is not known.
func (r Range) IsZero() bool { return r == Range{} }

// Times returns the range of the product with a figure that is known and not negative.
func (r Range) Times(x float64) Range { return Range{r.Low * x, r.High * x} }

// Add returns the range of the sum.
func (r Range) Add(s Range) Range { return Range{r.Low + s.Low, r.High + s.High} }

// check refuses what is no range of figures that are not negative.
func (r Range) check(field string) error {
	if !(r.Low >= 0 && r.High >= r.Low && r.High <= math.MaxFloat64) {
		return &FieldError{
			field,
			fmt.Sprintf("%g to %g is no range: use figures that are not negative, the lower one first",
				r.Low, r.High),
		}
	}
	return nil
}
