package aio

import (
	"runtime"
	"time"
)

// passFor bounds a pass if other goroutines can always run.
const passFor = time.Millisecond

// passing lets the runnable goroutines go first, once. It belongs to the goroutine in WaitIO.
//
// runtime.Gosched alone puts the caller into the global queue. A P looks there when its own queue
// is empty, or at each 61st goroutine, so goroutines that wake each other all go first
// (findRunnable and runqget in runtime/proc.go). But a P looks at timers each time that it chooses
// a goroutine. So another goroutine goes to the global queue, and the caller waits for it or for a
// timer.
type passing struct {
	last  func()        // calls Gosched
	over  chan struct{} // last has run, and so has all that was runnable before it
	sent  bool          // last was started, and over has not received yet
	timer *time.Timer
}

func (p *passing) pass() {
	if p.timer == nil {
		over := make(chan struct{}, 1) // the timer may have ended the wait
		p.over, p.timer = over, time.NewTimer(passFor)
		p.last = func() {
			runtime.Gosched()
			over <- struct{}{}
		}
	} else {
		p.timer.Reset(passFor)
	}
	select {
	case <-p.over: // of the pass before, which ended by its timer
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
