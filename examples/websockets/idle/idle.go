// Package idle measures what an idle connection holds of a server.
package idle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

const dialers = 16 // at once

// Memory is what a process holds, in bytes.
type Memory struct {
	Resident, Heap, Stack int64
	Goroutines            int64
}

func Read() Memory {
	runtime.GC() // a sync.Pool keeps what it has for one more
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Memory{resident(), int64(m.HeapAlloc), int64(m.StackInuse), int64(runtime.NumGoroutine())}
}

func (m Memory) Each(after Memory, n int) (resident, heap, stack, goroutines float64) {
	each := func(from, to int64) float64 { return float64(to-from) / float64(n) }
	return each(m.Resident, after.Resident), each(m.Heap, after.Heap),
		each(m.Stack, after.Stack), each(m.Goroutines, after.Goroutines)
}

// resident returns 0 without proc(5).
func resident() int64 {
	var size, pages int64
	text, _ := os.ReadFile("/proc/self/statm")
	_, _ = fmt.Sscan(string(text), &size, &pages)
	return pages * int64(os.Getpagesize())
}

// Open opens n connections by dial. With an error it returns those that it has.
func Open(ctx context.Context, n int, dial func(context.Context) (net.Conn, error)) ([]net.Conn, error) {
	conns, failed := make([]net.Conn, n), make([]error, dialers)
	var all sync.WaitGroup
	for d := range failed {
		all.Go(func() {
			for i := d; i < n && ctx.Err() == nil && failed[d] == nil; i += dialers {
				conns[i], failed[d] = dial(ctx)
			}
		})
	}
	all.Wait()
	return conns, errors.Join(append(failed, ctx.Err())...)
}

func Close(conns []net.Conn) {
	for _, c := range conns {
		if c != nil {
			c.Close()
		}
	}
}
