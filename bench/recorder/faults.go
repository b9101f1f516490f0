//go:build linux

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace/history"
	"evenkeel.dev/reqtrace/recorder"
)

const (
	stop = syscall.SIGSTOP
	goOn = syscall.SIGCONT

	faultRate = 3000        // requests a second
	blocked   = time.Second // a request that takes so long waits for something: nothing that is planted does
)

// fault is one that lasts for as long as the service is loaded.
type fault struct {
	name    string
	program string // the service; "": plant
	begin   func(ctx context.Context, d *driver, dir string) (end func() error, err error)
	during  func(ctx context.Context, s *service, dir string) // until ctx ends; nil: nothing
	hit     func(f *faulted) int                              // how often it did something
}

var faults = []fault{
	{name: "the disk is full", begin: fullDisk, hit: func(f *faulted) int { return int(f.Stats.Failures["it could not be written"]) }},
	{name: "the directory is gone", during: removeDir, hit: func(f *faulted) int { return f.Times }},
	{name: "the clock is set", program: "stepping", begin: steppingClock, hit: func(f *faulted) int { return f.Days - 1 }},
}

// faulted is what became of requests while something failed.
type faulted struct {
	Fault    string           `json:"fault"`
	LeftOut  string           `json:"left_out,omitempty"` // why; "": it was not
	Requests int64            `json:"requests"`
	Failed   int64            `json:"failed"`
	Blocked  int64            `json:"blocked"` // of the others
	Longest  time.Duration    `json:"longest_ns"`
	Times    int              `json:"times"` // that something was removed
	Days     int              `json:"days"`  // by which snapshots are called
	Hit      int              `json:"hit"`
	Stats    recorder.Stats   `json:"stats"`
	Coverage history.Coverage `json:"coverage"`
}

// errLeftOut says why a fault cannot be had here.
var errLeftOut = errors.New("left out")

// runFaults loads a service with planted causes, a recorder that is always on and its snapshots a second apart, under each fault.
func (d *driver) runFaults(ctx context.Context) error {
	for _, f := range faults {
		out, err := d.runFault(ctx, f)
		if errors.Is(err, errLeftOut) {
			out.LeftOut, err = err.Error(), nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		d.faults = append(d.faults, out)
		fmt.Printf("%s: %d requests, %d failed, %d blocked, the longest %v; it hit %d times; %d snapshots, %v %s\n",
			f.name, out.Requests, out.Failed, out.Blocked, out.Longest, out.Hit, out.Stats.Snapshots, out.Stats.Failures, out.LeftOut)
	}
	return nil
}

func (d *driver) runFault(ctx context.Context, f fault) (out faulted, err error) {
	out.Fault = f.name
	dir, err := os.MkdirTemp("", "bench-recorder-")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	kept := filepath.Join(dir, "kept")
	if err := os.Mkdir(kept, 0o700); err != nil {
		return out, err
	}
	if f.begin != nil {
		mend, berr := f.begin(ctx, d, kept)
		if berr != nil {
			return out, berr
		}
		defer func() { err = errors.Join(err, mend()) }()
	}
	s, err := d.start(ctx, cmp.Or(f.program, "plant"), "-third", "1h", "-every", "1s", "-recorder-cpu", "1", "-dir", kept)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	beside, end := context.WithCancel(ctx)
	ended := make(chan int, 1)
	go func() {
		times := 0
		for f.during != nil && each(beside, 5*time.Millisecond) {
			f.during(beside, s, kept)
			times++
		}
		ended <- times
	}()
	r, err := loadgen.Run(ctx, loadgen.Options{
		Targets: []loadgen.Target{{Method: http.MethodGet, URL: s.url}}, Rate: faultRate, Requests: d.n / len(faults),
		OnLatency: func(_ time.Time, latency time.Duration) {
			if latency >= blocked {
				out.Blocked++
			}
		},
	})
	if err == nil {
		out.Requests, out.Failed, out.Longest = r.Requests(), r.Requests()-r.Statuses[http.StatusOK], r.Latency.Max()
		out.Coverage, err = s.settled(ctx)
	}
	end()
	out.Times = <-ended
	if err = errors.Join(err, get(ctx, s.page+"stats", &out.Stats)); err != nil {
		return out, err
	}
	names, err := filepath.Glob(filepath.Join(kept, "snapshots", "*-*"))
	var days []string
	for _, name := range names {
		day, _, _ := strings.Cut(filepath.Base(name), "-")
		days = append(days, day)
	}
	slices.Sort(days)
	out.Days = len(slices.Compact(days))
	out.Hit = f.hit(&out)
	return out, err
}

// settled returns what became of the slow requests, when that is known of all, or will not be.
func (s *service) settled(ctx context.Context) (c history.Coverage, err error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && each(ctx, 500*time.Millisecond); {
		h := &history.History{}
		if err := get(ctx, s.page+"json", h); err != nil {
			return c, err
		}
		if c = h.Coverage(time.Time{}); accounted(c) == c.Slow {
			break
		}
	}
	return c, context.Cause(ctx)
}

// fullDisk has dir be a small disk without room.
func fullDisk(_ context.Context, _ *driver, dir string) (end func() error, err error) {
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		return nil, fmt.Errorf("%w: a small disk, which root may mount: %w", errLeftOut, err)
	}
	end = func() error { return syscall.Unmount(dir, 0) }
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		return nil, errors.Join(err, end())
	}
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	if err = filler.Close(); err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}

