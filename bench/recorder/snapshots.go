//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/history"
	"evenkeel.dev/reqtrace/recorder"
)

// The crowds of goroutines that are parked beside a service. The largest has a recorder with its default budget, the others one that is always on.
var crowdSizes = []int{0, 9_000, 100_000}

const (
	within       = 10_000 // goroutines, for which snapshots have a bound
	mostSnapshot = 20     // ms, p99
	mostChild    = 40     // MB, for as many
	mostAnalysis = 20     // MB more that a service takes that analyses
	crowdRate    = 1000.  // requests a second
	crowdFor     = 2 * time.Minute

	wholeTries = 60
	stopTries  = 20
)

// crowd is what became of a service beside so many goroutines.
type crowd struct {
	Parked int             `json:"parked"`
	Took   []time.Duration `json:"took_ns"`          // by each snapshot
	RSS    int64           `json:"rss_bytes"`        // of the service, at most
	Stats  recorder.Stats  `json:"stats"`            // at the end
	Failed int64           `json:"failed,omitempty"` // requests

	// The largest resident size of another process that analysed, or of the service if it
	// had just been started.
	Child          int64 `json:"child_bytes,omitempty"`
	ChildOrService int64 `json:"child_rss_bytes,omitempty"`
}

var snapshotTook = regexp.MustCompile(`msg="recorder: a snapshot" took=(\S+)`)

// snapshots measures them while something is slow each second.
func (d *driver) snapshots(ctx context.Context) error {
	for _, n := range crowdSizes {
		c, err := d.crowd(ctx, n)
		if err != nil {
			return fmt.Errorf("%d goroutines: %w", n, err)
		}
		d.crowds = append(d.crowds, c)
		fmt.Printf("%d goroutines parked: %d snapshots, %d MB at most, on for %.0f%% of the time, %v of %v spent (%s)\n",
			n, len(c.Took), c.RSS>>20, 100*c.Stats.Coverage(), c.Stats.Cost.Total(), c.Stats.Cost.Budget, c.Stats.Why)
	}
	return nil
}

func (d *driver) crowd(ctx context.Context, n int) (c crowd, err error) {
	c.Parked = n
	flags := []string{"-plain", "-parked", strconv.Itoa(n), "-every", "1s", "-debug"}
	if n < within {
		flags = append(flags, "-recorder-cpu", "1")
	}
	s, err := d.start(ctx, "plant", flags...)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	beside, end := context.WithCancel(ctx)
	go func() {
		for each(beside, time.Second) {
			_ = s.sleep(beside, 30*time.Millisecond) // whoever else is slow asks for a snapshot too
		}
	}()
	r, err := loadgen.Run(ctx, loadgen.Options{Targets: []loadgen.Target{{Method: http.MethodGet, URL: s.url}}, Rate: unless(d, crowdRate, 100.), Duration: unless(d, crowdFor, 2*time.Second)})
	took := func() [][]string {
		stdout, _ := s.Output()
		return snapshotTook.FindAllStringSubmatch(stdout, -1)
	}
	for range 60 {
		if n >= within || len(took()) > 0 || !each(ctx, time.Second) {
			break
		}
	}
	end()
	if err != nil {
		return c, err
	}
	if c.RSS, err = machine.PeakRSS(s.Pid()); err != nil {
		return c, err
	}
	c.Failed = r.Requests() - r.Statuses[http.StatusOK]
	for _, m := range took() {
		d, err := time.ParseDuration(m[1])
		if err != nil {
			return c, err
		}
		c.Took = append(c.Took, d)
	}
	return c, get(ctx, s.page+"stats", &c.Stats)
}

// each waits, and reports whether ctx goes on.
func each(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// sleep asks the service for a request that takes so long.
func (s *service) sleep(ctx context.Context, d time.Duration) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/sleep?for="+url.QueryEscape(d.String()), nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	if err := res.Body.Close(); err != nil || res.StatusCode == http.StatusOK {
		return err
	}
	return fmt.Errorf("%s: %s", q.URL, res.Status)
}

