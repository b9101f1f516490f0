package aio_test

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// TestCloseDoesNotLinger: with a linger time, and a peer that does not read, a close blocks for that
// time, even in non-blocking mode. Conn.Close does not, nor does anything after it.
func TestCloseDoesNotLinger(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		pump(t, w, func(r aio.Result) {
			if r.Op == aio.OpRead {
				echo(r)
			}
		})
		accepted := make(chan net.Conn, 2)
		addr := accept(t, func(c net.Conn) { accepted <- c })
		stuck, err := net.Dial("tcp", addr.String())
		must(t, err)
		defer stuck.Close()
		full := <-accepted
		must(t, full.(*net.TCPConn).SetLinger(int(2*patience/time.Second)))
		must(t, full.(*net.TCPConn).SetWriteBuffer(16<<10)) // so it is full at once
		handle := attach(t, w, full)
		must(t, handle.Write(nil, make([]byte, 16<<20), none))
		eventually(t, "the write waits", func() bool { s := w.Stats(); return s.Operations == 1 && s.Waits > 0 })

		other, err := net.Dial("tcp", addr.String())
		must(t, err)
		defer other.Close()
		must(t, attach(t, w, <-accepted).Read(nil, make([]byte, 8), none))
		must(t, other.SetDeadline(time.Now().Add(patience))) // Close and the echo: before the linger time
		must(t, handle.Close())
		_, err = other.Write([]byte("alive"))
		must(t, err)
		if n, err := other.Read(make([]byte, 8)); n != 5 || err != nil {
			t.Errorf("an echo beside it: %d bytes, %v", n, err)
		}
	})
}

// asking asks its Watcher when it is closed, which takes the Watcher's lock.
type asking struct {
	*net.TCPConn
	w *aio.Watcher
}

func (c *asking) Close() error {
	_ = c.w.Stats()
	return c.TCPConn.Close()
}

// TestCloseOfTheUsersOwn: the user's Close may use the Watcher.
func TestCloseOfTheUsersOwn(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		addr := accept(t, func(c net.Conn) { c.Close() })
		c, err := net.Dial("tcp", addr.String())
		must(t, err)
		attach(t, w, &asking{c.(*net.TCPConn), w})
	})
}

// press has the collector run some dozen times a second until the test ends: its goroutine replaces, again and again,
// the parts of a heap full of pointers, and the heap may grow by a tenth alone before it is collected again.
func press(t *testing.T) {
	type node struct {
		next *node
		_    [56]byte
	}
	lists := make([]*node, 1<<12) // 16 MiB in all
	fill := func(lists []*node) {
		for i := range lists {
			lists[i] = nil
			for range 64 {
				lists[i] = &node{next: lists[i]}
			}
		}
	}
	fill(lists)
	percent := debug.SetGCPercent(10)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i = (i + 64) % len(lists) {
			fill(lists[i : i+64])
			select {
			case <-stop:
				return
			case <-time.After(4 * time.Millisecond): // the rest of the machine is for others
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
		debug.SetGCPercent(percent)
	})
}

// growth is what a process holds, looked at again and again.
type growth struct {
	heap, resident, goroutines, descriptors []int
}

// look takes one look, and says what it saw.
func (g *growth) look(t testing.TB) string {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	g.heap = append(g.heap, int(m.HeapAlloc))
	g.resident = append(g.resident, resident(t))
	g.goroutines = append(g.goroutines, runtime.NumGoroutine())
	g.descriptors = append(g.descriptors, descriptors(t))
	n := len(g.heap) - 1
	return fmt.Sprintf("heap %d KiB, %d KiB resident, %d goroutines, %d descriptors, %d collections",
		g.heap[n]>>10, g.resident[n]>>10, g.goroutines[n], g.descriptors[n], m.NumGC)
}

// judge fails the test where the least of the last looks is more than the most of those before: a
// leak does not go back.
func (g *growth) judge(t testing.TB) {
	for _, c := range []struct {
		what  string
		seen  []int
		slack int
	}{
		{"bytes of heap", g.heap, 8 << 20},
		{"bytes resident", g.resident, 16 << 20},
		{"goroutines", g.goroutines, 20},
		{"descriptors", g.descriptors, 20},
	} {
		n := len(c.seen)
		if n < 6 {
			continue // the first looks are at what still begins
		}
		if least, most := slices.Min(c.seen[n-n/4:]), slices.Max(c.seen[1:n/2]); least > most+c.slack {
			t.Errorf("%s have grown: %d at the end, %d in the first half: %v", c.what, least, most, c.seen)
		}
	}
}

func descriptors(t testing.TB) int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc/self/fd here:", err)
	}
	return len(d)
}

// resident returns the memory of the process, in bytes.
func resident(t testing.TB) int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc/self/statm here:", err)
	}
	f := strings.Fields(string(text))
	if len(f) < 2 {
		t.Fatalf("/proc/self/statm is %q", text)
	}
	pages, err := strconv.Atoi(f[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestGrowth: what goes up and down has not grown, and what goes up alone has.
func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		of   func(i int) int
		want bool
	}{
		{func(i int) int { return 100 + i%7 }, false},
		{func(i int) int { return 100 + 3*i }, true},
	} {
		var g growth
		for i := range 60 {
			g.descriptors = append(g.descriptors, c.of(i))
		}
		f := &failing{TB: t}
		if g.judge(f); f.failed != c.want {
			t.Errorf("%v: grown is %v", g.descriptors, f.failed)
		}
	}
}

// failing is a test that remembers whether it has failed.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Errorf(string, ...any) { f.failed = true }
