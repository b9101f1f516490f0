package plan

import (
	"math"
	"time"

	"evenkeel.dev/gcgate/capacity"
)

// They index [lookAhead]'s result.
const (
	GOGC100 = iota
	GOGC400
	Gated
)

// An Outlook is what a way of collecting needs. Zero is not known.
type Outlook struct {
	Way string `json:"way"`

	// Needed replicas keep 15% of their processors free. The other figures are for Replicas.
	Needed   Range `json:"needed,omitzero"`
	Replicas Range `json:"replicas,omitzero"`

	// Memory is in bytes for one replica. TooLarge means above its limit.
	Memory      Range `json:"memory"`
	MemoryInAll Range `json:"memory_in_all,omitzero"`
	TooLarge    bool  `json:"too_large,omitempty"`

	// CPU is in seconds per request, with the collector's share.
	CPU       Range `json:"cpu_per_request,omitzero"`
	Collector Range `json:"collector_share,omitzero"`

	// Turns keep the load at [capacity.EasyLoad]. TurnLoad is for the turns given. Of Gated only.
	Turns    Range `json:"turns,omitzero"`
	TurnLoad Range `json:"turn_load,omitzero"`

	// Wait is the last replica's, in seconds. Spare is its time from the trigger to the hard
	// threshold. Of Gated only.
	Wait  Range   `json:"wait,omitzero"`
	Spare float64 `json:"spare,omitzero"`
}

func lookAhead(s load, o limits) []Outlook {
	s = s.withDefaults()
	o.Turns = max(o.Turns, 1)
	return []Outlook{s.stock(o, "GOGC=100", 1), s.stock(o, "GOGC=400", 4), s.gated(o)}
}

func (s load) stock(o limits, way string, growth float64) Outlook {
	heap := max((1+growth)*s.Live, growth*runtimeFloor)
	collector := s.marking(heap - s.Live)
	collector.High *= markNearKnee
	out := Outlook{Way: way}
	if !s.Work.IsZero() {
		out.Needed = replicas(s.Work.add(collector).Times(1 / (knee * float64(s.Procs))))
	}
	out.Replicas = out.count(o)
	out.use(s, o, collector, heap, heap)
	return out
}

const runtimeFloor = 4 << 20 // the least goal at GOGC=100; it grows with GOGC

func (s load) gated(o limits) Outlook {
	out := Outlook{Way: "gated"}
	trigger := s.trigger(o, float64(o.Replicas))
	if !s.Work.IsZero() {
		// The trigger and the number of replicas depend on each other.
		trigger = s.trigger(o, math.MaxFloat64)
		for range 8 {
			out.Needed = s.gatedReplicas(o, s.marking(capacity.Room(s.Live, trigger, gateJitter)))
			trigger = s.trigger(o, out.count(o).High)
		}
	}
	out.Replicas = out.count(o)
	room := capacity.Room(s.Live, trigger, gateJitter)
	collector := s.marking(room)
	rate := s.AllocRate / max(out.Replicas.Low, 1)
	out.use(s, o, collector, trigger, trigger+rate*s.Held.High)
	low, high := durationOf(s.Held.Low), durationOf(s.Held.High)
	out.TurnLoad = Range{
		capacity.TurnLoad(s.AllocRate, room, low, o.Turns),
		capacity.TurnLoad(s.AllocRate, room, high, o.Turns),
	}
	out.Turns = Range{
		float64(capacity.TurnsFor(s.AllocRate, room, low, capacity.EasyLoad)),
		float64(capacity.TurnsFor(s.AllocRate, room, high, capacity.EasyLoad)),
	}
	if n := out.Replicas; !n.IsZero() {
		out.Wait = Range{
			capacity.LongestWait(whole(n.Low), o.Turns, low).Seconds(),
			capacity.LongestWait(whole(n.High), o.Turns, high).Seconds(),
		}
		hard := s.Live + gateHard*(trigger-s.Live)
		if o.Memory > 0 { // it does not fall with the trigger
			highest := max(trigger, gateShare*max(o.Memory-s.Beside, 0))
			hard = min(s.Live+gateHard*(highest-s.Live), s.below(o, gateLast))
		}
		out.Spare = max(hard-trigger, 0) / capacity.CarriedRate(rate, whole(n.Low), o.Turns)
	}
	return out
}

const (
	gateTrigger = 2   // times the live heap
	gateHard    = 2.5 // times as far from the live heap as the trigger
	gateFloor   = 32 << 20
	gateFill    = 2
	gateJitter  = 0.1
	gateShare   = 0.5  // of the memory, for the trigger
	gateMost    = 0.75 // of the way to the runtime's start, for the trigger
	gateLast    = 0.9
)

func (s load) trigger(o limits, replicas float64) float64 {
	trigger := max(gateTrigger*s.Live, gateFloor)
	if o.Memory == 0 {
		return trigger
	}
	heap := max(o.Memory-s.Beside, 0)
	followed := s.Live + gateFill*s.AllocRate/max(replicas, 1)
	trigger = max(trigger, min(followed, gateShare*heap))
	return max(min(trigger, s.below(o, gateMost)), 1.25*s.Live)
}

