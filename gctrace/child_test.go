package gctrace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"
)

// childEnv makes the test binary a program that collects and says what it took.
const childEnv = "EVENKEEL_GCTRACE_CHILD"

// childReport is what the child prints: the cycles it had run before and after, and what the runtime
// counted between them.
type childReport struct {
	First, Last int64
	Counted     counters
}

// counters are the runtime's own counts.
type counters struct {
	Forced, Allocs, Live            int64
	Assist, Background, Idle, Pause time.Duration
}

func count() counters {
	samples := []metrics.Sample{
		{Name: "/gc/cycles/forced:gc-cycles"},
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/cpu/classes/gc/mark/assist:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
		{Name: "/cpu/classes/gc/pause:cpu-seconds"},
	}
	metrics.Read(samples)
	n := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	d := func(i int) time.Duration { return time.Duration(math.Round(samples[i].Value.Float64() * 1e9)) }
	return counters{n(0), n(1), n(2), d(3), d(4), d(5), d(6)}
}

func (c counters) since(before counters) counters {
	return counters{
		c.Forced - before.Forced, c.Allocs - before.Allocs, c.Live,
		c.Assist - before.Assist, c.Background - before.Background, c.Idle - before.Idle, c.Pause - before.Pause,
	}
}

var childSink [4][]byte

// child makes garbage between two counts. Both are taken right behind a runtime.GC, with no
// collection under way, so that they hold whole collections.
func child() {
	churn(4)
	runtime.GC()
	before, first := count(), collections()
	churn(60)
	runtime.GC()
	after, last := count(), collections()
	// The line of a cycle is written when runtime.GC may have returned, with the semaphore of the
	// world held (runtime/mgc.go, gcMarkTermination), which this needs: none is cut off by the end.
	runtime.ReadMemStats(new(runtime.MemStats))
	if err := json.NewEncoder(os.Stdout).Encode(childReport{first, last, after.since(before)}); err != nil {
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
	compareSources(t, cycles, lines, r.Counted)
}

func compareSources(t *testing.T, cycles []Cycle, lines Summary, counted counters) {
	n := int64(len(cycles))
	if lines.Collections != n || n < 2 {
		t.Errorf("%d collections, want %d", lines.Collections, n)
	}
	if forced, ok := lines.Forced.Get(); !ok || forced != counted.Forced {
		t.Errorf("Forced: %d by the lines, %d by the metrics", forced, counted.Forced)
	}

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
	within(t, "CPU.Assist", counted.Assist, lines.CPU.Assist, -slack, assist+slack)
	within(t, "CPU.Background", counted.Background, lines.CPU.Background, -slack, background+slack)
	within(t, "CPU.Idle", counted.Idle, lines.CPU.Idle, -slack, idle+slack)

	// The metrics book the part of a pause in which all Ps stood still, on all of them, and
	// what was idle of the rest; the lines all of it. A mark phase that had to be resumed
	// has paused once more, which the lines count as marking.
	procs, _ := lines.Procs.Get()
	total, _ := lines.CPU.Pause.Get()
	within(t, "CPU.Pause", counted.Pause, lines.CPU.Pause, 1-total, pause+slack+mark*time.Duration(procs))

	if live, ok := lines.Heap.Live.Last.Get(); !ok || live != counted.Live>>20<<20 {
		t.Errorf("Heap.Live.Last: %d by the lines, %d by the metrics", live, counted.Live)
	}

	// Each step of the estimate is off by less than 1 MiB for rounding. The heap is booked
	// by the span when a P takes one to allocate from: 136 classes of at most 32 KiB.
	est, _ := lines.AllocBytes.Get()
	if off, most := est-counted.Allocs, n<<20+int64(procs+1)*136*32<<10; off > most || off < -most {
		t.Errorf("AllocBytes: %d by the lines, %d by the metrics: more than %d apart", est, counted.Allocs, most)
	}
}

// within wants got between want+low and want+high.
func within(t *testing.T, name string, got time.Duration, want Value[time.Duration], low, high time.Duration) {
	t.Helper()
	if w, ok := want.Get(); !ok || got < w+low || got > w+high {
		t.Errorf("%s: %v by the metrics, want %v to %v (%v)", name, got, w+low, w+high, ok)
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	leaks.Main(m)
}
