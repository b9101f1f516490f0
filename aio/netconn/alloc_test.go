//go:build !race

package netconn_test

import (
	"io"
	"runtime"
	"sync"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
	"evenkeel.dev/aio/netconn"
)

// TestNoAllocations: a Read and a Write allocate nothing, on either side of the hand-over.
func TestNoAllocations(t *testing.T) {
	aiosuite.OnEach(t, func(t *testing.T, b aio.Backend) {
		c, peer := pair(t, overKernel(b, "tcp"))
		var echo sync.WaitGroup
		echo.Go(func() { _, _ = io.Copy(struct{ io.Writer }{peer}, struct{ io.Reader }{peer}) })
		message := make([]byte, 100)
		if n := testing.AllocsPerRun(1000, func() {
			if _, err := c.Write(message); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, message); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v allocations a round trip", n)
		}
		must(t, c.Close())
		echo.Wait()
	})
}

// TestIdleCost bounds what an idle connection holds beside its handle: the Conn, and what a goroutine adds
// that waits in Read.
func TestIdleCost(t *testing.T) {
	const n = 1000
	aiosuite.OnEach(t, func(t *testing.T, b aio.Backend) {
		sys := overKernel(b, "unix")
		w := drive(t, sys)
		handles, conns := make([]*aio.Conn, n), make([]*netconn.Conn, n)
		var peers []io.Closer
		for i := range handles {
			own, peer := sys.Pair(t)
			peers = append(peers, peer)
			var err error
			handles[i], err = w.Attach(own)
			must(t, err)
		}
		alone := held()
		for i, h := range handles {
			conns[i] = netconn.New(h)
		}
		made := held()
		var readers sync.WaitGroup
		for _, c := range conns {
			readers.Go(func() { _, _ = c.Read(make([]byte, 1)) })
		}
		blocked(t, w, n)
		waiting := held()
		conn := made.heap - alone.heap
		heap, stack := waiting.heap-made.heap, waiting.stack-made.stack
		t.Logf("a Conn holds %d bytes; a goroutine in its Read %d more, and %d of stack", conn/n, heap/n, stack/n)
		if conn > 128*n {
			t.Errorf("an idle Conn holds %d bytes, want at most 128", conn/n)
		}
		if heap > 1400*n || stack > 4400*n {
			t.Errorf("a goroutine in Read holds %d bytes and %d of stack, want at most 1400 and 4400", heap/n, stack/n)
		}
		for i, c := range conns {
			_, _ = c.Close(), peers[i].Close()
		}
		readers.Wait()
	})
}

// memory is in bytes.
type memory struct{ heap, stack int64 }

func held() memory {
	runtime.GC()
	runtime.GC() // what a sync.Pool had
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{int64(m.HeapAlloc), int64(m.StackInuse)}
}
