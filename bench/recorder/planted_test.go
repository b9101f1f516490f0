//go:build linux

package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace"
)

const (
	unknownFate = "slow requests not accounted for"
	offTruth    = "a share, points off the truth"
)

// plantedCase has two causes be planted, and a third from the middle on.
func plantedCase() harness.Case {
	const way = always
	return harness.Case{
		Name: "recorder/planted", What: "the recorder's shares of planted causes, next to the service's own count",
		Ways: []string{way}, Rounds: 1, Length: 10 * time.Minute,
		Figures: []string{offTruth, "third explained after, s", "seen", "slow", unknownFate},
		Claims: []harness.Claim{
			{Way: way, Figure: offTruth, Target: harness.AtMost(5)},
			{Way: way, Figure: "third explained after, s", Target: harness.AtMost(30), Unit: " s"},
			{Way: way, Figure: "seen", Of: "slow", Target: harness.AtLeast(1)},
			harness.None(way, "", unknownFate),
		},
		Run: func(ctx context.Context, r *harness.Run) error {
			length := harness.Unless(r, r.Length, 6*time.Second)
			third := length / 2
			s, err := planted(ctx, r, "-third", third.String(), "-every", "2s", "-recorder-cpu", "1", "-in-process")
			if err != nil {
				return err
			}
			defer s.Stop()
			began := time.Now()
			end := s.during(ctx, s.load("", 300, length))
			seen := false
			for time.Since(began) < length && harness.Wait(ctx, time.Second) == nil {
				if time.Since(began) < third || seen {
					continue
				}
				h, err := s.history(ctx)
				if err != nil {
					return errors.Join(err, end())
				}
				for _, sum := range h.Summaries(time.Time{}) {
					seen = seen || sum.Key.Cause == reqtrace.CauseNetwork
				}
				r.Set("third explained after, s", (time.Since(began) - third).Seconds())
			}
			if err := end(); err != nil {
				return err
			}
			_ = harness.Wait(ctx, 5*time.Second) // the last window's analysis
			h, err := s.settled(ctx)
			if err != nil {
				return err
			}
			return s.truth(ctx, r, h, func(sum *history.Summary) float64 { return float64(sum.Requests) })
		},
	}
}

// truth sets how far the recorder's shares are off the truth, and what became of slow requests.
// Those that nobody planted are in neither share.
func (s *service) truth(
	ctx context.Context, r *harness.Run, h *history.History, of func(*history.Summary) float64,
) error {
	var truth map[string]float64
	if err := get(ctx, s.url+"/truth", &truth); err != nil {
		return err
	}
	said, seen, all, saidAll := map[string]float64{}, map[string]float64{}, 0., 0.
	for _, n := range truth {
		all += n
	}
	for _, sum := range h.Summaries(time.Time{}) {
		cause := sum.Key.Cause.String()
		if _, ok := truth[cause]; ok {
			said[cause] += of(&sum)
			saidAll += of(&sum)
			seen[cause] += float64(sum.Requests)
		}
	}
	off, least := 0., 100.
	for cause, n := range truth {
		off = max(off, 100*math.Abs(said[cause]/max(saidAll, 1e-9)-n/max(all, 1)))
		least = min(least, 100*seen[cause]/max(n, 1))
	}
	c := h.Coverage(time.Time{})
	r.Set(offTruth, off)
	r.Set("explained of each cause, %", least)
	r.Set("slow", float64(c.Slow))
	r.Set("seen", float64(c.Seen))
	r.Set(unknownFate, unaccounted(c))
	return nil
}

