//go:build cgo

package fastc_test

import (
	"strings"
	"testing"
	"time"
	"unsafe"

	"evenkeel.dev/fastc"
	"evenkeel.dev/fastc/internal/leaf"
)

// TestAllocs: Call leaves the frame, and what it points to, on the stack. Slow moves them to the
// heap.
func TestAllocs(t *testing.T) {
	counted := fastc.MustSite(leaf.Dot, "counted", fastc.Options{DisableBudget: true})
	timed := fastc.MustSite(leaf.Dot, "timed", fastc.Options{Budget: time.Hour})
	doubted := fastc.MustSite(leaf.Dot, "doubted", fastc.Options{Budget: 1, Logger: silent})
	diverted := fastc.MustSite(leaf.Dot, "diverted", fastc.Options{Hold: fastc.HoldForever, Logger: silent})
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
