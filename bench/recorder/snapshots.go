//go:build linux

package recorder

import (
	"context"
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/reqtrace"
)

var snapshotTook = regexp.MustCompile(`msg="recorder: a snapshot" took=(\S+)`)

// snapshotsCase measures snapshots next to parked goroutines, while something is slow each second. With
// 100,000 goroutines the recorder has its default budget, and otherwise it is always on.
func snapshotsCase() harness.Case {
	const most = "100000 parked"
	const p99 = "p99 of snapshots, ms"
	return harness.Case{
		Name: "recorder/snapshots", What: "how long snapshots take, with up to 100,000 goroutines",
		Ways: []string{"0 parked", "9000 parked", most}, Rounds: 1, Length: 2 * time.Minute,
		Figures: []string{"snapshots", p99, "spent of its budget", peak, failed},
		Claims: []harness.Claim{
			{Way: "0 parked", Figure: p99, Target: harness.AtMost(20), Unit: " ms"},
			{Way: "9000 parked", Figure: p99, Target: harness.AtMost(20), Unit: " ms"},
			{Way: most, Figure: "spent of its budget, or not off", Target: harness.AtMost(1.1)},
			harness.None("", "", failed),
		},
		Run: func(ctx context.Context, r *harness.Run) error {
			parked, _, _ := strings.Cut(r.Way, " ")
			args := []string{"-plain", "-parked", parked, "-every", "1s", "-debug"}
			if r.Way != most {
				args = append(args, "-recorder-cpu", "1")
			}
			path, err := r.Program(ctx, plant)
			if err != nil {
				return err
			}
			s, err := start(ctx, r, path, true, args...)
			if err != nil {
				return err
			}
			defer s.Stop()
			took := make(chan float64, 10_000)
			go func() {
				for {
					line, err := s.Line(r.Length)
					if err != nil {
						return
					}
					if m := snapshotTook.FindStringSubmatch(line); m != nil {
						if d, err := time.ParseDuration(m[1]); err == nil {
							took <- d.Seconds() * 1e3
						}
					}
				}
			}()
			slow, end := context.WithCancel(ctx)
			defer end()
			go s.slowEachSecond(slow)
			if err := s.measure(ctx, r, "", 1000); err != nil {
				return err
			}
			for range 60 { // of a quick run, until there is a snapshot
				if r.Way == most || len(took) > 0 || !harness.Wait(ctx, time.Second) {
					break
				}
			}
			all := make([]float64, len(took))
			for i := range all {
				all[i] = <-took
			}
			slices.Sort(all)
			r.Set("snapshots", float64(len(all)))
			if n := len(all); n > 0 {
				r.Set(p99, all[(n*99+99)/100-1])
			} else if r.Way != most {
				return errors.New("there was no snapshot")
			}
			stats, err := s.stats(ctx)
			spent := r.Values["spent of its budget"]
			if !stats.On && stats.Why != "" {
				spent = 0 // it is off, and says so
			}
			r.Set("spent of its budget, or not off", spent)
			return err
		},
	}
}

// wholeCase has one request after the other be slow, for up to half of what the recorder keeps. Each comes
// so long after the one before that it gets a snapshot of its own.
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
					if !harness.Wait(ctx, 50*time.Millisecond) {
						return context.Cause(ctx)
					}
					if stats, err = s.stats(ctx); err != nil {
						return err
					}
				}
				if !harness.Wait(ctx, 1100*time.Millisecond) {
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

// stopsCase stops a service by SIGSTOP. A request is slow there that takes half as long as a stop: what
// else a busy machine does to one is not asked.
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
				harness.Wait(ctx, every)
				err = errors.Join(err, s.Signal(syscall.SIGSTOP))
				harness.Wait(ctx, stopped)
				err = errors.Join(err, s.Signal(syscall.SIGCONT))
			}
			harness.Wait(ctx, every) // the last one's analysis
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
