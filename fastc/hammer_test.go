//go:build cgo && unix

package fastc_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"evenkeel.dev/fastc"
	"evenkeel.dev/fastc/internal/leaf"
	"evenkeel.dev/internal/testutil"
)

// TestHammer calls C from many goroutines while the runtime does all that could hurt.
func TestHammer(t *testing.T) { hammer(t, 1, 0) }

// TestSoak is TestHammer for as long as make soak says.
func TestSoak(t *testing.T) {
	length := testutil.Soak()
	if length == 0 {
		t.Skip("make soak runs it")
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	hammer(t, seed, length)
}

// enough is what hammer waits for, however long it takes: only a hang takes hangs.
const (
	enoughCalls       = 200_000
	enoughCollections = 40
	enoughSignals     = 10
	enoughDiversions  = 5 // none where there is one way
	hangs             = 2 * time.Minute
)

// hammer collects all the time, grows stacks between and around calls, sends signals, and
// profiles and traces, for length at least and until there was enough of each. Every result is
// compared.
func hammer(t *testing.T, seed uint64, length time.Duration) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	h := &hammering{
		plain: fastc.MustSite(leaf.Add, "plain", fastc.Options{Budget: time.Hour}),
		// It goes to and fro between the two ways, and each call of it is over the budget.
		restless: fastc.MustSite(leaf.Dot, "restless", fastc.Options{
			Budget: 1, Hold: time.Millisecond,
			Logger: silent,
		}),
	}
	stopProfiles := profile(t)
	stopSignals := h.storm(t)
	before, began := collections(), time.Now()
	var over atomic.Bool
	var wg sync.WaitGroup
	for g := range 128 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(g)))
			for !over.Load() {
				h.grow(r, 1+r.IntN(60))
				if r.IntN(2) == 0 { // what counts the signals has its turn too, on one processor
					runtime.Gosched()
				}
			}
		})
	}
	for h.failed.Load() == nil && time.Since(began) < length+hangs &&
		(time.Since(began) < length || !h.enough(before)) {
		time.Sleep(time.Millisecond)
		if fastc.Available() && !h.restless.Stats().Diverted {
			fastc.Divert(h.restless)
		}
	}
	over.Store(true)
	wg.Wait()
	stopSignals()
	stopProfiles()
	if failed := h.failed.Load(); failed != nil {
		t.Error(*failed)
	} else if !h.enough(before) {
		t.Errorf("not enough after %v", length+hangs)
	}
	st := h.restless.Stats()
	t.Logf("%d calls, %d collections, %d signals, %d diversions, %s",
		h.calls.Load(), collections()-before, h.signals.Load(), st.Diversions, fastc.Source())
	if !fastc.Available() && st.Diversions > 0 {
		t.Errorf("diversions where there is one way: %+v", st)
	}
}

// collections counts those of this process, without stopping it.
func collections() uint64 {
	sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// hammering is what the goroutines of hammer share.
type hammering struct {
	plain, restless *fastc.Site
	calls, signals  atomic.Int64
	failed          atomic.Pointer[string] // the first wrong result
}

// enough reports whether all that could hurt has happened often enough since there were that many
// collections.
func (h *hammering) enough(before uint64) bool {
	diverted := !fastc.Available() || h.restless.Stats().Diversions >= enoughDiversions
	return diverted && h.calls.Load() >= enoughCalls && h.signals.Load() >= enoughSignals &&
		collections() >= before+enoughCollections
}

func (h *hammering) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	h.failed.CompareAndSwap(nil, &text)
}

// grow calls C on a stack that is depth times half a KiB deeper each way: it has to move now
// and then between two calls, with frames that C has written to.
//
//go:noinline
func (h *hammering) grow(r *rand.Rand, depth int) {
	var pad [64]int64
	for i := range pad {
		pad[i] = int64(depth + i)
	}
	f := leaf.AddFrame{A: r.Int64(), B: pad[r.IntN(64)]}
	want := f.A + f.B
	h.around(r, &f)
	if depth > 0 {
		h.grow(r, depth-1)
	}
	if f.Sum != want {
		h.fail("add at depth %d: %d, want %d", depth, f.Sum, want)
	}
	for i := range pad {
		if pad[i] != int64(depth+i) {
			h.fail("the stack at depth %d has changed", depth)
		}
	}
	h.dot(r)
}

