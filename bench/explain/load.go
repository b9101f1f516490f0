package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
)

// load is requests that are due at fixed times, whatever becomes of them.
type load struct {
	rate    float64
	length  time.Duration // of the trace
	warmup  time.Duration
	targets []loadgen.Target
}

// sample is what one run of a service showed.
type sample struct {
	Requests int          `json:"requests"` // whole ones in the trace
	Cut      int          `json:"cut"`
	Bytes    int          `json:"trace_bytes"`
	CPU      float64      `json:"cpu"`      // of the service, in shares of a core
	PeakRSS  int64        `json:"peak_rss"` // of the service, in bytes, until the end of the load
	Server   distribution `json:"server"`   // by the trace
	Client   distribution `json:"client"`
	Shares   shares       `json:"shares"` // of the tail's excess, by group of causes
	Unknown  [2]float64   `json:"unknown"`

	answered int64
	latency  []float64 // by request, NaN: not measured
	report   *reqtrace.Report
}

// distribution is what matters of requests' times, in seconds.
type distribution struct {
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
	Tail   float64 `json:"tail"` // the mean of the slowest hundredth
}

const (
	edge    = 200 * time.Millisecond // load before the trace and after it
	timeout = 5 * time.Minute        // of a request: one that fails spoils a run, one that is late does not
)

// measure puts load on a service, takes a trace meanwhile and looks at it.
func (d *driver) measure(ctx context.Context, c *running, l load, name string) (*sample, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &sample{}
	n := int(math.Ceil(l.rate * (l.length + 2*edge).Seconds()))
	s.latency = slices.Repeat([]float64{math.NaN()}, n)
	type taken struct {
		trace []byte
		cpu   float64
		err   error
	}
	done := make(chan taken, 1)
	var first time.Time
	o := loadgen.Options{
		Targets: l.targets, Rate: l.rate, Requests: n, Warmup: l.warmup, Connections: 400, Timeout: timeout,
		OnMeasure: func() {
			first = time.Now()
			go func() {
				time.Sleep(edge)
				before, err := c.cpu()
				if err != nil {
					done <- taken{err: err}
					return
				}
				trace, err := fetch(ctx, c.url, l.length)
				after, cerr := c.cpu()
				done <- taken{trace, (after - before).Seconds() / l.length.Seconds(), errors.Join(err, cerr)}
			}()
		},
		OnLatency: func(due time.Time, latency time.Duration) {
			if i := int(math.Round(due.Sub(first).Seconds() * l.rate)); i >= 0 && i < n {
				s.latency[i] = latency.Seconds()
			}
		},
	}
	r, err := loadgen.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	t := <-done
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case t.err != nil:
		return nil, t.err
	case r.Failed > 0 || r.Statuses[http.StatusOK] != r.Answered:
		return nil, fmt.Errorf("%s: %d requests failed: %v, statuses %v", name, r.Failed, r.Failures, r.Statuses)
	}
	s.answered, s.CPU = r.Answered, t.cpu
	if s.PeakRSS, err = machine.PeakRSS(c.Pid()); err != nil {
		return nil, err
	}
	if d.traces != "" {
		if err := os.WriteFile(filepath.Join(d.traces, name+".trace"), t.trace, 0o644); err != nil {
			return nil, err
		}
	}
	return s, s.analyze(ctx, t.trace)
}

// fetch takes a trace from a service.
func fetch(ctx context.Context, url string, length time.Duration) ([]byte, error) {
	res, err := begin(ctx, url, length)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

// begin begins a trace and returns when its first bytes are there. The caller reads the rest, and
// closes the body.
func begin(ctx context.Context, url string, length time.Duration) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/debug/pprof/trace?seconds=%g", url, length.Seconds()), nil)
	if err != nil {
		return nil, err
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return nil, errors.Join(fmt.Errorf("%s: %s: %s", req.URL, res.Status, text), err)
	}
	return res, nil
}

// analyze fills in what the trace and the client say.
func (s *sample) analyze(ctx context.Context, trace []byte) error {
	r, err := reqtrace.Analyze(ctx, bytes.NewReader(trace), reqtrace.Options{})
	if err != nil {
		return err
	}
	s.report = r
	s.Requests, s.Cut, s.Bytes = r.Requests, r.CutStart+r.CutEnd, len(trace)
	s.Server = distribution{r.Median.Mean.Seconds(), r.Tail.Min.Seconds(), r.Tail.Mean.Seconds()}
	s.Client = distributionOf(s.latency)
	s.Shares = sharesOf(&r.Tail)
	s.Unknown = [2]float64{r.Total.Share(reqtrace.CauseUnknown), r.Tail.Parts.Share(reqtrace.CauseUnknown)}
	return nil
}

func distributionOf(latency []float64) (d distribution) {
	xs := slices.DeleteFunc(slices.Clone(latency), math.IsNaN)
	if len(xs) == 0 {
		return d
	}
	slices.Sort(xs)
	d.Median, d.P99 = xs[len(xs)/2], xs[len(xs)*99/100]
	tail := xs[len(xs)*99/100:]
	for _, x := range tail {
		d.Tail += x / float64(len(tail))
	}
	return d
}
