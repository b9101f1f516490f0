//go:build cgo

package fastc_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unsafe"

	"evenkeel.dev/fastc"
	"evenkeel.dev/fastc/internal/leaf"
)

// silent is for sites that are to be diverted.
var silent = slog.New(slog.DiscardHandler)

func TestCall(t *testing.T) {
	t.Log(fastc.Source())
	for name, call := range map[string]func(fn, arg unsafe.Pointer) int32{"Call": fastc.Call, "Slow": fastc.Slow} {
		t.Run(name, func(t *testing.T) {
			f := leaf.AddFrame{A: 1 << 40, B: 2}
			if r := call(leaf.Add, unsafe.Pointer(&f)); r != 0 || f.Sum != 1<<40+2 {
				t.Errorf("returned %d, sum %d", r, f.Sum)
			}
			for _, v := range []int64{-1, 1 << 31, 1<<32 - 7, -1 << 31} {
				if r := call(leaf.Low, unsafe.Pointer(&v)); r != int32(v) {
					t.Errorf("low of %#x: %d", v, r)
				}
			}
		})
	}
}

func BenchmarkCall(b *testing.B) {
	var f leaf.AddFrame
	for b.Loop() {
		fastc.Call(leaf.Add, unsafe.Pointer(&f))
	}
}

func BenchmarkSlow(b *testing.B) {
	var f leaf.AddFrame
	for b.Loop() {
		fastc.Slow(leaf.Add, unsafe.Pointer(&f))
	}
}

func BenchmarkSite(b *testing.B) {
	var f leaf.AddFrame
	s := fastc.MustSite(leaf.Add, "add", fastc.Options{})
	for b.Loop() {
		s.Call(unsafe.Pointer(&f))
	}
}

func TestSite(t *testing.T) {
	s := fastc.MustSite(leaf.Add, "add", fastc.Options{Budget: time.Hour})
	for i := range int64(10_000) {
		f := leaf.AddFrame{A: i, B: 2}
		if r := s.Call(unsafe.Pointer(&f)); r != 0 || f.Sum != i+2 {
			t.Fatalf("call %d: returned %d, sum %d", i, r, f.Sum)
		}
	}
	if st := s.Stats(); st.Timed < 20 || st.Calls < 1000 || st.Calls > 10_000 || st.Longest == 0 {
		t.Errorf("%+v", st)
	}
}

// A call by hand; fastcgen writes the frame, the shim and a function around them.
func Example() {
	a, b := []float64{1, 2, 3}, []float64{4, 5, 6}
	var f leaf.DotFrame // struct { const double *a, *b; size_t n; double dot; }
	f.A, f.B, f.N = unsafe.SliceData(a), unsafe.SliceData(b), uintptr(len(a))
	fastc.Call(leaf.Dot, unsafe.Pointer(&f)) // int32_t leaf_dot(void *frame)
	fmt.Println(f.Dot)
	// Output: 32
}

// TestAllocs: Call leaves the frame, and what it points to, on the stack. Slow moves them to the
// heap.
func TestAllocs(t *testing.T) {
	counted := fastc.MustSite(leaf.Dot, "counted", fastc.Options{Budget: time.Hour})
	timed := fastc.MustSite(leaf.Dot, "timed", fastc.Options{Budget: time.Hour})
	doubted := fastc.MustSite(leaf.Dot, "doubted", fastc.Options{Budget: 1, Logger: silent})
	diverted := fastc.MustSite(leaf.Dot, "diverted", fastc.Options{Hold: 24 * time.Hour, Logger: silent})
	fastc.Divert(diverted)
	all := map[string]float64{
		"Call": testing.AllocsPerRun(1000, func() {
			a, b := [2]float64{1, 2}, [2]float64{3, 4}
			f := leaf.DotFrame{A: &a[0], B: &b[0], N: 2}
			fastc.Call(leaf.Dot, unsafe.Pointer(&f))
		}),
		"Slow": testing.AllocsPerRun(1000, func() {
			a, b := [2]float64{1, 2}, [2]float64{3, 4}
			f := leaf.DotFrame{A: &a[0], B: &b[0], N: 2}
			fastc.Slow(leaf.Dot, unsafe.Pointer(&f))
		}),
	}
	for name, site := range map[string]*fastc.Site{
		"counted": counted, "timed": timed, "doubted": doubted,
		"diverted": diverted,
	} {
		all["Site "+name] = testing.AllocsPerRun(1000, func() {
			a, b := [2]float64{1, 2}, [2]float64{3, 4}
			f := leaf.DotFrame{A: &a[0], B: &b[0], N: 2}
			site.Call(unsafe.Pointer(&f))
		})
		all["Site.Slow "+name] = testing.AllocsPerRun(1000, func() {
			a, b := [2]float64{1, 2}, [2]float64{3, 4}
			f := leaf.DotFrame{A: &a[0], B: &b[0], N: 2}
			site.Slow(unsafe.Pointer(&f))
		})
	}
	for name, n := range all {
		want := 0.0
		if strings.Contains(name, "Slow") {
			want = 3 // two vectors and the frame
		}
		if n != want {
			t.Errorf("%s: %v allocations a call, want %v", name, n, want)
		}
	}
}
