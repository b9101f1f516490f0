// Package outlook compares what replicas need by the ways of collecting their garbage. Memory is
// known to some 20%, and replicas to a third, so figures are ranges.
package outlook

import (
	"math"

	"evenkeel.dev/gcgate/capacity"
)

// Indexes of [Compare]'s result.
const (
	GOGC100 = iota
	GOGC400
	Gated // behind a gate, with turns
)

// An Outlook is what a way of collecting needs. Zero is not known.
type Outlook struct {
	Way string `json:"way"`

	// Needed replicas keep 15% of their processors free. The other figures are for Replicas, those
	// of the options or else the needed ones.
	Needed   Range `json:"needed,omitzero"`
	Replicas Range `json:"replicas,omitzero"`

	// Memory is in bytes for one replica, MemoryInAll for all. TooLarge means above Options.Memory.
	Memory      Range `json:"memory"`
	MemoryInAll Range `json:"memory_in_all,omitzero"`
	TooLarge    bool  `json:"too_large,omitempty"`

	// CPU is in seconds per request, the collector's included. Collector is its share, from 0 to 1.
	CPU       Range `json:"cpu_per_request,omitzero"`
	Collector Range `json:"collector_share,omitzero"`

	// Headroom is the factor by which the load may grow up to 85% of the processors.
	Headroom Range `json:"headroom,omitzero"`

	// Turns is how many keep the load at [capacity.EasyLoad]. TurnLoad is the load with the
	// options' turns. Of Gated only.
	Turns    Range `json:"turns,omitzero"`
	TurnLoad Range `json:"turn_load,omitzero"`

	// Wait is of the last replica for its turn, in seconds. Spare is the time of its heap from the
	// trigger to the hard threshold. Of Gated only.
	Wait  Range   `json:"wait,omitzero"`
	Spare float64 `json:"spare,omitzero"`
}

// Compare returns an [Outlook] for each way, or an error if a figure makes no sense.
func Compare(s Service, o Options) ([]Outlook, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Turns = max(o.Turns, 1)
	return []Outlook{s.stock(o, "GOGC=100", 1), s.stock(o, "GOGC=400", 4), s.gated(o)}, nil
}

func (s Service) stock(o Options, way string, growth float64) Outlook {
	heap := max((1+growth)*s.Live, growth*runtimeFloor)
	collector := s.marking(heap - s.Live)
	collector.High *= markNearKnee
	all := s.Work.add(collector)
	out := Outlook{Way: way}
	if !s.Work.IsZero() {
		out.Needed = replicas(all.Times(1 / (knee * float64(s.Procs))))
	}
	out.Replicas = out.count(o)
	out.use(s, o, collector, heap, heap)
	if !s.Work.IsZero() && !out.Replicas.IsZero() {
		out.Headroom = o.headroom(out.Replicas, all).Times(knee * float64(s.Procs))
	}
	return out
}

// runtimeFloor is the runtime's least goal in bytes at GOGC=100. It grows with GOGC.
const runtimeFloor = 4 << 20

func (s Service) gated(o Options) Outlook {
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
	if !s.Work.IsZero() && !out.Replicas.IsZero() {
		serving := Range{max(out.Replicas.Low-float64(o.Turns), 0), max(out.Replicas.High-float64(o.Turns), 0)}
		carried, all := o.headroom(serving, s.Work), o.headroom(out.Replicas, s.Work.add(collector))
		out.Headroom = Range{min(carried.Low, all.Low), min(carried.High, all.High)}.Times(knee * float64(s.Procs))
	}
	low, high := seconds(s.Held.Low), seconds(s.Held.High)
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
	gateJitter  = 0.1  // share of the way to the trigger
	gateShare   = 0.5  // of the memory, for the trigger
	gateMost    = 0.75 // of the way to the runtime's start, for the trigger
	gateLast    = 0.9  // for the hard threshold
)

func (s Service) trigger(o Options, replicas float64) float64 {
	trigger := max(gateTrigger*s.Live, gateFloor)
	if o.Memory == 0 {
		return trigger
	}
	heap := max(o.Memory-s.Beside, 0)
	followed := s.Live + gateFill*s.AllocRate/max(replicas, 1)
	trigger = max(trigger, min(followed, gateShare*heap))
	return max(min(trigger, s.below(o, gateMost)), 1.25*s.Live)
}

// below is a heap in bytes on the way from the live one to where the runtime may begin a cycle.
func (s Service) below(o Options, share float64) float64 {
	return s.Live + share*(capacity.RuntimeStart(s.Live, max(o.Memory-s.Beside, 0))-s.Live)
}

func (s Service) gatedReplicas(o Options, collector Range) Range {
	full := knee * float64(s.Procs)
	serving, all := s.Work.Times(1/full), s.Work.add(collector).Times(1/full)
	k := float64(o.Turns)
	return replicas(Range{max(serving.Low+k, all.Low), max(serving.High+k, all.High)})
}

func (s Service) marking(room float64) Range {
	return s.MarkPerByte.Times(s.Live * s.AllocRate / max(room, 1))
}

func (out *Outlook) count(o Options) Range {
	if o.Replicas > 0 {
		return Exactly(float64(o.Replicas))
	}
	return out.Needed
}

// headroom is by how much work may grow to fill the replicas. The fewer needed ones are for less
// work.
func (o Options) headroom(replicas, work Range) Range {
	if o.Replicas > 0 {
		return Range{replicas.Low / work.High, replicas.High / work.Low}
	}
	a, b := replicas.Low/work.Low, replicas.High/work.High
	return Range{min(a, b), max(a, b)}
}

func (out *Outlook) use(s Service, o Options, collector Range, peakLow, peakHigh float64) {
	out.Memory = Range{peakLow, peakHigh * spareMemory}.add(Exactly(s.Beside))
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
