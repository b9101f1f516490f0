package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	rtrace "runtime/trace"
	"testing"
	"time"

	"golang.org/x/exp/trace"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/region"
)

// analysis measures what Analyze takes, beside reading the same bytes alone.
func (d *driver) analysis(ctx context.Context) error {
	const least = 20 << 20
	var b []byte
	for length := d.length; len(b) < least; length = time.Duration(float64(length) * max(1.3, 1.2*least/float64(len(b)))) {
		var err error
		if b, err = d.large(ctx, length); err != nil {
			return err
		}
		if len(b) == 0 || length > time.Minute {
			return fmt.Errorf("a trace of %v has %d bytes, and %d are wanted", length, len(b), least)
		}
	}
	c := analysisCost{Bytes: len(b)}
	for range max(d.rounds, 5) { // fewer cannot tell
		runtime.GC()
		start := time.Now()
		if err := readAlone(b); err != nil {
			return err
		}
		alone := time.Since(start)
		runtime.GC()
		highest := watch()
		start = time.Now()
		r, err := reqtrace.Analyze(ctx, bytes.NewReader(b), reqtrace.Options{})
		if err != nil {
			return err
		}
		took := time.Since(start)
		c.Requests = r.Requests
		c.Wall = append(c.Wall, took.Seconds()/alone.Seconds())
		c.Peak = append(c.Peak, highest()/float64(len(b)))
		c.Speed = append(c.Speed, float64(len(b))/1e6/took.Seconds())
	}
	fmt.Fprintf(d.out, "analysis: a trace of %.1f MB with %d requests, %.1f MB/s\n", float64(c.Bytes)/1e6, c.Requests, figure.Median(c.Speed))
	d.set.Raw["analysis"] = c
	d.analysisFigures(c)
	return nil
}

// analysisCost is what Analyze takes, by round.
type analysisCost struct {
	Bytes    int       `json:"trace_bytes"`
	Requests int       `json:"requests"`
	Speed    []float64 `json:"megabytes_per_second"`
	Wall     []float64 `json:"wall_of_reading"`
	Peak     []float64 `json:"peak_heap_of_trace"`
}

func (d *driver) analysisFigures(c analysisCost) {
	if len(c.Wall) > 0 { // files of before do not have it
		d.set.AtMost("analysis: wall time, of reading alone", c.Wall, 1.5, "x")
		d.set.AtMost("analysis: peak heap, of the trace", c.Peak, 3, "x")
	}
}

// large takes a trace of a service that does little, under all the load that it bears.
func (d *driver) large(ctx context.Context, length time.Duration) ([]byte, error) {
	c, err := start(ctx, nil, filepath.Join(d.bin, "plant"))
	if err != nil {
		return nil, err
	}
	defer c.end()
	load, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := loadgen.Run(load, loadgen.Options{Targets: []loadgen.Target{{URL: c.url + "/?cpu=10us&sleep=0s"}}, Connections: 32, Duration: time.Hour})
		done <- err
	}()
	b, err := fetch(ctx, c.url, length)
	stop()
	return b, errors.Join(err, <-done)
}

// readAlone reads a trace and does nothing with it.
func readAlone(b []byte) error {
	r, err := trace.NewReader(bytes.NewReader(b))
	if err != nil {
		return err
	}
	for {
		if _, err := r.ReadEvent(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// watch looks at the heap until the function that it returns is called, which returns by how many
// bytes it has grown at most.
func watch() (highest func() float64) {
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

// middleware measures what the marks cost a service.
func (d *driver) middleware(context.Context) error {
	bare := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer) }))
	marked := region.Middleware(bare)
	r, err := http.NewRequest(http.MethodGet, "http://a.example/", nil)
	if err != nil {
		return err
	}
	w := nowhere{}
	call := func(h http.Handler) float64 {
		b := testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		})
		return float64(b.T.Nanoseconds()) / float64(b.N)
	}
	var c middlewareCost
	for range max(d.rounds, 5) {
		c.Off = append(c.Off, call(marked)-call(bare))
	}
	c.Allocations = testing.AllocsPerRun(1000, func() { marked.ServeHTTP(w, r) }) - testing.AllocsPerRun(1000, func() { bare.ServeHTTP(w, r) })
	if err := rtrace.Start(io.Discard); err != nil {
		return err
	}
	defer rtrace.Stop()
	for range 4 * max(d.rounds, 2) {
		without, err := perRequest(bare)
		if err != nil {
			return err
		}
		with, err := perRequest(marked)
		if err != nil {
			return err
		}
		c.On = append(c.On, (with-without).Seconds()*1e6)
	}
	d.set.Raw["middleware"] = c
	d.middlewareFigures(c)
	return nil
}

// middlewareCost is what the marks cost, by round.
type middlewareCost struct {
	Allocations float64   `json:"allocations"`
	Off         []float64 `json:"no_trace_ns"`
	On          []float64 `json:"in_trace_us"`
}

func (d *driver) middlewareFigures(c middlewareCost) {
	d.set.AtMost("middleware, no trace: allocations", []float64{c.Allocations}, 0, "")
	d.set.AtMost("middleware, no trace", c.Off, 20, " ns")
	d.set.AtMost("middleware, in a trace, a request", c.On, 6, " µs")
}

var answer = []byte("hello")

// nowhere is a ResponseWriter of an answer that nobody reads.
type nowhere struct{}

func (nowhere) Header() http.Header         { return nil }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}

// perRequest returns what a request to net/http's server takes, over one connection.
func perRequest(h http.Handler) (time.Duration, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(ln) }()
	defer srv.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	const warmup, n = 200, 3000
	in := bufio.NewReader(c)
	var start time.Time
	for i := range warmup + n {
		if i == warmup {
			start = time.Now()
		}
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			return 0, err
		}
		for { // the header, and as many bytes as the answer has
			line, err := in.ReadSlice('\n')
			if err != nil {
				return 0, err
			}
			if len(line) == 2 {
				break
			}
		}
		if _, err := in.Discard(len(answer)); err != nil {
			return 0, err
		}
	}
	return time.Since(start) / n, nil
}
