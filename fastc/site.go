package fastc

import (
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

const (
	probation = 16          // calls within the budget, one after the other, that make a function trusted
	doubtful  = time.Second // how long a Site asks the thread too after a call over the budget
)

// Site calls one C function with a budget of time. If at least three calls took more than 10 ms
// beyond it in a second of use, the Site diverts the function: calls go through ordinary cgo for
// [Options.Hold].
//
// The Site times the first 16 calls, then at least one in 128. It times more of them at first and
// after a call over the budget, as long as that takes at most 1% of the time. On Linux it then also
// asks the kernel how long the thread computed, so that preemption does not count.
//
// A Site does not bound a single call. If the time depends on the input, choose [Slow] before the
// call (fastcgen: //fastc:slow).
//
// Any number of goroutines may use it at a time.
type Site struct {
	fn      unsafe.Pointer
	trusted atomic.Uint32 // 1: only samples are timed
	name    string
	opts    Options

	diverted atomic.Bool
	doubt    atomic.Int64 // until when measure asks the thread too; ns since born
	born     time.Time

	pace      pace
	curiosity atomic.Int32 // calls that may still be timed beyond one in sampleOneIn

	calls, timed, over, slow atomic.Uint64
	longest                  atomic.Int64 // ns

	countdowns countdowns

	mu         sync.Mutex // guards what follows, for timed calls only
	overtime   overtime
	clean      int           // calls within the budget since the last one beyond it
	hold       time.Duration // of the last diversion
	until      time.Time
	back       time.Time // when it was last brought back
	diversions uint64
}

// Stats are the counters of a [Site].
type Stats struct {
	Calls      uint64        // of the function; some count only at the next timed call
	Timed      uint64        // of the calls on the short way
	Over       uint64        // of the timed calls, beyond the budget
	Slow       uint64        // calls through ordinary cgo, by diversion or by [Site.Slow]
	Longest    time.Duration // of the timed calls
	Diversions uint64        // switches to ordinary cgo
	Diverted   bool
}

// NewSite returns a Site for the C function fn, which logs call name. Its errors are of type
// [*evenkeel.OptionError].
func NewSite(fn unsafe.Pointer, name string, opts Options) (*Site, error) {
	opts, err := opts.normal()
	if err != nil {
		return nil, err
	}
	s := &Site{fn: fn, name: name, opts: opts, born: time.Now()}
	s.curiosity.Store(maxCuriosity)
	return s, nil
}

// MustSite is [NewSite] for a variable of a package. It panics if NewSite returns an error.
func MustSite(fn unsafe.Pointer, name string, opts Options) *Site {
	s, err := NewSite(fn, name, opts)
	if err != nil {
		panic(err)
	}
	return s
}

// Call calls the function as the package's [Call] does, or through cgo while it is diverted.
//
//go:noinline
func (s *Site) Call(arg unsafe.Pointer) int32 { return siteCall(s, arg) }

// Slow is the package's [Slow], counted.
func (s *Site) Slow(arg unsafe.Pointer) int32 {
	s.countSlow()
	return cgocall(s.fn, arg)
}

func (s *Site) countSlow() {
	s.calls.Add(1)
	s.slow.Add(1)
}

// Stats returns the counters. It reads them one after the other while calls go on.
func (s *Site) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Calls:      s.calls.Load(),
		Timed:      s.timed.Load(),
		Over:       s.over.Load(),
		Slow:       s.slow.Load(),
		Longest:    time.Duration(s.longest.Load()),
		Diversions: s.diversions,
		Diverted:   s.diverted.Load(),
	}
}

// watch makes a call that may be timed. siteCall jumps here.
func watch(s *Site, arg unsafe.Pointer) int32 {
	if s.diverted.Load() && !s.returned(time.Now()) {
		s.countSlow()
		return leafByCgo(s.fn, arg)
	}
	short := chosen().short // before the clock starts, because the first call searches
	now := time.Since(s.born)
	ask := short && (s.trusted.Load() == 0 || int64(now) < s.doubt.Load())
	cost := costOfTiming
	if ask {
		cost = costOfDoubt
	}
	calls, oneIn := int32(1), int32(sampleOneIn)
	if s.curiosity.Load() > 0 {
		if oneIn = s.pace.oneIn(now, cost); oneIn < sampleOneIn {
			s.curiosity.Add(-1)
		}
	}
	if s.trusted.Load() != 0 {
		calls = max(1, s.countdowns.restart(oneIn))
	}
	s.pace.add(calls)
	r, clock, took := s.measure(arg, ask)

	s.calls.Add(uint64(calls))
	s.timed.Add(1)
	for old := s.longest.Load(); int64(clock) > old && !s.longest.CompareAndSwap(old, int64(clock)); {
		old = s.longest.Load()
	}
	s.judge(took, calls, ask)
	return r
}

