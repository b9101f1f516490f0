//go:build linux

package recorder

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/bench/harness"
)

var snapshotTook = regexp.MustCompile(`msg="recorder: a snapshot" took=(\S+)`)

// snapshotsCase measures snapshots of a process with parked goroutines. With 100,000 of them the
// recorder has its default budget. Otherwise it is always on.
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
