package aio

import (
	"runtime"
	"time"
)

// passFor is how long a pass takes at the utmost, beside goroutines that can always run.
const passFor = time.Millisecond

// passing lets the goroutines that are runnable go first, once. After runtime.Gosched alone, a
// goroutine stands in the queue of all Ps, at which a P looks when its own is empty, or at each
// 61st goroutine that it begins: those that wake each other all go before it, for as long as that
// takes (runtime/proc.go, findRunnable and runqget). A timer is looked at each time that a P
// chooses a goroutine. So what stands in that queue is another goroutine, and the caller waits for
// it or for the timer. It belongs to the goroutine in WaitIO.
type passing struct {
	last  func()        // gives way
	over  chan struct{} // last has: what was runnable before it has run
	sent  bool          // last was started, and over has not told yet
	timer *time.Timer
}

func (p *passing) pass() {
	if p.timer == nil {
		over := make(chan struct{}, 1) // nobody may wait any more
		p.over, p.timer = over, time.NewTimer(passFor)
		p.last = func() {
			runtime.Gosched()
			over <- struct{}{}
		}
	} else {
		p.timer.Reset(passFor)
	}
	select {
	case <-p.over: // of the pass before, which its timer has ended
		p.sent = false
	default:
	}
	if !p.sent {
		p.sent = true
		go p.last()
	}
	select {
	case <-p.over:
		p.sent = false
		p.timer.Stop()
	case <-p.timer.C:
	}
}