// measure returns how long a call took, and how much of that counts.
func (s *Site) measure(arg unsafe.Pointer, ask bool) (r int32, clock, charged time.Duration) {
	if !ask {
		start := time.Now()
		r = call(s.fn, arg)
		clock = time.Since(start)
		return r, clock, clock
	}
	runtime.LockOSThread() // both answers have to be one thread's
	before, known := readThread()
	start := time.Now()
	r = call(s.fn, arg)
	clock = time.Since(start)
	after, _ := readThread()
	runtime.UnlockOSThread()
	if !known {
		return r, clock, clock
	}
	return r, clock, charge(clock, before, after)
}

type thread struct {
	used  time.Duration // of a processor
	waits int64         // how often it gave up its processor by itself: to wait
}

// charge returns the part of a call's time that counts. While other threads had the processor it
// does not, unless the call waited, which no leaf does.
func charge(clock time.Duration, before, after thread) time.Duration {
	if after.waits != before.waits {
		return clock
	}
	return min(clock, after.used-before.used)
}

// judge notes a timed call, which represents that many calls. A call over the budget for which the
// thread was not asked only raises doubt.
func (s *Site) judge(took time.Duration, calls int32, asked bool) {
	within := took <= s.opts.Budget
	if within && s.trusted.Load() != 0 {
		return
	}
	if !within {
		s.over.Add(1)
		s.doubt.Store(int64(time.Since(s.born) + doubtful))
		s.curiosity.Store(maxCuriosity)
	}
	if !Available() {
		s.trusted.Store(1) // there is one way
		return
	}
	if !within && !asked {
		return
	}
	hold, diverted := s.weigh(time.Duration(calls)*(took-s.opts.Budget), within)
	if !diverted {
		return
	}
	s.logger().Warn("fastc: calls exceed their budget by more than 10 ms a second and go through cgo for now; "+
		"choose Slow by the size of the input, or a larger budget",
		"function", s.name, "budget", s.opts.Budget, "took", took, "for", hold)
}

// weigh trusts the function after enough calls within the budget. It diverts the function for hold
// after too many beyond it.
func (s *Site) weigh(beyond time.Duration, within bool) (hold time.Duration, diverted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.diverted.Load() { // the call began before the switch
		return 0, false
	}
	if within {
		if s.clean++; s.clean >= probation {
			s.countdowns.restart(sampleOneIn)
			s.trusted.Store(1)
		}
		return 0, false
	}
	s.clean = 0
	if now := time.Now(); s.overtime.add(now, beyond) {
		s.divert(now)
		return s.hold, true
	}
	return 0, false
}

// divert begins a hold. mu is held.
func (s *Site) divert(now time.Time) {
	switch {
	case s.diversions == 0 || now.Sub(s.back) >= s.hold:
		s.hold = s.opts.Hold
	case s.hold < maxHoldFactor*s.opts.Hold:
		s.hold *= 2
	}
	s.diversions++
	s.until = now.Add(s.hold)
	s.overtime, s.clean = overtime{}, 0
	s.trusted.Store(0)
	s.diverted.Store(true)
}

func (s *Site) returned(now time.Time) bool {
	s.mu.Lock()
	still := s.diverted.Load()
	over := still && !now.Before(s.until)
	if over {
		s.back = now
		s.diverted.Store(false)
	}
	s.mu.Unlock() // before logging: the handler may use this Site
	if !over {
		return !still
	}
	s.logger().Debug("fastc: calls take the short way again", "function", s.name)
	return true
}

func (s *Site) logger() *slog.Logger {
	if s.opts.Logger != nil {
		return s.opts.Logger
	}
	return slog.Default()
}
