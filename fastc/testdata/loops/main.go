// Command loops calls a leaf function in loops on all processors, through functions like those that
// fastcgen writes, while it collects garbage. It prints how many collections there were in time.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"evenkeel.dev/fastc"
	"evenkeel.dev/fastc/internal/leaf"
)

const (
	turns = 20_000  // of a call: some 20 µs
	most  = 500_000 // calls of a loop
)

var (
	site   = fastc.MustSite(leaf.Turn, "turn", fastc.Options{Budget: time.Hour})
	enough atomic.Bool
)

type frame struct{ arg0, arg1, arg2, arg3, arg4, arg5 int64 }

// turn and measuredTurn have the form of generated functions, and are too large to be inlined into a
// loop that no profile calls hot.

func turn(a, b, c, d, e, f int64) int32 {
	if a < 0 || b < 0 || c < 0 || d < 0 || e < 0 || f < 0 {
		panic("turn: require a, b, c, d, e, f >= 0")
	}
	var frame frame
	frame.arg0 = a
	frame.arg1 = b
	frame.arg2 = c
	frame.arg3 = d
	frame.arg4 = e
	frame.arg5 = f
	return fastc.Call(leaf.Turn, unsafe.Pointer(&frame))
}

func measuredTurn(a, b, c, d, e, f int64) int32 {
	if a < 0 || b < 0 || c < 0 || d < 0 || e < 0 || f < 0 {
		panic("measuredTurn: require a, b, c, d, e, f >= 0")
	}
	var frame frame
	frame.arg0 = a
	frame.arg1 = b
	frame.arg2 = c
	frame.arg3 = d
	frame.arg4 = e
	frame.arg5 = f
	return site.Call(unsafe.Pointer(&frame))
}

// loop and measuredLoop are what the profile calls hot.

func loop() {
	for i := int64(0); i < most && !enough.Load(); i++ {
		turn(turns, i, i, i, i, i)
	}
}

func measuredLoop() {
	for i := int64(0); i < most && !enough.Load(); i++ {
		measuredTurn(turns, i, i, i, i, i)
	}
}

// collect collects beside a loop on each processor, and counts the collections that were over before
// the loops were.
func collect(loop func(), want int) (n int) {
	enough.Store(false)
	var running atomic.Int32
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Add(1)
		wg.Go(func() {
			loop()
			running.Add(-1)
		})
	}
	for all := running.Load(); n < want; n++ {
		if runtime.GC(); running.Load() < all {
			break
		}
	}
	enough.Store(true)
	wg.Wait()
	return n
}

func main() {
	want, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	fmt.Println("Call", collect(loop, want))
	fmt.Println("Site.Call", collect(measuredLoop, want))
}
