package window

import (
	"runtime"
	"strings"
	"sync"
	"testing"

	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// TestLive measures that each shape keeps as much as it says.
func TestLive(t *testing.T) {
	const size, length = 1000, 8000
	for _, shape := range Shapes {
		t.Run(shape, func(t *testing.T) {
			before := live()
			w := New(shape, size, length)
			full := live() - before
			w.Push(3 * length)
			after := live() - before
			runtime.KeepAlive(w)
			for _, got := range []int64{full, after} {
				if got < w.Live() || got > w.Live()*14/10 {
					t.Errorf("%d bytes live, want some %d", got, w.Live())
				}
			}
		})
	}
}

func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestPushCounts(t *testing.T) {
	for _, shape := range Shapes {
		w := New(shape, 100, 50)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 10 {
					w.Push(3)
				}
			})
		}
		wg.Wait()
		if got := w.Push(1); got != 121 {
			t.Errorf("%s: %d pushed, want 121", shape, got)
		}
	}
}

func TestNodes(t *testing.T) {
	for _, c := range []struct{ size, nodes int }{{1, 1}, {64, 1}, {65, 2}, {1024, 16}} {
		n := 0
		for m := chain(c.size); m != nil; m = m.next {
			n++
		}
		if n != c.nodes {
			t.Errorf("%d bytes are %d nodes, want %d", c.size, n, c.nodes)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		shape        string
		size, length int
		want         string
	}{
		{"tree", 1, 1, "flat, ptr"},
		{"flat", 0, 1, "0 bytes"},
		{"flat", MaxSize + 1, 1, "choose 1 to"},
		{"ptr", 64, 0, "at least 1"},
		{"flat", 1 << 20, 1 << 20, "in all"},
	} {
		if err := Check(c.shape, c.size, c.length); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Check(%q, %d, %d): %v, want %q", c.shape, c.size, c.length, err, c.want)
		}
	}
}

// TestWarm tests that the memory was let go.
func TestWarm(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	Warm(64 << 20)
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken < 64<<20 || after.HeapAlloc > before.HeapAlloc+32<<20 {
		t.Errorf("%d bytes were taken, of which %d are held", taken, after.HeapAlloc-before.HeapAlloc)
	}
}
