//go:build cgo

package check

import (
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"evenkeel.dev/fastc"
	"evenkeel.dev/fastc/internal/leaf"
)

// wrong makes calls, and says which had a wrong result.
func wrong() (all []string) {
	const goroutines, rounds = 8, 500
	found := make(chan string, goroutines+2)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range rounds {
				if text := results(int64(g*rounds + i)); text != "" {
					found <- text
					return
				}
			}
		})
	}
	for range 5 {
		runtime.GC()
	}
	wg.Wait()
	if text := stack(); text != "" {
		found <- text
	}
	if text := budget(); text != "" {
		found <- text
	}
	close(found)
	for text := range found {
		all = append(all, text)
	}
	return all
}

var add = fastc.MustSite(leaf.Add, "add", fastc.Options{Budget: time.Hour})

// results compares what C makes of n with what Go does.
func results(n int64) string {
	for name, call := range map[string]func(fn, arg unsafe.Pointer) int32{"Call": fastc.Call, "Slow": fastc.Slow} {
		sum := leaf.AddFrame{A: n, B: 1 << 40}
		if r := call(leaf.Add, unsafe.Pointer(&sum)); r != 0 || sum.Sum != n+1<<40 {
			return fmt.Sprintf("%s: %d + 1<<40 = %d, returned %d", name, n, sum.Sum, r)
		}
		low := -n
		if r := call(leaf.Low, unsafe.Pointer(&low)); r != int32(-n) {
			return fmt.Sprintf("%s returned %d, want %d", name, r, -n)
		}
		x := [...]float64{float64(n), 2}
		y := []float64{0.5, 3}
		dot := leaf.DotFrame{A: &x[0], B: &y[0], N: 2}
		if call(leaf.Dot, unsafe.Pointer(&dot)); dot.Dot != float64(n)/2+6 {
			return fmt.Sprintf("%s: dot of %v and %v is %v", name, x, y, dot.Dot)
		}
	}
	sum := leaf.AddFrame{A: n, B: -1}
	if r := add.Call(unsafe.Pointer(&sum)); r != 0 || sum.Sum != n-1 {
		return fmt.Sprintf("Site: %d - 1 = %d, returned %d", n, sum.Sum, r)
	}
	return ""
}

// stack has a function use more stack than any goroutine of this program has.
func stack() string {
	deep := leaf.DeepFrame{Bytes: 1 << 20}
	if fastc.Call(leaf.Deep, unsafe.Pointer(&deep)); deep.Sum != 256 {
		return fmt.Sprintf("a function with a large frame returned %d, want 256", deep.Sum)
	}
	return ""
}

// budget exceeds one: that diverts the function exactly where there is another way.
func budget() string {
	site := fastc.MustSite(leaf.Turn, "turn", fastc.Options{Budget: time.Microsecond, Hold: 24 * time.Hour})
	for range 5 {
		turns := int64(1)
		if fastc.Available() && !site.Stats().Diverted {
			turns = 200_000_000 // several times what a Site allows in a second: what is beyond the budget sinks while others have the processor
		}
		site.Call(unsafe.Pointer(&turns))
	}
	want := fastc.Stats{Calls: 5, Timed: 3, Over: 3, Slow: 2, Diversions: 1, Diverted: true}
	if !fastc.Available() {
		want = fastc.Stats{} // one way: calls are counted, by estimate
	}
	got := site.Stats()
	if got.Diverted != want.Diverted || got.Diversions != want.Diversions || got.Slow != want.Slow {
		return fmt.Sprintf("a function over its budget: %+v, want %+v", got, want)
	}
	return ""
}
