package main

import (
	"io"
	"sync/atomic"

	"evenkeel.dev/gctrace"
)

// cycles counts the collections of a program by its gctrace lines: it is the program's standard
// error, of which the rest is not kept.
type cycles struct {
	n    atomic.Int64
	in   *io.PipeWriter
	done chan struct{} // closed when all was read
}

func newCycles() *cycles {
	out, in := io.Pipe()
	c := &cycles{in: in, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		for sc := gctrace.NewScanner(out); sc.Scan(); {
			c.n.Add(1)
		}
		_, _ = io.Copy(io.Discard, out) // after a fault of the scanner: the program must not block
	}()
	return c
}

// Write implements [io.Writer].
func (c *cycles) Write(b []byte) (int, error) { return c.in.Write(b) }

// close ends the counting, when the program has ended. c may be nil.
func (c *cycles) close() {
	if c == nil {
		return
	}
	_ = c.in.Close() // it never fails
	<-c.done
}