func (s load) below(o limits, share float64) float64 {
	return s.Live + share*(capacity.RuntimeStart(s.Live, max(o.Memory-s.Beside, 0))-s.Live)
}

func (s load) gatedReplicas(o limits, collector Range) Range {
	full := knee * float64(s.Procs)
	serving, all := s.Work.Times(1/full), s.Work.add(collector).Times(1/full)
	k := float64(o.Turns)
	return replicas(Range{max(serving.Low+k, all.Low), max(serving.High+k, all.High)})
}

func (s load) marking(room float64) Range {
	return s.MarkPerByte.Times(s.Live * s.AllocRate / max(room, 1))
}

func (out *Outlook) count(o limits) Range {
	if o.Replicas > 0 {
		return exactly(float64(o.Replicas))
	}
	return out.Needed
}

func (out *Outlook) use(s load, o limits, collector Range, peakLow, peakHigh float64) {
	out.Memory = Range{peakLow, peakHigh * spareMemory}.add(exactly(s.Beside))
	out.TooLarge = o.Memory > 0 && out.Memory.Low > o.Memory
	if !out.Replicas.IsZero() {
		out.MemoryInAll = Range{out.Memory.Low * out.Replicas.Low, out.Memory.High * out.Replicas.High}
	}
	if s.Work.IsZero() {
		return
	}
	if s.Requests > 0 {
		out.CPU = s.Work.add(collector).Times(1 / s.Requests)
	}
	out.Collector = Range{collector.Low / (collector.Low + s.Work.High), collector.High / (collector.High + s.Work.Low)}
}

func replicas(r Range) Range {
	return Range{max(math.Ceil(r.Low-1e-9), 1), max(math.Ceil(r.High-1e-9), 1)}
}

func whole(x float64) int { return int(min(x, 1e6)) }

// load is what all replicas bear together, and the replica that was measured under it. Zero is not
// known. AllocRate and Live have no default.
type load struct {
	Requests  float64 `json:"requests_per_second,omitempty"` // of all replicas
	AllocRate float64 `json:"bytes_per_second"`              // of all replicas
	Live      float64 `json:"live_bytes"`                    // heap of one replica after a collection
	Procs     int     `json:"procs,omitempty"`               // processors of one replica; default 1

	// Seconds that a collection holds the turn. Default: the marking, and 30 to 85 ms.
	Held Range `json:"held_seconds,omitzero"`

	Work        Range   `json:"-"` // seconds of CPU per second for requests, of all replicas; see workAtKnee
	MarkPerByte Range   `json:"-"` // seconds of CPU to mark a live byte; default 0.75 to 2.4 ns
	Beside      float64 `json:"-"` // memory of one replica besides its heap's objects, in bytes
}

type limits struct {
	Replicas int     `json:"replicas,omitempty"`     // default 0: as many as each way needs
	Turns    int     `json:"turns"`                  // replicas that may collect at once; default 1
	Memory   float64 `json:"memory_bytes,omitempty"` // of one replica; default 0: no limit
}

// Queues grow fast above it.
const knee = 0.85

const (
	markLow, markHigh = 0.75e-9, 2.4e-9 // seconds of CPU per live byte
	turnLow, turnHigh = 0.030, 0.085    // without the marking

	// At a higher load a request takes less CPU.
	idleFrom, kneeShare = 1. / 3, 124. / 181

	markNearKnee = 1.3 // near saturation, of the marking

	spareMemory = 1.22 // of the heap's size, because spans are partly free
)

// workAtKnee takes measured seconds of CPU per second on procs processors.
func workAtKnee(measured float64, procs float64) Range {
	if !(measured > 0 && procs > 0) {
		return Range{}
	}
	cost := func(load float64) float64 {
		load = min(max(load, idleFrom), knee)
		return 1 - (1-kneeShare)*(load-idleFrom)/(knee-idleFrom)
	}
	return Range{measured * cost(knee) / cost(measured/procs), measured}
}

func (s load) withDefaults() load {
	s.Procs = max(s.Procs, 1)
	if s.MarkPerByte.IsZero() {
		s.MarkPerByte = Range{markLow, markHigh}
	}
	if s.Held.IsZero() {
		s.Held = s.MarkPerByte.Times(s.Live / float64(s.Procs)).add(Range{turnLow, turnHigh})
	}
	return s
}

func durationOf(s float64) time.Duration {
	return time.Duration(min(s*float64(time.Second), math.MaxInt64/2))
}

// A Range holds a figure. The zero Range is not known.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func exactly(x float64) Range { return Range{x, x} }

// IsZero reports whether the figure is not known.
func (r Range) IsZero() bool { return r == Range{} }

// Times multiplies with a figure that is not negative.
func (r Range) Times(x float64) Range { return Range{r.Low * x, r.High * x} }

func (r Range) add(s Range) Range { return Range{r.Low + s.Low, r.High + s.High} }
