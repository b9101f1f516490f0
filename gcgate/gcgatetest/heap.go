package gcgatetest

import (
	"math"
	"sync"
	"time"
)

// A Heap is a gcgate.Collector that grows with time. Make one with [NewHeap], set its fields before
// the gate starts, and use [Heap.Do] from then on. Its methods may be called from any goroutine.
type Heap struct {
	mu sync.Mutex

	// How it behaves.
	Rate      float64       // of allocation, bytes per second
	Live      uint64        // bytes that a collection leaves
	Mark      time.Duration // how long a collection marks
	Sweep     time.Duration // how long Collect takes after that
	Hang      chan struct{} // not nil: marking does not end before it is closed
	Beside    uint64        // bytes that the memory limit counts in addition to the heap's objects
	Kept      uint64        // bytes that the process has from the system, if more than heap and Beside
	Group     int64         // memory limit of the control group; math.MaxInt64: none
	Others    int64         // bytes that other processes have of the control group
	Available uint64        // bytes that the machine can give to new work; 0: not known

	// What was done to it.
	Percent   int    // GOGC
	Limit     int64  // memory limit in bytes; math.MaxInt64: none
	Automatic uint64 // cycles that the runtime began by itself, and that have ended
	Running   int    // calls of Collect that have not returned

	at        time.Time
	allocated float64
	base      float64
	live      uint64
	cycles    uint64
	marking   int
	automatic time.Time // when the runtime's own cycle ends; zero: none marks
	marked    time.Duration
}

// NewHeap returns a heap that allocates 100 MiB per second and has 100 MiB live after a collection,
// which takes 50 ms, under GOGC=100 and without limits.
func NewHeap() *Heap {
	now := time.Now()
	return &Heap{
		Rate: 100 << 20, Live: 100 << 20, Mark: 50 * time.Millisecond,
		Percent: 100, Limit: math.MaxInt64, Group: math.MaxInt64, at: now,
	}
}

// Do calls f while nothing else happens to the heap. f may read and change the fields.
func (h *Heap) Do(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.advance()
	f()
}

// EndCycle ends a cycle without a call of Collect. Call it within [Heap.Do]. It is the runtime's
// own if you count up Automatic, too, else that of a runtime.GC somewhere.
func (h *Heap) EndCycle() {
	h.base, h.live = h.allocated, h.Live
	h.cycles++
	h.marked += h.Mark
}

// The runtime (runtime/mgcpacer.go). Under a memory limit it begins as early as it may if marking
// is slow, as here.
const (
	minAutomatic  = 4 << 20  // the smallest heap that the runtime collects by itself
	limitedStart  = 45. / 64 // of the way from the live heap to the limit's goal: a cycle begins
	limitedShare  = 0.97     // of what the limit leaves to the heap: the goal
	limitedMargin = 1 << 20  // bytes: the goal is at least as far below that
)

func (h *Heap) start() float64 {
	live, room := float64(h.live), float64(h.Limit)-float64(h.Beside)
	start := math.Inf(1)
	if h.Percent >= 0 {
		start = live * (1 + float64(h.Percent)/100)
	}
	if goal := max(live, min(limitedShare*room, room-limitedMargin)); goal < start {
		start = live + limitedStart*(goal-live)
	}
	return max(start, minAutomatic)
}

// advance brings allocated up to now, and collects as the runtime would. mu is held.
func (h *Heap) advance() {
	now := time.Now()
	if end := h.automatic; !end.IsZero() && !end.After(now) {
		h.allocate(end)
		h.automatic = time.Time{}
		h.EndCycle()
		h.Automatic++
	}
	h.allocate(now)
	heap := float64(h.live) + h.allocated - h.base
	if h.marking == 0 && h.automatic.IsZero() && heap > h.start() {
		h.automatic = now.Add(h.Mark)
	}
}

func (h *Heap) allocate(to time.Time) {
	h.allocated += h.Rate * to.Sub(h.at).Seconds()
	h.at = to
}

// Read implements gcgate.Collector.
func (h *Heap) Read() (cycles, automatic, allocated, live uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.advance()
	return h.cycles, h.Automatic, uint64(h.allocated), h.live
}

// Collect implements gcgate.Collector. It waits for a cycle of the runtime's own, then takes Mark
// and Sweep of time, and ends after Hang.
func (h *Heap) Collect() {
	h.mu.Lock()
	h.Running++
	for h.advance(); !h.automatic.IsZero(); h.advance() {
		left := h.automatic.Sub(h.at)
		h.mu.Unlock()
		time.Sleep(left)
		h.mu.Lock()
	}
	h.marking++
	mark, sweep, hang := h.Mark, h.Sweep, h.Hang
	h.mu.Unlock()
	time.Sleep(mark)
	if hang != nil {
		<-hang
	}
	h.Do(func() {
		h.EndCycle()
		h.marking--
	})
	time.Sleep(sweep)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Running--
}

// GOGC implements gcgate.Collector.
func (h *Heap) GOGC() (percent int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Percent
}

// SetPercent implements gcgate.Collector.
func (h *Heap) SetPercent(percent int) (old int) {
	h.Do(func() { old, h.Percent = h.Percent, percent })
	return old
}

// SetLimit implements gcgate.Collector.
func (h *Heap) SetLimit(bytes int64) (old int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old = h.Limit
	if bytes >= 0 {
		h.Limit = bytes
		// the next allocation does so (runtime/mheap.go)
		if most, mapped := max(uint64(bytes), h.used()), h.mapped(); mapped > most {
			h.Kept = most
		}
	}
	return old
}

func (h *Heap) used() uint64 { return h.live + uint64(h.allocated-h.base) + h.Beside }

func (h *Heap) mapped() uint64 { return max(h.Kept, h.used()) }

// Mapped implements gcgate.Collector.
func (h *Heap) Mapped() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mapped()
}

// Overhead implements gcgate.Collector.
func (h *Heap) Overhead() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Beside
}

// Roots implements gcgate.Collector.
func (h *Heap) Roots() uint64 { return 0 }

// Memory implements gcgate.Collector.
func (h *Heap) Memory() (groupLeft, groupLimit int64, available uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if groupLeft = h.Group; groupLeft != math.MaxInt64 {
		groupLeft = max(groupLeft-h.Others, 1)
	}
	return groupLeft, h.Group, h.Available
}

// Marked implements gcgate.Collector.
func (h *Heap) Marked() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.marked
}
