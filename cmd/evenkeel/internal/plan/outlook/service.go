package outlook

import (
	"fmt"
	"math"
	"time"
)

// A Service is a load, and the replica that was measured under it. Zero is not known.
type Service struct {
	// AllocRate is of all replicas together, in bytes per second. No default.
	AllocRate float64

	// Live is the heap of one replica after a collection, in bytes. No default.
	Live float64

	// Requests are per second in all replicas together.
	Requests float64

	// Work is the CPU time of requests in all replicas together, without the collector's, in
	// seconds per second. [WorkAtKnee] derives it.
	Work Range

	// MarkPerByte is the CPU time to mark a live byte, in seconds. Default: 0.75 to 2.4 ns.
	MarkPerByte Range

	// Beside is the memory of one replica besides its heap's objects, in bytes.
	Beside float64

	// Procs are the processors of one replica. Default: 1.
	Procs int

	// Held is how long a collection holds the turn, in seconds. Default: the marking, and 30 to 85
	// ms.
	Held Range
}

// Options say what to compare for. The zero value works.
type Options struct {
	// Default: 0, as many as each way needs. Limit: 1,000,000.
	Replicas int

	// Turns is how many replicas may collect at once. Default: 1. Limit: 1,000,000.
	Turns int

	// Memory of one replica, in bytes. Default: 0, no limit.
	Memory float64
}

func refuse(field, format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{field}, args...)...)
}

// Queues grow fast above this share of the processors.
const knee = 0.85

const (
	markLow, markHigh = 0.75e-9, 2.4e-9 // seconds of CPU per live byte
	turnLow, turnHigh = 0.030, 0.085    // seconds besides the marking

	// At a higher load a request takes less CPU, with fewer wake-ups and warmer caches.
	idleFrom, kneeShare = 1. / 3, 124. / 181

	markNearKnee = 1.3 // near saturation, of the marking

	spareMemory = 1.22 // of the heap's size, because spans are partly free
)

// WorkAtKnee returns Service.Work at the knee. Requests took measured seconds of CPU per second, on
// procs processors.
func WorkAtKnee(measured float64, procs float64) Range {
	if !(measured > 0 && procs > 0) {
		return Range{}
	}
	cost := func(load float64) float64 {
		load = min(max(load, idleFrom), knee)
		return 1 - (1-kneeShare)*(load-idleFrom)/(knee-idleFrom)
	}
	return Range{measured * cost(knee) / cost(measured/procs), measured}
}

func (s Service) withDefaults() (Service, error) {
	for _, f := range []struct {
		field string
		value float64
		need  bool
	}{
		{"AllocRate", s.AllocRate, true},
		{"Live", s.Live, true},
		{"Requests", s.Requests, false},
		{"Beside", s.Beside, false},
	} {
		if !(f.value >= 0 && f.value <= math.MaxFloat64) || f.need && f.value == 0 {
			return s, refuse(f.field, "%g is out of range: use a figure above 0", f.value)
		}
	}
	for field, r := range map[string]Range{"Work": s.Work, "MarkPerByte": s.MarkPerByte, "Held": s.Held} {
		if err := r.check(field); err != nil {
			return s, err
		}
	}
	if s.Work.Low == 0 && s.Work.High > 0 {
		return s, refuse("Work", "%g to %g begins at 0: use a lower bound above it, or 0 to 0 if it is not known",
			s.Work.Low, s.Work.High)
	}
	if s.Procs < 0 {
		return s, refuse("Procs", "%d is negative: use how many processors a replica has", s.Procs)
	}
	s.Procs = max(s.Procs, 1)
	if s.MarkPerByte.IsZero() {
		s.MarkPerByte = Range{markLow, markHigh}
	}
	if s.Held.IsZero() {
		s.Held = s.MarkPerByte.Times(s.Live / float64(s.Procs)).add(Range{turnLow, turnHigh})
	}
	return s, nil
}

func (o Options) check() error {
	switch {
	case o.Replicas < 0 || o.Replicas > 1e6:
		return refuse("Replicas", "%d is out of range: use 1 to 1000000, or 0 for as many as are needed", o.Replicas)
	case o.Turns < 0 || o.Turns > 1e6:
		return refuse("Turns", "%d is out of range: use 1 to 1000000, or 0 for 1", o.Turns)
	case !(o.Memory >= 0 && o.Memory <= math.MaxFloat64):
		return refuse("Memory", "%g is out of range: use bytes, or 0 for no limit", o.Memory)
	}
	return nil
}

func seconds(s float64) time.Duration {
	return time.Duration(min(s*float64(time.Second), math.MaxInt64/2))
}

// A Range has a figure between two. The zero Range is not known.
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
		return refuse(field, "%g to %g is not a range: use figures that are not negative, the lower one first",
			r.Low, r.High)
	}
	return nil
}
