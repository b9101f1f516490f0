//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/reqtrace/region"
)

// many is a program of many goroutines that serve a request now and then. Each request takes a lock
// twice and has a worker do something. One of a hundred also sleeps. The program has several locks,
// because with one a busy machine makes a convoy of thousands, and each trace is different.
type many struct {
	shards [64]shard
	jobs   chan chan int
}

type shard struct {
	mu   sync.Mutex
	seen int
}

// writeMany traces such a program until the trace has the given size.
func writeMany(file string, goroutines int, bytes int64) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(f, 1<<20)
	defer func() { err = errors.Join(err, buffered.Flush(), f.Close()) }()
	m := &many{jobs: make(chan chan int)}
	for i := range 16 {
		go m.work(&m.shards[i])
	}
	for i := range goroutines {
		go m.serve(&m.shards[i%len(m.shards)], rand.New(rand.NewPCG(1, uint64(i))))
	}
	w := &counter{w: buffered}
	if err := trace.Start(w); err != nil {
		return err
	}
	for w.n.Load() < bytes {
		time.Sleep(10 * time.Millisecond)
	}
	trace.Stop()
	return nil
}

func (m *many) serve(s *shard, r *rand.Rand) {
	for {
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		m.handle(s, r.IntN(100) == 0)
	}
}

func (m *many) handle(s *shard, slow bool) {
	reg := region.Start(context.Background(), "")
	defer reg.End()
	s.count()
	result := make(chan int, 1)
	m.jobs <- result
	<-result
	if slow {
		time.Sleep(time.Millisecond)
	}
	s.count()
}

func (m *many) work(s *shard) {
	for result := range m.jobs {
		result <- s.count()
	}
}

func (s *shard) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	return s.seen
}

// counter counts the bytes that are written.
type counter struct {
	w io.Writer
	n atomic.Int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n.Add(int64(n))
	return n, err
}