func (d *driver) crowdFigures() {
	for _, c := range d.crowds {
		name := fmt.Sprintf("%d goroutines parked: ", c.Parked)
		if c.Parked < within {
			if most := max(c.Child, c.ChildOrService); c.Parked == 0 && most > 0 {
				d.set.AtMost("the child: memory", []float64{float64(most) / (1 << 20)}, mostChild, " MB")
			} else if c.Child > 0 {
				d.set.AtMost(name+"the child's memory", []float64{float64(c.Child) / (1 << 20)}, mostChild, " MB")
			}
			took := slices.Sorted(slices.Values(c.Took))
			if n := len(took); n > 0 {
				d.set.AtMost(name+fmt.Sprintf("p99 of %d snapshots", n), []float64{took[(n*99+99)/100-1].Seconds() * 1e3}, mostSnapshot, " ms")
			} else {
				d.set.Add(name+"snapshots", []float64{0}, "", "some", false)
			}
			continue
		}
		of := float64(c.Stats.Cost.Total()) / float64(max(c.Stats.Cost.Budget, 1))
		d.set.Add(name+"spent, of what it may", []float64{of}, "x", "<= 1.1, or off and says so", of <= 1.1 || !c.Stats.On && c.Stats.Why != "")
	}
}

// wholeResult is what became of requests that asked for a snapshot each.
type wholeResult struct {
	Slow     uint64           `json:"slow"`
	Seen     uint64           `json:"seen"` // from start to end
	Coverage history.Coverage `json:"coverage"`
}

// runWhole has one request after the other be slow, for up to half of what the recorder keeps, each so long after the one before that it gets a
// snapshot of its own.
func (d *driver) runWhole(ctx context.Context) (err error) {
	s, err := d.start(ctx, "plant", "-plain", "-every", "1s", "-recorder-cpu", "1", "-in-process")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	lot := rand.New(rand.NewPCG(uint64(d.set.Started.UnixNano()), 1))
	var stats recorder.Stats
	for range unless(d, wholeTries, 2) {
		if err := get(ctx, s.page+"stats", &stats); err != nil {
			return err
		}
		const least = 30 * time.Millisecond
		before := stats.Analyzed
		if err := s.sleep(ctx, least+time.Duration(lot.Int64N(int64(stats.Window/2-least)))); err != nil {
			return err
		}
		for end := time.Now().Add(20 * time.Second); stats.Analyzed == before && time.Now().Before(end); {
			if !each(ctx, 50*time.Millisecond) {
				return context.Cause(ctx)
			}
			if err := get(ctx, s.page+"stats", &stats); err != nil {
				return err
			}
		}
		if !each(ctx, 1100*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
	h := &history.History{}
	if err := get(ctx, s.page+"json", h); err != nil {
		return err
	}
	c := h.Coverage(time.Time{})
	d.whole = &wholeResult{Slow: c.Slow, Seen: c.Seen, Coverage: c}
	fmt.Printf("%d slow requests, of which %d are whole in their snapshots: %+v\n", c.Slow, c.Seen, c)
	return nil
}

// stopsResult is what is said of a service that was stopped.
type stopsResult struct {
	Stops     int               `json:"stops"`
	Explained uint64            `json:"explained"`
	Machine   uint64            `json:"machine"` // of them
	Summaries []history.Summary `json:"summaries"`
}

// runStops stops a service. A request is slow there that takes half as long as a stop: what else a busy machine does to one is not asked.
func (d *driver) runStops(ctx context.Context) (err error) {
	const stopped = 300 * time.Millisecond
	s, err := d.start(ctx, "plant", "-plain", "-every", "1s", "-recorder-cpu", "1", "-in-process",
		"-slow", (stopped / 2).String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	every := unless(d, 6*time.Second, 3*time.Second)
	loading, end := context.WithCancel(ctx)
	loaded := make(chan error, 1)
	go func() { // ten of these are under way at any time
		_, err := loadgen.Run(loading, loadgen.Options{Targets: []loadgen.Target{{Method: http.MethodGet, URL: s.url + "/sleep?for=10ms"}}, Rate: 1000, Duration: time.Hour})
		loaded <- err
	}()
	x := &stopsResult{}
	for range unless(d, stopTries, 1) {
		if !each(ctx, every) {
			break
		}
		if err = s.Signal(stop); err != nil {
			break
		}
		each(ctx, stopped)
		if err = s.Signal(goOn); err != nil {
			break
		}
		x.Stops++
	}
	each(ctx, every) // the last one's analysis
	end()
	if err = errors.Join(err, <-loaded, context.Cause(ctx)); err != nil {
		return err
	}
	h := &history.History{}
	if err := get(ctx, s.page+"json", h); err != nil {
		return err
	}
	x.Summaries = h.Summaries(time.Time{})
	for _, sum := range x.Summaries {
		x.Explained += sum.Requests
		if sum.Key.Cause == reqtrace.CauseMachine {
			x.Machine += sum.Requests
		}
	}
	d.stops = x
	fmt.Printf("%d stops: of %d slow requests that are explained, %d are the machine's\n", x.Stops, x.Explained, x.Machine)
	return nil
}
