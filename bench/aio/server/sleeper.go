//go:build linux

package main

import (
	"sync"
	"time"

	"evenkeel.dev/loadgen"
)

// sleep is a goroutine of the server. It wakes late because of the server's loop.
type sleep struct {
	mu   sync.Mutex
	late [200]time.Duration // guarded by mu
	n    int                // guarded by mu
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
			s.late[s.n%len(s.late)] = late
			s.n++
			s.mu.Unlock()
		}
	}()
	return s
}

// report prints how late it woke in the last second.
func (s *sleep) report() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var h loadgen.Histogram
	for _, late := range s.late[:min(s.n, len(s.late))] {
		h.Record(late)
	}
	say(map[string]float64{"late, mean": milliseconds(h.Mean()), "late, p99": milliseconds(h.Quantile(.99))})
}
