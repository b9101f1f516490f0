package fastc

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

const (
	defaultBudget = 200 * time.Microsecond
	defaultHold   = 10 * time.Second
	maxHold       = 24 * time.Hour
	maxHoldFactor = 16

	strikes   = 3  // calls over the budget that divert a function
	probation = 16 // calls within the budget, one after the other, that make it trusted
)

// Options configure a [Site]. The zero value works.
type Options struct {
	// Budget is what one call may take, and so what it may add to a stop of the world.
	// Default: 0, which is 200 µs; negative: none, calls are only counted.
	Budget time.Duration

	// Hold is how long calls go through cgo once they keep exceeding the budget. It doubles
	// each time that they exceed it again right after it, up to 16 times this. Default: 0, which
	// is 10 s; negative: for ever. Limit: 24 h.
	Hold time.Duration

	// Logger gets Warn when calls begin to go through cgo, and Debug when they no longer do.
	// Default: nil, which is slog.Default().
	Logger *slog.Logger
}

// Site calls one C function with a budget of time. It times some of the calls: each of the first
// ones, then one in 128. When one exceeds the budget it times every call; at the third that does,
// before 16 in a row do not, the function is diverted: it goes through ordinary cgo for a while
// ([Options.Hold]), and then has to prove itself again. At most three timed calls exceed the
// budget before the switch, and as many again as are under way in other threads.
//
// That is no bound for a single call: nothing can stop one that runs. Where the time follows
// from the size of the input, choose [Slow] before the call (fastcgen: //fastc:slow).
//
// Any goroutine may use it, any number at a time.
type Site struct {
	fn      unsafe.Pointer
	trusted atomic.Uint32 // 1: only samples are timed
	name    string
	opts    Options

	diverted atomic.Bool

	calls, timed, over, slow atomic.Uint64
	longest                  atomic.Int64 // ns

	countdowns countdowns // of a trusted function

	mu         sync.Mutex // guards what follows; taken by timed calls only
	struck     int        // calls over the budget since the function was trusted
	clean      int        // calls within the budget since the last that was not
	hold       time.Duration
	until      time.Time // diverted until; zero: for ever
	diversions uint64
}

// Stats are the counters of a [Site].
type Stats struct {
	Calls      uint64        // of the function; an estimate from the timed ones
	Timed      uint64        // of the calls on the short way
	Over       uint64        // of the timed calls, beyond the budget
	Slow       uint64        // calls through ordinary cgo, by diversion or by [Site.Slow]
	Longest    time.Duration // of the timed calls
	Diversions uint64        // switches to ordinary cgo
	Diverted   bool          // now
}

// NewSite returns a Site for calls of the C function fn, which logs call name.
func NewSite(fn unsafe.Pointer, name string, opts Options) *Site {
	if opts.Budget == 0 {
		opts.Budget = defaultBudget
	}
	if opts.Hold == 0 {
		opts.Hold = defaultHold
	}
	opts.Hold = min(opts.Hold, maxHold)
	return &Site{fn: fn, name: name, opts: opts, hold: opts.Hold}
}

// Call is the package's [Call] of the function, or [Slow] while it is diverted. It is never inlined,
// for the same reason.
//
//go:noinline
func (s *Site) Call(arg unsafe.Pointer) int32 { return siteCall(s, arg) }

// Slow is the package's [Slow], counted.
func (s *Site) Slow(arg unsafe.Pointer) int32 {
	s.calls.Add(1)
	s.slow.Add(1)
	return cgocall(s.fn, arg)
}

// Stats returns the counters. They are read one after the other while calls go on.
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

// watch is a call that is looked at. siteCall jumps here.
func watch(s *Site, arg unsafe.Pointer) int32 {
	if s.diverted.Load() && !s.returned(time.Now()) {
		return s.Slow(arg)
	}
	chosen() // or the first call would be timed with the search
	weight := uint64(1)
	if s.trusted.Load() != 0 {
		s.countdowns.restart()
		weight = sampleOneIn
	}
	start := time.Now()
	r := call(s.fn, arg)
	took := time.Since(start)

	s.calls.Add(weight)
	s.timed.Add(1)
	for old := s.longest.Load(); int64(took) > old && !s.longest.CompareAndSwap(old, int64(took)); {
		old = s.longest.Load()
	}
	s.judge(took)
	return r
}

// judge takes note of a call on the short way.
func (s *Site) judge(took time.Duration) {
	within := s.opts.Budget < 0 || took <= s.opts.Budget
	if within && s.trusted.Load() != 0 {
		return
	}
	if !within {
		s.over.Add(1)
	}
	if !Available() {
		s.trusted.Store(1) // there is one way
		return
	}
	hold, diverted := s.weigh(within)
	if !diverted {
		return
	}
	until := hold.String()
	if hold < 0 {
		until = "the end of the process"
	}
	s.logger().Warn("fastc: calls keep exceeding their budget and go through cgo for now; choose Slow by the size of the input, or a larger budget",
		"function", s.name, "budget", s.opts.Budget, "took", took, "for", until)
}

// weigh trusts the function after enough calls within the budget, and diverts it, for hold, at
// the last of too many that were not.
func (s *Site) weigh(within bool) (hold time.Duration, diverted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.diverted.Load() { // the call began before the switch
		return 0, false
	}
	if within {
		if s.clean++; s.clean >= probation {
			s.struck, s.hold = 0, s.opts.Hold
			s.countdowns.restart()
			s.trusted.Store(1)
		}
		return 0, false
	}
	s.clean = 0
	s.trusted.Store(0)
	if s.struck++; s.struck < strikes {
		return 0, false
	}
	hold = s.hold
	s.divert(time.Now())
	return hold, true
}

// divert begins a hold. mu is held.
func (s *Site) divert(now time.Time) {
	s.struck = 0
	s.diversions++
	s.until = time.Time{}
	if s.hold >= 0 {
		s.until = now.Add(s.hold)
		if s.hold < maxHoldFactor*s.opts.Hold {
			s.hold *= 2
		}
	}
	s.diverted.Store(true)
}

// returned reports whether the function is back on the short way, and brings it back when its
// hold is over.
func (s *Site) returned(now time.Time) bool {
	s.mu.Lock()
	still := s.diverted.Load()
	over := still && !s.until.IsZero() && !now.Before(s.until)
	if over {
		s.struck, s.clean = 0, 0
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