// around adds by one of the ways, with a frame on its caller's stack.
func (h *hammering) around(r *rand.Rand, f *leaf.AddFrame) {
	h.calls.Add(1)
	switch r.IntN(8) {
	case 0:
		fastc.Slow(leaf.Add, unsafe.Pointer(f))
	case 1, 2, 3:
		h.plain.Call(unsafe.Pointer(f))
	default:
		fastc.Call(leaf.Add, unsafe.Pointer(f))
	}
}

// dot multiplies a vector on the stack and one on the heap, whose neighbours are garbage.
func (h *hammering) dot(r *rand.Rand) {
	h.calls.Add(1)
	var onStack [8]float64
	n := 1 + r.IntN(8)
	onHeap := make([]float64, n)
	want := 0.0
	for i := range n {
		onStack[i], onHeap[i] = float64(r.IntN(100)), float64(r.IntN(100))
		want += onStack[i] * onHeap[i]
	}
	f := leaf.DotFrame{A: &onStack[0], B: &onHeap[0], N: uintptr(n)}
	switch r.IntN(8) {
	case 0:
		fastc.Slow(leaf.Dot, unsafe.Pointer(&f))
	case 1, 2, 3:
		h.restless.Call(unsafe.Pointer(&f))
	default:
		fastc.Call(leaf.Dot, unsafe.Pointer(&f))
	}
	if f.Dot != want {
		h.fail("dot of %v and %v: %v, want %v", onStack[:n], onHeap, f.Dot, want)
	}
}

// storm sends this process a signal every 100 µs, beside those by which Go preempts, and counts
// those that arrive.
func (h *hammering) storm(t *testing.T) (stop func()) {
	arrive, end := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(arrive, syscall.SIGUSR1)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(100 * time.Microsecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-arrive:
				h.signals.Add(1)
			case <-tick.C:
				if err := syscall.Kill(syscall.Getpid(), syscall.SIGUSR1); err != nil {
					t.Error(err)
				}
			}
		}
	})
	return func() {
		close(end)
		wg.Wait()
		signal.Stop(arrive)
	}
}

// profile turns on the CPU profile and the execution trace, unless go test has them on.
func profile(t *testing.T) (stop func()) {
	profiling, tracing := pprof.StartCPUProfile(io.Discard), trace.Start(io.Discard)
	for _, err := range []error{profiling, tracing} {
		if err != nil {
			t.Log(err)
		}
	}
	return func() {
		if profiling == nil {
			pprof.StopCPUProfile()
		}
		if tracing == nil {
			trace.Stop()
		}
	}
}

func init() {
	roles["crash in Call"] = crashInCall
	roles["overflow in Call"] = overflowInCall
	roles["crash in Slow"] = crashInSlow
	roles["crash in Site"] = crashInSite
	roles["crash in sampled Site"] = crashInTrustedSite
}

//go:noinline
func crashInCall() {
	var frame int
	fastc.Call(leaf.Crash, unsafe.Pointer(&frame))
}

//go:noinline
func overflowInCall() {
	var frame int32
	fastc.Call(leaf.Overflow, unsafe.Pointer(&frame))
}

//go:noinline
func crashInSlow() {
	var frame int
	fastc.Slow(leaf.Crash, unsafe.Pointer(&frame))
}

//go:noinline
func crashInSite() {
	var frame int
	fastc.MustSite(leaf.Crash, "crash", fastc.Options{}).Call(unsafe.Pointer(&frame))
}

//go:noinline
func crashInTrustedSite() {
	left := int64(1000)
	site := fastc.MustSite(leaf.Fuse, "fuse", fastc.Options{Budget: time.Hour})
	for {
		site.Call(unsafe.Pointer(&left))
	}
}

// TestCrash holds that a segmentation fault in C, also that of a stack which overflows, says which
// Go function called it.
func TestCrash(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := append(strings.Fields(os.Getenv("EVENKEEL_EMULATOR")), exe)
	for role, caller := range map[string]string{
		"overflow in Call": "overflowInCall", "crash in Call": "crashInCall", "crash in Slow": "crashInSlow",
		"crash in Site": "crashInSite", "crash in sampled Site": "crashInTrustedSite",
	} {
		t.Run(role, func(t *testing.T) {
			env := append(os.Environ(), "EVENKEEL_ROLE="+role)
			wantCrash(t, `(?m)^SIGSEGV: segmentation violation$`, "evenkeel.dev/fastc_test."+caller, env, command[0],
				command[1:]...)
		})
	}
}