// removeDir removes what the recorder keeps.
func removeDir(_ context.Context, _ *service, dir string) { _ = os.RemoveAll(dir) } // which may be written to at this moment

// Of the clock: what package time asks the runtime, and what it makes of that in the service "stepping", whose wall clock is set by an hour, a day and a
// year, there and back, each ten seconds; how long something takes is as it was.
const (
	asksRuntime = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	steps       = "\tsec, nsec, mono := runtimeNow()\n\tsec += [...]int64{0, 3600, -3600, 86400, -86400, 31536000, -31536000}[uint64(mono)/10e9%7]\n\tif mono == 0 {"
)

// steppingClock builds plant with a package time whose wall clock is set again and again: nobody sets that of the machine for a test.
func steppingClock(ctx context.Context, d *driver, dir string) (end func() error, err error) {
	if d.quick {
		return nil, fmt.Errorf("%w: a quick run compiles no standard library", errLeftOut)
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLeftOut, err)
	}
	name := filepath.Join(strings.TrimSpace(string(root)), "src/time/time.go")
	text, err := os.ReadFile(name)
	if err != nil || strings.Count(string(text), asksRuntime) == 0 {
		return nil, fmt.Errorf("%w: %s does not ask for the time as Go 1.26 does (%w)", errLeftOut, name, err)
	}
	scratch := filepath.Dir(dir)
	set, overlay := filepath.Join(scratch, "time.go"), filepath.Join(scratch, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {name: set}})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.WriteFile(set, []byte(strings.ReplaceAll(string(text), asksRuntime, steps)), 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		return nil, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", filepath.Join(d.bin, "stepping"), "./recorder/plant")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %v: %w\n%s", errLeftOut, build, err, out)
	}
	return func() error { return os.Remove(filepath.Join(d.bin, "stepping")) }, nil
}

func (d *driver) faultFigures() {
	var all, failed, waited int64
	for i := range d.faults {
		f := &d.faults[i]
		if f.LeftOut != "" {
			fmt.Fprintf(d.set.Out, "%s: %s\n", f.Fault, f.LeftOut)
			continue
		}
		all, failed, waited = all+f.Requests, failed+f.Failed, waited+f.Blocked
		d.set.AtLeast("while "+f.Fault+": times that it hit", []float64{float64(f.Hit)}, 1, "")
		d.set.AtMost("while "+f.Fault+": failed, or blocked for a second", []float64{float64(f.Failed + f.Blocked)}, 0, "")
		n := accounted(f.Coverage)
		d.set.Add("while "+f.Fault+": slow requests that are accounted for", []float64{float64(n)}, "", fmt.Sprintf("all of %d", f.Coverage.Slow), n == f.Coverage.Slow)
	}
	if all > 0 {
		d.set.AtMost(fmt.Sprintf("failed or blocked of %d requests under faults", all), []float64{float64(failed + waited)}, 0, "")
	}
}
