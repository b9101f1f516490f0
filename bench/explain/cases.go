//go:build linux

// Package explain has the cases of package reqtrace: what its analysis costs, and the lock that it
// finds in the search service. Package planted tests whether it names the right causes.
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
	"slices"
	"strings"
	"time"

	"golang.org/x/exp/trace"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

func searchCase() harness.Case {
	const locked, free = "locked", "free"
	return harness.Case{
		Name: "explain/search",
		What: "a service without marks: the lock that a refresh holds, next to a refresh without",
		Ways: []string{free, locked}, Length: 5 * time.Second, Warmup: time.Second, Rounds: 5,
		Figures: []string{"lock first", "lock's share", "median", "p99+"},
		Claims: []harness.Claim{
			{Way: locked, Figure: "lock first", Target: harness.AtLeast(1)},
			{Way: free, Figure: "lock first", Target: harness.AtMost(0)},
		},
		Run: func(ctx context.Context, r *harness.Run) error {
			feeds := httptest.NewServer(http.HandlerFunc(feed))
			defer feeds.Close()
			c, err := r.Start(ctx, harness.AnyCore, nil, "examples/search", "-addr=127.0.0.1:0", "-alloc=lean",
				"-ttl=2s", "-refresh="+r.Way,
				fmt.Sprintf("-feeds=cnn=%[1]s/cnn,bbc=%[1]s/bbc,nyt=%[1]s/nyt", feeds.URL))
			if err != nil {
				return err
			}
			defer c.Stop()
			url, err := c.AwaitURL("msg=listening")
			if err != nil {
				return err
			}
			return refreshed(ctx, r, url)
		},
	}
}

func feed(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(100 * time.Millisecond)
	item := "<item><title>A president speaks</title><description>" +
		strings.Repeat("Of ships and the president's keel. ", 40) +
		"</description><link>http://a.example/</link></item>"
	fmt.Fprintf(w, `<rss version="2.0"><channel><title>News</title>%s</channel></rss>`, strings.Repeat(item, 30))
}

// refreshed sets what the verdict names first. A request fetches feeds that are older than 2 s. At
// 200 requests per second the slowest 1% are four of each fetch.
func refreshed(ctx context.Context, r *harness.Run, url string) error {
	const edge = 200 * time.Millisecond // load before the trace and after it
	var taken []byte
	done := make(chan error, 1)
	target := loadgen.Target{Method: http.MethodPost, URL: url + "/search?term=president&cnn=on&bbc=on&nyt=on"}
	_, err := loadgen.Run(ctx, loadgen.Options{
		Targets: []loadgen.Target{target}, Rate: harness.Unless(r, 200., 30), Connections: 400, Timeout: time.Minute,
		Duration: r.Length + 2*edge, Warmup: r.Warmup,
		OnMeasure: func() {
			go func() {
				time.Sleep(edge)
				var err error
				taken, err = harness.Get(ctx, fmt.Sprintf("%s/debug/pprof/trace?seconds=%g", url, r.Length.Seconds()))
				done <- err
			}()
		},
	})
	if err != nil {
		return err
	}
	if err := <-done; err != nil {
		return err
	}
	report, err := reqtrace.Analyze(ctx, bytes.NewReader(taken), reqtrace.Options{})
	if _, none := errors.AsType[*reqtrace.NoRequestsError](err); none && r.Quick {
		return nil
	}
	if err != nil {
		return err
	}
	v := verdict.Of(report)
	r.Said = v.Sentence
	r.Set("lock first", 0)
	if v.Named && v.Causes[0].Cause == reqtrace.CauseLock {
		r.Set("lock first", 1)
	}
	r.Set("lock's share", 100*report.Tail.Share(reqtrace.CauseLock))
	r.Set("median", report.Median.Mean.Seconds()*1e3)
	r.Set("p99+", report.Tail.Mean.Seconds()*1e3)
	return nil
}

func Cases() []harness.Case {
	return []harness.Case{searchCase(), analysisCase(), servicesCase()}
}

// The other loads have traces of many goroutines.
const service = "a service, 20 MB"

// least sizes of traces, by load
var megabytes = map[string]int{
	service: 20, "10,000 goroutines, 10 MB": 10, "10,000 goroutines, 130 MB": 130,
}

func analysisCase() harness.Case {
	const read, analyze = "read", "analyze"
	files := map[string]string{}
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

// A file keeps the heap small.
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

func takeTrace(ctx context.Context, r *harness.Run, length time.Duration) ([]byte, error) {
	c, err := r.Start(ctx, harness.AnyCore, nil, "bench/explain/traced", fmt.Sprintf("-many=%v", r.Load != service))
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

// the growth is relative to the trace
func cost(r *harness.Run, bytes int, f func() error) error {
	runtime.GC()
	before := machine.OwnTime()
	highest, start := watchHeap(), time.Now()
	if err := f(); err != nil {
		return err
	}
	wall, peak := time.Since(start), highest()
	r.Set("wall", wall.Seconds())
	r.Set("CPU", (machine.OwnTime() - before).Seconds())
	r.Set("peak heap of the trace", peak/float64(bytes))
	r.Set("MB/s", float64(bytes)/1e6/wall.Seconds())
	return nil
}

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
