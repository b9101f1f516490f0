//go:build linux

package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/internal/history"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
)

const (
	diskFull = "the disk is full"
	dirGone  = "the directory is gone"
	clockSet = "the clock is set"
)

// faultsCase loads a service with planted causes, a recorder that is always on and its snapshots a
// second apart, under each fault.
func faultsCase() harness.Case {
	const blocked = time.Second // a request that takes so long waits for something: nothing that is planted does
	c := harness.Case{
		Name: "recorder/faults",
		What: "a million requests while the disk is full, the directory gone, or the clock set",
		Ways: []string{diskFull, dirGone, clockSet}, Rounds: 1, Needs: "root, for the full disk",
		Figures: []string{"requests", failed, "blocked", "longest, ms", "hit", "slow", unknownFate},
	}
	for _, way := range c.Ways {
		c.Claims = append(c.Claims,
			harness.Claim{Way: way, Figure: "hit", Target: harness.AtLeast(1)},
			harness.None(way, "", failed), harness.None(way, "", "blocked"), harness.None(way, "", unknownFate))
	}
	c.Run = func(ctx context.Context, r *harness.Run) error {
		dir, err := os.MkdirTemp("", "bench-recorder-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		kept := filepath.Join(dir, "kept")
		if err := os.Mkdir(kept, 0o700); err != nil {
			return err
		}
		var flags []string
		switch r.Way {
		case diskFull:
			end, err := fillDisk(kept)
			if err != nil {
				return err
			}
			defer end()
		case clockSet:
			if flags, err = steppingClock(ctx, r, dir); err != nil {
				return err
			}
		}
		path, err := r.Program(ctx, plant, flags...)
		if err != nil {
			return err
		}
		s, err := start(ctx, r, path, true, "-third", "1h", "-every", "1s", "-recorder-cpu", "1", "-dir", kept)
		if err != nil {
			return err
		}
		defer s.Stop()
		during, end := context.WithCancel(ctx)
		defer end()
		removed := make(chan int, 1)
		go func() {
			n := 0
			for ; r.Way == dirGone && harness.Wait(during, 5*time.Millisecond) == nil; n++ {
				_ = os.RemoveAll(kept) // it may be written to at this moment
			}
			removed <- n
		}()
		o := s.load("", 3000, 0)
		o.Requests = harness.Unless(r, 1_000_000, 3000) / len(c.Ways)
		late := 0
		o.OnLatency = func(_ time.Time, latency time.Duration) {
			if latency >= blocked {
				late++
			}
		}
		res, err := loadgen.Run(ctx, o)
		if err != nil {
			return err
		}
		h, err := s.settled(ctx)
		end()
		hit := <-removed
		stats, serr := s.stats(ctx)
		if err := errors.Join(err, serr); err != nil {
			return err
		}
		switch r.Way {
		case diskFull:
			hit = int(stats.Failures["it could not be written"])
		case clockSet:
			hit = days(kept) - 1
		}
		cover := h.Coverage(time.Time{})
		r.Set("requests", float64(res.Requests()))
		r.Set(failed, float64(res.Requests()-res.Statuses[http.StatusOK]))
		r.Set("blocked", float64(late))
		r.Set("longest, ms", res.Latency.Max().Seconds()*1e3)
		r.Set("hit", float64(hit))
		r.Set("slow", float64(cover.Slow))
		r.Set(unknownFate, unaccounted(cover))
		if r.Quick && r.Values[failed]+r.Values[unknownFate] > 0 {
			return fmt.Errorf("of %d requests: %v", res.Requests(), r.Values)
		}
		return nil
	}
	return c
}

// days returns by how many days snapshots are called.
func days(kept string) int {
	names, _ := filepath.Glob(filepath.Join(kept, "snapshots", "*-*"))
	var list []string
	for _, name := range names {
		day, _, _ := strings.Cut(filepath.Base(name), "-")
		list = append(list, day)
	}
	slices.Sort(list)
	return len(slices.Compact(list))
}

// fillDisk has dir be a small disk without room.
func fillDisk(dir string) (end func(), err error) {
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		return nil, harness.NotHere(fmt.Errorf("a small disk, which root may mount: %w", err))
	}
	end = func() { _ = syscall.Unmount(dir, 0) }
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		end()
		return nil, err
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	return end, nil
}

// Of the clock: what package time asks the runtime, and what it makes of that in a service whose
// wall clock is set by an hour, a day and a year, there and back, each ten seconds. How long
// something takes is as it was.
const (
	asksRuntime = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	steps       = "\tsec, nsec, mono := runtimeNow()\n" +
		"\tsec += [...]int64{0, 3600, -3600, 86400, -86400, 31536000, -31536000}[uint64(mono)/10e9%7]\n" +
		"\tif mono == 0 {"
)

// steppingClock returns the flags that build a program with a package time whose wall clock is set
// again and again, because nobody sets that of the machine for a test.
func steppingClock(ctx context.Context, r *harness.Run, dir string) (flags []string, err error) {
	if r.Quick {
		return nil, harness.NotHere(errors.New("a quick run compiles no standard library"))
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	name := filepath.Join(strings.TrimSpace(string(root)), "src/time/time.go")
	text, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(text), asksRuntime) {
		return nil, harness.NotHere(fmt.Errorf("%s does not ask for the time as Go 1.26 does (%v)", name, err))
	}
	set, overlay := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {name: set}})
	return []string{"-overlay", overlay}, errors.Join(err,
		os.WriteFile(set, []byte(strings.ReplaceAll(string(text), asksRuntime, steps)), 0o600),
		os.WriteFile(overlay, list, 0o600))
}

