package main

import (
	"encoding/json"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"evenkeel.dev/bench/aio/wire"
)

// sleep is a goroutine beside the server's: how late it wakes is what the server's loop costs
// every other goroutine of the process.
type sleep struct {
	mu   sync.Mutex
	late *hdrhistogram.Histogram // guarded by mu
}

func startSleep() *sleep {
	s := &sleep{late: wire.NewHistogram()}
	go func() {
		const nap = 5 * time.Millisecond
		for {
			start := time.Now()
			time.Sleep(nap)
			late := time.Since(start) - nap
			s.mu.Lock()
			if err := s.late.RecordValue(int64(max(late, 1))); err != nil {
				log.Fatal("server: -sleeper: ", err)
			}
			s.mu.Unlock()
		}
	}()
	return s
}

// reset forgets the lateness so far.
func (s *sleep) reset() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late.Reset()
}

// report prints the lateness since reset.
func (s *sleep) report() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum, err := wire.Summary(s.late)
	if err != nil {
		log.Fatal("server: -sleeper: ", err)
	}
	b, err := json.Marshal(sum)
	if err != nil {
		log.Fatal("server: -sleeper: ", err)
	}
	fmt.Println(wire.Sleeper + string(b))
}
