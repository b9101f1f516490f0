//go:build linux

package explain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	rtrace "runtime/trace"
	"slices"
	sys "syscall"
	"testing"
	"time"

	"golang.org/x/exp/trace"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/region"
)

// service is the load that is the trace of one. Others are of command traced with -many.
const service = "a service, 20 MB"

// megabytes are the least sizes of traces, by load.
var megabytes = map[string]int{
	service: 20, "10,000 goroutines, 10 MB": 10, "10,000 goroutines, 130 MB": 130, "10,000 goroutines, 500 MB": 500,
}

// analysisCase compares the analysis of traces with only reading them.
func analysisCase() harness.Case {
	const read, analyze = "read", "analyze"
	files := map[string]string{} // of the traces, by load
	c := harness.Case{
		Name: "explain/analysis", What: "time and memory of an analysis, next to only reading the same trace",
		Ways: []string{read, analyze}, Figures: []string{"wall", "CPU", "peak heap of the trace", "MB/s"},
		Length: 5 * time.Second,
		Open:   func(context.Context, *harness.Run) (func(), error) { return func() { clear(files) }, nil },
	}
	c.Run = func(ctx context.Context, r *harness.Run) error {
		b, err := traceOf(ctx, r, files)
		if err != nil {
			return err
		}
		return cost(r, len(b), func() error {
			if r.Way == read {
				return readAlone(b)
			}
			_, err := reqtrace.Analyze(ctx, bytes.NewReader(b), reqtrace.Options{})
			return err
		})
	}
	for _, load := range slices.Sorted(maps.Keys(megabytes)) {
		c.Loads = append(c.Loads, load)
		figure, most := "CPU", 1.5
		if load == service {
			figure, most = "wall", 3
		}
		c.Claims = append(c.Claims,
			harness.Claim{Load: load, Way: analyze, Over: read, Figure: figure, Target: harness.AtMost(1.5)},
			harness.Claim{Load: load, Way: analyze, Figure: "peak heap of the trace", Target: harness.AtMost(most)})
	}
	return c
}

// traceOf returns the trace of a load. It is taken once, and kept in a file so that it is in the
// heap only while it is used.
func traceOf(ctx context.Context, r *harness.Run, files map[string]string) ([]byte, error) {
	if name, ok := files[r.Load]; ok {
		return os.ReadFile(name)
	}
	dir, err := r.Dir()
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, "trace")
	size := harness.Unless(r, megabytes[r.Load], 1) * 1_000_000
	var b []byte
	for length := r.Length; len(b) < size; length *= 2 {
		if b, err = takeTrace(ctx, r, length); err != nil {
			return nil, err
		}
	}
	files[r.Load] = name
	return b, os.WriteFile(name, b, 0o600)
}

// takeTrace takes a trace of the program. A service is loaded with as much as it can do.
func takeTrace(ctx context.Context, r *harness.Run, length time.Duration) ([]byte, error) {
	path, err := r.Program(ctx, "bench/explain/traced")
	if err != nil {
		return nil, err
	}
	c, err := r.Start(ctx, harness.AnyCore, nil, path, fmt.Sprintf("-many=%v", r.Load != service))
	if err != nil {
		return nil, err
	}
	defer c.Stop()
	addr, err := c.Line(0)
	if err != nil {
		return nil, err
	}
	loading, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		if r.Load != service {
			done <- nil
			return
		}
		_, err := loadgen.Run(loading, loadgen.Options{
			Targets: []loadgen.Target{{URL: "http://" + addr}}, Connections: 32, Duration: time.Hour,
		})
		done <- err
	}()
	b, err := harness.Get(ctx, fmt.Sprintf("http://%s/debug/pprof/trace?seconds=%g", addr, length.Seconds()))
	stop()
	return b, errors.Join(err, <-done)
}

// readAlone reads a trace and does nothing with it.
func readAlone(b []byte) error {
	r, err := trace.NewReader(bytes.NewReader(b))
	for err == nil {
		_, err = r.ReadEvent()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// cost sets the time that f takes, and by how much of so many bytes the heap grows at most.
func cost(r *harness.Run, bytes int, f func() error) error {
	runtime.GC()
	before, err := cpuTime()
	if err != nil {
		return err
	}
	highest, start := watchHeap(), time.Now()
	if err := f(); err != nil {
		return err
	}
	wall, peak := time.Since(start), highest()
	after, err := cpuTime()
	r.Set("wall", wall.Seconds())
	r.Set("CPU", (after - before).Seconds())
	r.Set("peak heap of the trace", peak/float64(bytes))
	r.Set("MB/s", float64(bytes)/1e6/wall.Seconds())
	return err
}

// cpuTime returns the CPU time of this process.
func cpuTime() (time.Duration, error) {
	var u sys.Rusage
	err := sys.Getrusage(sys.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// watchHeap looks at the heap until the function that it returns is called, which returns by how
// many bytes it has grown at most.
func watchHeap() (highest func() float64) {
	m := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() float64 {
		metrics.Read(m)
		return float64(m[0].Value.Uint64())
	}
	base := read()
	peak := base
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			peak = max(peak, read())
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() float64 {
		close(stop)
		<-done
		return peak - base
	}
}

// middlewareCase measures what the marks cost a service.
func middlewareCase() harness.Case {
	const way = "marked"
	const allocations, off, on = "allocations", "ns/request more", "µs/request more in a trace"
	return harness.Case{
		Name: "explain/middleware", What: "what region.Middleware adds to a request, next to the handler without it",
		Ways: []string{way}, Figures: []string{allocations, off, on},
		Claims: []harness.Claim{
			harness.None(way, "", allocations),
			{Way: way, Figure: off, Target: harness.AtMost(20), Unit: " ns"},
			{Way: way, Figure: on, Target: harness.AtMost(6), Unit: " µs"},
		},
		Run: func(ctx context.Context, r *harness.Run) error {
			bare := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(hello) }))
			marked := region.Middleware(bare)
			req, err := http.NewRequest(http.MethodGet, "http://a.example/", http.NoBody)
			if err != nil {
				return err
			}
			allocs := func(h http.Handler) float64 {
				return testing.AllocsPerRun(1000, func() { h.ServeHTTP(nowhere{}, req) })
			}
			r.Set(allocations, allocs(marked)-allocs(bare))
			call := func(h http.Handler) float64 {
				n := harness.Unless(r, 2_000_000, 1000)
				start := time.Now()
				for range n {
					h.ServeHTTP(nowhere{}, req)
				}
				return float64(time.Since(start)) / float64(n)
			}
			r.Set(off, call(marked)-call(bare))
			if err := rtrace.Start(io.Discard); err != nil {
				return err
			}
			defer rtrace.Stop()
			without, err := perRequest(ctx, bare)
			if err != nil {
				return err
			}
			with, err := perRequest(ctx, marked)
			r.Set(on, (with-without).Seconds()*1e6)
			return err
		},
	}
}

var hello = []byte("hello")

// nowhere is a ResponseWriter of an answer that nobody reads.
type nowhere struct{}

func (nowhere) Header() http.Header         { return nil }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}

// perRequest returns what a request to net/http's server takes, over one connection.
func perRequest(ctx context.Context, h http.Handler) (time.Duration, error) {
	srv := httptest.NewServer(h)
	defer srv.Close()
	res, err := loadgen.Run(ctx, loadgen.Options{
		Targets: []loadgen.Target{{URL: srv.URL}}, Connections: 1, Requests: 3000, Warmup: 50 * time.Millisecond,
	})
	if err != nil {
		return 0, err
	}
	return res.Duration / 3000, nil
}
