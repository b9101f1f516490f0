//go:build linux

package main

import (
	"sync"
	"time"

	"evenkeel.dev/loadgen"
)

// sleep is a goroutine in the server's process. How late it wakes is what the server's loop costs every
// other goroutine.
type sleep struct {
	mu   sync.Mutex
	late loadgen.Histogram // guarded by mu
}

func startSleep() *sleep {
	s := &sleep{}
	go func() {
		const nap = 5 * time.Millisecond
		for {
			start := time.Now()
			time.Sleep(nap)
			late := time.Since(start) - nap
			s.mu.Lock()
			s.late.Record(late)
			s.mu.Unlock()
		}
	}()
	return s
}

// begin forgets the lateness so far.
func (s *sleep) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = loadgen.Histogram{}
}

// end says the lateness since begin.
func (s *sleep) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	say(map[string]float64{
		"late, mean": milliseconds(s.late.Mean()), "late, p99": milliseconds(s.late.Quantile(.99)),
	})
}