// targetsCase has services of 7 to 50% of a processor, with three planted causes and a recorder
// with its default options. evenkeel report analyzes the snapshots.
func targetsCase() harness.Case {
	const quiet, busy, spent, least = "quiet", "busy", "spent of its budget", "explained of each cause, %"
	rates := map[string]float64{"40/s of 1.7ms": 40, "100/s of 1ms": 100, "300/s of 1ms": 300, "500/s of 900us": 500}
	work := map[string]string{
		"40/s of 1.7ms": "1.7ms", "100/s of 1ms": "1ms", "300/s of 1ms": "1ms", "500/s of 900us": "900us",
	}
	c := harness.Case{
		Name: "recorder/targets",
		What: "a recorder with its default options: what evenkeel report says of planted causes",
		Ways: []string{"40/s of 1.7ms", "100/s of 1ms", "300/s of 1ms", "500/s of 900us"}, Loads: []string{quiet, busy},
		Rounds: 1, Length: 10 * time.Minute,
		Figures: []string{least, offTruth, spent, "seen", "slow", "on, of the time"},
	}
	for _, load := range c.Loads {
		for _, way := range c.Ways {
			c.Claims = append(c.Claims,
				harness.Claim{Load: load, Way: way, Figure: least, Target: harness.AtLeast(20), Unit: "%"},
				harness.Claim{Load: load, Way: way, Figure: offTruth, Target: harness.AtMost(10)},
				harness.Claim{Load: load, Way: way, Figure: spent, Target: harness.AtMost(1.02)})
		}
	}
	c.Run = func(ctx context.Context, r *harness.Run) error {
		if r.Quick && (r.Load == busy || r.Way != c.Ways[0]) {
			return harness.NotHere(errors.New("a quick run measures one service"))
		}
		evenkeel, err := r.Program(ctx, "cmd/evenkeel")
		if err != nil {
			return err
		}
		dir, err := os.MkdirTemp("", "bench-recorder-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		s, err := planted(ctx, r, "-third", "1ms", "-work", work[r.Way], "-dir", dir)
		if err != nil {
			return err
		}
		defer s.Stop()
		if r.Load == busy {
			end, err := machine.BusyLoops(ctx, 2)
			if err != nil {
				return err
			}
			defer end()
		}
		if err := s.measure(ctx, r, "", rates[r.Way]); err != nil {
			return err
		}
		if _, err := s.settled(ctx); err != nil {
			return err
		}
		report := exec.CommandContext(ctx, evenkeel, "report", "-json", s.page)
		report.Stderr = os.Stderr
		text, err := report.Output()
		if err != nil {
			return fmt.Errorf("%v: %w", report, err)
		}
		h := &history.History{}
		if err := json.Unmarshal(text, h); err != nil {
			return err
		}
		return s.truth(ctx, r, h, func(sum *history.Summary) float64 { return sum.Share })
	}
	return c
}

// soakCase loads a service with planted causes for an hour, and looks at what it takes.
func soakCase() harness.Case {
	const way = "an hour"
	grows := []string{"MB", "descriptors", "goroutines"}
	c := harness.Case{
		Name: "recorder/soak", What: "what a service takes in the last third of an hour, next to the third before",
		Ways: []string{way}, Rounds: 1, Length: time.Hour,
		Claims: []harness.Claim{
			{
				Way: way, Figure: "disk MB",
				Target: harness.AtMost(64 + 2*8),
			}, // KeepBytes, and a history that is written anew
		},
	}
	for _, figure := range grows {
		c.Claims = append(c.Claims, harness.Claim{
			Way: way, Figure: figure + " over before",
			Target: harness.AtMost(1.05),
		})
	}
	c.Run = func(ctx context.Context, r *harness.Run) error {
		dir, err := os.MkdirTemp("", "bench-recorder-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		s, err := planted(ctx, r, "-third", (r.Length / 2).String(), "-dir", dir)
		if err != nil {
			return err
		}
		defer s.Stop()
		// Each stall of the machine would add connections, and so descriptors and goroutines.
		o := s.load("", 500, r.Length)
		o.Connections = 16
		end := s.during(ctx, o)
		const looks = 60
		taken := map[string][]float64{}
		for range looks {
			if harness.Wait(ctx, r.Length/looks) != nil {
				break
			}
			if err := s.look(ctx, taken); err != nil {
				return errors.Join(err, end())
			}
		}
		if err := errors.Join(end(), context.Cause(ctx)); err != nil {
			return err
		}
		for _, figure := range grows {
			xs := taken[figure]
			last, before := harness.Median(xs[2*looks/3:]), harness.Median(xs[looks/3:2*looks/3])
			r.Set(figure, last)
			r.Set(figure+" over before", last/before)
		}
		text, err := exec.CommandContext(ctx, "du", "-sm", dir).Output()
		if err != nil {
			return err
		}
		var mb float64
		_, err = fmt.Sscan(string(text), &mb)
		r.Set("disk MB", mb)
		return err
	}
	return c
}

// look adds what the service takes now.
func (s *service) look(ctx context.Context, to map[string][]float64) error {
	var self struct{ Goroutines float64 }
	err := get(ctx, s.url+"/self", &self)
	rss, err2 := machine.RSS(s.Pid())
	open, err3 := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.Pid()))
	to["MB"] = append(to["MB"], float64(rss)/1e6)
	to["descriptors"] = append(to["descriptors"], float64(len(open)))
	to["goroutines"] = append(to["goroutines"], self.Goroutines)
	return errors.Join(err, err2, err3)
}
