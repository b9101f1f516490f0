package gctrace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"
)

// childEnv makes the test binary a program that collects and says what it took.
const childEnv = "EVENKEEL_GCTRACE_CHILD"

// report is what the child prints: the cycles it had run before and after, and its Summary.
type childReport struct {
	First, Last int64
	Summary     Summary
}

var childSink [4][]byte

// child makes garbage between two snapshots. Both are taken right behind a runtime.GC, with
// no collection under way, so that the snapshots hold whole collections.
func child() {
	churn(4)
	runtime.GC()
	before, first := Take(), collections()
	churn(60)
	runtime.GC()
	after, last := Take(), collections()
	// The line of a cycle is written when runtime.GC may have returned, with the semaphore of the
	// world held (runtime/mgc.go, gcMarkTermination), which this needs: none is cut off by the end.
	runtime.ReadMemStats(new(runtime.MemStats))
	if err := json.NewEncoder(os.Stdout).Encode(childReport{first, last, after.Since(before)}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func collections() int64 {
	var st debug.GCStats
	debug.ReadGCStats(&st)
	return st.NumGC
}

// churn allocates 4 MiB on each of four goroutines, n times.
func churn(n int) {
	var wg sync.WaitGroup
	for g := range childSink {
		wg.Go(func() {
			for range n * 16 {
				childSink[g] = make([]byte, 256<<10)
			}
		})
	}
	wg.Wait()
}

// The two sources tell the same of the same process. What each figure may be off by follows
// from how the runtime rounds or books it, not from how fast this machine is.
func TestMetricsAgreeWithLines(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1", "GODEBUG=gctrace=1", "GOMAXPROCS=2", "GOGC=100", "GOMEMLIMIT=off")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var r childReport
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	all, sc := []Cycle(nil), NewScanner(&stderr)
	for c := range sc.All() {
		all = append(all, c)
	}
	if st := sc.Stats(); int64(len(all)) < r.Last || st.Foreign != 0 || st.Lost != 0 {
		t.Fatalf("%d cycles, %+v; the child ran %d", len(all), st, r.Last)
	}
	cycles := all[r.First:r.Last]
	lines := Summarize(slices.Values(cycles), Window{})
	// Ends are rounded, so a window could not be sure to begin behind the cycle before; what
	// that one is needed for is the first step of the estimate.
	est, _ := lines.AllocBytes.Get()
	lines.AllocBytes = Of(est + cycles[0].HeapAfter - all[r.First-1].HeapLive)
	compareSources(t, cycles, lines, r.Summary)
}

func compareSources(t *testing.T, cycles []Cycle, lines, snap Summary) {
	n := int64(len(cycles))
	if lines.Collections != n || snap.Collections != n || n < 2 {
		t.Errorf("%d and %d collections, want %d", lines.Collections, snap.Collections, n)
	}
	equal(t, "Forced", lines.Forced, snap.Forced)
	equal(t, "Procs", lines.Procs, snap.Procs)

	// The same counters, of which the lines cut off less than a quantum each; 2 ns each for
	// the way through float64 seconds.
	slack := time.Duration(2*n + 2)
	var assist, background, idle, pause, mark time.Duration // what was cut off at most
	for _, c := range cycles {
		assist += quantum(c.CPU.Assist)
		background += quantum(c.CPU.Background)
		idle += quantum(c.CPU.Idle)
		pause += quantum(c.CPU.SweepTermination) + quantum(c.CPU.MarkTermination)
		mark += c.Wall.Mark + quantum(c.Wall.Mark)
	}
	within(t, "CPU.Assist", snap.CPU.Assist, lines.CPU.Assist, -slack, assist+slack)
	within(t, "CPU.Background", snap.CPU.Background, lines.CPU.Background, -slack, background+slack)
	within(t, "CPU.Idle", snap.CPU.Idle, lines.CPU.Idle, -slack, idle+slack)

	// The metrics book the part of a pause in which all Ps stood still, on all of them, and
	// what was idle of the rest; the lines all of it. A mark phase that had to be resumed
	// has paused once more, which the lines count as marking.
	procs, _ := snap.Procs.Get()
	total, _ := lines.CPU.Pause.Get()
	within(t, "CPU.Pause", snap.CPU.Pause, lines.CPU.Pause, 1-total, pause+slack+mark*time.Duration(procs))

	live, _ := snap.Heap.Live.Last.Get()
	equal(t, "Heap.Live.Last in MiB", lines.Heap.Live.Last, Of(live>>20<<20))

	// Each step of the estimate is off by less than 1 MiB for rounding. The heap is booked
	// by the span when a P takes one to allocate from: 136 classes of at most 32 KiB.
	est, _ := lines.AllocBytes.Get()
	exact, _ := snap.AllocBytes.Get()
	if off, most := est-exact, n<<20+int64(procs+1)*136*32<<10; off > most || off < -most {
		t.Errorf("AllocBytes: %d by the lines, %d by the metrics: more than %d apart", est, exact, most)
	}

	window, _ := snap.Window.Get()
	cpu, _ := snap.CPU.Total.Get()
	want := float64(cpu) / float64(window) / float64(procs) * 100
	if got, ok := snap.CPUPercent.Get(); !ok || got < want*0.999999 || got > want*1.000001 {
		t.Errorf("CPUPercent %v, want %v", got, want)
	}
	if longest, ok := snap.Wall.PauseMax.Get(); !ok || longest <= 0 {
		t.Errorf("Wall.PauseMax %v, %v", longest, ok)
	}
}

func equal[T comparable](t *testing.T, name string, a, b Value[T]) {
	t.Helper()
	if a != b || !a.Known() {
		t.Errorf("%s: %+v by the lines, %+v by the metrics", name, a, b)
	}
}

// within wants got between want+low and want+high.
func within(t *testing.T, name string, got, want Value[time.Duration], low, high time.Duration) {
	t.Helper()
	g, ok1 := got.Get()
	w, ok2 := want.Get()
	if !ok1 || !ok2 || g < w+low || g > w+high {
		t.Errorf("%s: %v by the metrics (%v), want %v to %v (%v)", name, g, ok1, w+low, w+high, ok2)
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	leaks.Main(m)
}
