package gcgatetest

import (
	"math"
	"sync"
	"time"

	"evenkeel.dev/gcgate/capacity"
)

// A Heap is a gcgate.Collector that grows with time. Make one with [NewHeap], set its fields before
// the gate starts, and use [Heap.Do] from then on. Any goroutine may call its methods.
type Heap struct {
	mu sync.Mutex

	// How it behaves. Sizes are in bytes.
	Rate      float64       // of allocation per second
	Live      uint64        // what a collection leaves
	Mark      time.Duration // how long marking takes
	Sweep     time.Duration // how long Collect goes on after that
	Hang      chan struct{} // marking waits until it is closed; nil: no wait
	Beside    uint64        // what the limit counts besides objects
	Kept      uint64        // from the system, if more than heap and Beside
	Group     int64         // limit of the control group; math.MaxInt64: none
	Others    int64         // other processes' part of the group
	Available uint64        // of the machine; 0: not known
	Allowed   time.Duration // CPU time of each Period
	Period    time.Duration // of the CPU quota; 0: none

	// What was done to it.
	Percent   int    // GOGC
	Limit     int64  // math.MaxInt64: none
	Automatic uint64 // ended cycles that the runtime began by itself

	at        time.Time
	allocated float64
	base      float64
	live      uint64
	cycles    uint64
	marking   int
	automatic time.Time // end of the runtime's own cycle; zero: none
	marked    time.Duration
}

// NewHeap returns a heap that allocates 100 MiB per second. A collection takes 50 ms and leaves 100
// MiB. GOGC is 100, without limits.
func NewHeap() *Heap {
	return &Heap{
		Rate: 100 << 20, Live: 100 << 20, Mark: 50 * time.Millisecond,
		Percent: 100, Limit: math.MaxInt64, Group: math.MaxInt64, at: time.Now(),
	}
}

// Do calls f while nothing else happens to the heap. f may use the fields.
func (h *Heap) Do(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.advance()
	f()
}

// EndCycle ends a cycle as by runtime.GC, or as by the runtime if you count up Automatic, too. Call
// it within [Heap.Do].
func (h *Heap) EndCycle() {
	h.base, h.live = h.allocated, h.Live
	h.cycles++
	h.marked += h.Mark
}

// start is as in runtime/mgcpacer.go for slow marking.
func (h *Heap) start() float64 {
	const minAutomatic = 4 << 20  // the least heap to collect
	const limitedStart = 45. / 64 // of the way to the limit's goal
	live, start := float64(h.live), math.Inf(1)
	if h.Percent >= 0 {
		start = live * (1 + float64(h.Percent)/100)
	}
	limited := capacity.RuntimeStart(live, float64(h.Limit)-float64(h.Beside))
	if live+(limited-live)/limitedStart < start { // the runtime takes the lower goal
		start = limited
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

func (h *Heap) Read() (cycles, automatic, allocated, live uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.advance()
	return h.cycles, h.Automatic, uint64(h.allocated), h.live
}

// Collect waits for a cycle of the runtime's own, and then for Mark, Hang and Sweep.
func (h *Heap) Collect() {
	h.mu.Lock()
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
}

func (h *Heap) GOGC() (percent int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Percent
}

func (h *Heap) SetPercent(percent int) (old int) {
	h.Do(func() { old, h.Percent = h.Percent, percent })
	return old
}

func (h *Heap) SetLimit(bytes int64) (old int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old = h.Limit
	if bytes >= 0 {
		h.Limit = bytes
		// As in runtime/mheap.go.
		if most, mapped := max(uint64(bytes), h.used()), h.mapped(); mapped > most {
			h.Kept = most
		}
	}
	return old
}

func (h *Heap) used() uint64 { return h.live + uint64(h.allocated-h.base) + h.Beside }

func (h *Heap) mapped() uint64 { return max(h.Kept, h.used()) }

func (h *Heap) Mapped() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mapped()
}

func (h *Heap) Overhead() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Beside
}

func (h *Heap) Roots() uint64 { return 0 }

func (h *Heap) Memory() (groupLeft, groupLimit int64, groupFile string, available uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if groupLeft = h.Group; groupLeft != math.MaxInt64 {
		groupLeft = max(groupLeft-h.Others, 1)
	}
	return groupLeft, h.Group, "", h.Available
}

func (h *Heap) Marked() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.marked
}

// CPU has marking take one CPU.
func (h *Heap) CPU() (used, allowed, period time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.marked, h.Allowed, h.Period
}
