//go:build linux

package recorder

import (
	"context"
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/internal/history"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
)

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

func (s *service) history(ctx context.Context) (*history.History, error) {
	h := &history.History{}
	return h, get(ctx, s.page+"json", h)
}

// settled returns the history when it is known what became of all slow requests, or will not be.
func (s *service) settled(ctx context.Context) (h *history.History, err error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && harness.Wait(ctx, 500*time.Millisecond); {
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