var full = harness.TestFlags()

// TestCases runs the cases of what a recorder says, for a moment or in full:
//
//	go test -timeout 4h ./recorder -full -run 'TestCases/recorder/(whole|stops|faults|planted|targets|soak)'
func TestCases(t *testing.T) {
	full.Run(t, wholeCase(), stopsCase(), faultsCase(), plantedCase(), targetsCase(), soakCase())
}

// wholeCase has one request after the other be slow, for up to half of what the recorder keeps.
// Each comes so long after the one before that it gets a snapshot of its own.
func wholeCase() harness.Case {
	const way = "a snapshot each"
	return harness.Case{
		Name: "recorder/whole", What: "requests that ask for a snapshot: how many are whole in it",
		Ways: []string{way}, Rounds: 6, Figures: []string{"whole", "slow"},
		Claims: []harness.Claim{{Way: way, Figure: "whole", Of: "slow", Target: harness.AtLeast(95)}},
		Run: func(ctx context.Context, r *harness.Run) error {
			s, err := planted(ctx, r, "-plain", "-every", "1s", "-recorder-cpu", "1", "-in-process")
			if err != nil {
				return err
			}
			defer s.Stop()
			for range harness.Unless(r, 10, 2) {
				stats, err := s.stats(ctx)
				if err != nil {
					return err
				}
				const least = 30 * time.Millisecond
				before := stats.Analyzed
				if err := s.sleep(ctx, least+rand.N(max(stats.Window/2-least, 1))); err != nil {
					return err
				}
				for end := time.Now().Add(20 * time.Second); stats.Analyzed == before && time.Now().Before(end); {
					if harness.Wait(ctx, 50*time.Millisecond) != nil {
						return context.Cause(ctx)
					}
					if stats, err = s.stats(ctx); err != nil {
						return err
					}
				}
				if harness.Wait(ctx, 1100*time.Millisecond) != nil {
					return context.Cause(ctx)
				}
			}
			h, err := s.history(ctx)
			if err != nil {
				return err
			}
			c := h.Coverage(time.Time{})
			r.Set("slow", float64(c.Slow))
			r.Set("whole", float64(c.Seen))
			return nil
		},
	}
}

// stopsCase stops a service by SIGSTOP. A request is slow there that takes half as long as a stop:
// what else a busy machine does to one is not asked.
func stopsCase() harness.Case {
	const way = "SIGSTOP"
	const stopped = 300 * time.Millisecond
	return harness.Case{
		Name: "recorder/stops", What: "requests that a stop of the process made slow: how many are the machine's",
		Ways: []string{way}, Rounds: 5, Figures: []string{"the machine's", "explained"},
		Claims: []harness.Claim{{Way: way, Figure: "the machine's", Of: "explained", Target: harness.AtLeast(95)}},
		Run: func(ctx context.Context, r *harness.Run) error {
			s, err := planted(ctx, r, "-plain", "-every", "1s", "-recorder-cpu", "1", "-in-process",
				"-slow", (stopped / 2).String())
			if err != nil {
				return err
			}
			defer s.Stop()
			every := harness.Unless(r, 6*time.Second, 3*time.Second)
			end := s.during(ctx, s.load("/sleep?for=10ms", 1000, time.Hour)) // ten are under way at any time
			for range harness.Unless(r, 4, 1) {
				_ = harness.Wait(ctx, every)
				err = errors.Join(err, s.Signal(syscall.SIGSTOP))
				_ = harness.Wait(ctx, stopped)
				err = errors.Join(err, s.Signal(syscall.SIGCONT))
			}
			_ = harness.Wait(ctx, every) // the last one's analysis
			if err := errors.Join(err, end(), context.Cause(ctx)); err != nil {
				return err
			}
			h, err := s.history(ctx)
			if err != nil {
				return err
			}
			for _, sum := range h.Summaries(time.Time{}) {
				r.Set("explained", r.Values["explained"]+float64(sum.Requests))
				if sum.Key.Cause == reqtrace.CauseMachine {
					r.Set("the machine's", r.Values["the machine's"]+float64(sum.Requests))
				}
			}
			return nil
		},
	}
}

func (s *service) history(ctx context.Context) (*history.History, error) {
	h := &history.History{}
	return h, get(ctx, s.page+"json", h)
}

// settled returns the history when it is known what became of all slow requests, or will not be.
func (s *service) settled(ctx context.Context) (h *history.History, err error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && harness.Wait(ctx, 500*time.Millisecond) == nil; {
		if h, err = s.history(ctx); err != nil {
			return nil, err
		}
		if unaccounted(h.Coverage(time.Time{})) == 0 {
			return h, nil
		}
	}
	return h, context.Cause(ctx)
}

// unaccounted returns of how many slow requests it is not known what became of them.
func unaccounted(c history.Coverage) float64 {
	return float64(c.Slow) - float64(c.Seen+c.Cut+c.Kept+c.Limited+c.Off+c.Failed)
}

// during loads a service in the background until the caller calls end.
func (s *service) during(ctx context.Context, o loadgen.Options) (end func() error) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := loadgen.Run(ctx, o)
		done <- err
	}()
	return func() error { stop(); return <-done }
}
