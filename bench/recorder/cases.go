//go:build linux

// Package recorder has the cases of package reqtrace/recorder: what it costs a service. Its tests
// show what it does under faults, and whether it is right about planted causes.
package recorder

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace/recorder"
)

func Cases() []harness.Case {
	return []harness.Case{costCase(), analysisCase(), snapshotsCase()}
}

const (
	without  = "without"
	always   = "always on"
	budgeted = "within its budget"

	perRequest = "CPU µs/request"
	peak       = "peak MB"
	failed     = "failed"
)

type service struct {
	*harness.Child
	url  string
	page string // of its recorder, or ""
}

func start(ctx context.Context, r *harness.Run, path string, recorded bool, args ...string) (*service, error) {
	c, err := r.Start(ctx, harness.AnyCore, nil, append([]string{path, "-addr", "127.0.0.1:0"}, args...)...)
	if err != nil {
		return nil, err
	}
	s := &service{Child: c}
	if recorded {
		s.page, err = c.AwaitURL("msg=recording")
	}
	if err == nil {
		s.url, err = c.AwaitURL("msg=listening")
	}
	if err != nil {
		c.Stop()
		return nil, err
	}
	return s, nil
}

const plant = "bench/recorder/plant"

func planted(ctx context.Context, r *harness.Run, args ...string) (*service, error) {
	return start(ctx, r, plant, true, args...)
}

func (s *service) load(path string, rate float64, length time.Duration) loadgen.Options {
	return loadgen.Options{
		Targets: []loadgen.Target{{Method: http.MethodGet, URL: s.url + path}}, Rate: rate, Duration: length,
	}
}

func (s *service) sleep(ctx context.Context, d time.Duration) error {
	_, err := harness.Get(ctx, s.url+"/sleep?for="+url.QueryEscape(d.String()))
	return err
}

func (s *service) slowEachSecond(ctx context.Context) {
	for harness.Wait(ctx, time.Second) == nil {
		_ = s.sleep(ctx, 30*time.Millisecond)
	}
}

func (s *service) stats(ctx context.Context) (stats recorder.Stats, err error) {
	return stats, get(ctx, s.page+"stats", &stats)
}

func get(ctx context.Context, url string, v any) error {
	text, err := harness.Get(ctx, url)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

func (s *service) measure(ctx context.Context, r *harness.Run, path string, rate float64) error {
	var before recorder.Stats
	var err error
	o := s.load(path, harness.Unless(r, rate, min(rate, 100)), r.Length)
	o.OnMeasure = func() {
		if s.page != "" {
			before, err = s.stats(ctx)
		}
	}
	if _, lerr := r.Measure(ctx, o, s.Child); lerr != nil || err != nil {
		return cmp.Or(lerr, err)
	}
	if s.page == "" {
		return nil
	}
	after, err := s.stats(ctx)
	n := max(r.Values["requests"], 1)
	passed := after.Passed - before.Passed
	r.Set("tracing µs/request", float64(after.Cost.Tracing-before.Cost.Tracing)/1e3/n)
	r.Set("analysis, of a core", (after.Cost.Analysis-before.Cost.Analysis).Seconds()/max(passed.Seconds(), 1))
	c := after.Cost // from the start, because the recorder saves up
	r.Set("spent of its budget", float64(c.Tracing+c.Snapshots+c.Analysis)/float64(max(c.Budget, 1)))
	r.Set("on, of the time", (after.Covered-before.Covered).Seconds()/max(passed.Seconds(), 1))
	return err
}

func sameLatency(load, way, over string) (list []harness.Claim) {
	for _, figure := range []string{"p50", "p99", "p99.9"} {
		list = append(list, harness.Claim{
			Load: load, Way: way, Over: over, Figure: figure, Target: harness.Between(.9, 1.1),
		})
	}
	return list
}

// costCase measures a recorder that is always on, and one within its default budget.
func costCase() harness.Case {
	loads := map[string]struct {
		path string
		rate float64
	}{
		"hello":   {"/", 8000},
		"search":  {"/search?term=president&cnn=on&bbc=on&nyt=on", 300},
		"msgpush": {"/push", 500},
	}
	args := map[string][]string{
		without: nil, always: {"-admin", "127.0.0.1:0", "-recorder-cpu", "1"},
		budgeted: {"-admin", "127.0.0.1:0", "-slow", "1ms"}, // which some requests take
	}
	return harness.Case{
		Name: "recorder/cost", What: "CPU, memory and latencies of services with a recorder, next to without",
		Rounds: 5, Length: 25 * time.Second, Warmup: 5 * time.Second,
		Ways: []string{without, always, budgeted}, Loads: []string{"hello", "search", "msgpush"},
		Skip: func(way, load string) bool { return way == budgeted && load != "hello" },
		Figures: []string{
			perRequest, peak, "p50", "p99", "p99.9", failed, "tracing µs/request", "spent of its budget",
			"on, of the time",
		},
		Claims: slices.Concat([]harness.Claim{
			{Load: "hello", Way: always, Minus: without, Figure: perRequest, Target: harness.AtMost(20), Unit: " µs"},
			{Load: "hello", Way: always, Minus: without, Figure: peak, Target: harness.AtMost(15), Unit: " MB"},
			{Load: "hello", Way: always, Figure: "analysis, of a core", Target: harness.AtMost(.01)},
			{Load: "hello", Way: budgeted, Over: without, Figure: perRequest, Target: harness.AtMost(1.02)},
			{Load: "hello", Way: budgeted, Figure: "spent of its budget", Target: harness.AtMost(1.1)},
			{Load: "hello", Way: budgeted, Figure: "on, of the time", Target: harness.AtLeast(.01)},
			{Load: "search", Way: always, Over: without, Figure: perRequest, Target: harness.AtMost(1.03)},
			{Load: "msgpush", Way: always, Over: without, Figure: perRequest, Target: harness.AtMost(1.03)},
			harness.None("", "", failed),
		}, sameLatency("hello", always, without), sameLatency("hello", budgeted, without),
			sameLatency("msgpush", always, without)),
		Run: func(ctx context.Context, r *harness.Run) error {
			s, err := start(ctx, r, "examples/"+r.Load, r.Way != without, args[r.Way]...)
			if err != nil {
				return err
			}
			defer s.Stop()
			if r.Way == budgeted && !r.Quick { // it saves up for some ten seconds of tracing
				r.Warmup, r.Length = time.Minute, time.Minute
			}
			return s.measure(ctx, r, loads[r.Load].path, loads[r.Load].rate)
		},
	}
}

// One processor is for all.
func analysisCase() harness.Case {
	const kept, inProcess = "kept", "analyzed in the process"
	loads := map[string][]string{"one core": nil, "one core, 64 MB live": {"-ballast", "64"}}
	c := harness.Case{
		Name: "recorder/analysis", What: "a snapshot each second that the service analyzes, next to one that it keeps",
		Rounds: 5, Length: 20 * time.Second, Warmup: 5 * time.Second,
		Ways: []string{kept, inProcess}, Loads: []string{"one core", "one core, 64 MB live"},
		Figures: []string{perRequest, peak, "p50", "p99", "p99.9", "analysis, of a core"},
		Run: func(ctx context.Context, r *harness.Run) error {
			args := []string{"-plain", "-procs", "1", "-slow", "20ms", "-every", "1s", "-recorder-cpu", "1"}
			if r.Way == inProcess {
				args = append(args, "-in-process")
			}
			s, err := planted(ctx, r, append(args, loads[r.Load]...)...)
			if err != nil {
				return err
			}
			defer s.Stop()
			ctx, end := context.WithCancel(ctx)
			defer end()
			go s.slowEachSecond(ctx)
			return s.measure(ctx, r, "", 2000)
		},
	}
	for _, load := range c.Loads {
		c.Claims = append(c.Claims, sameLatency(load, inProcess, kept)...)
		c.Claims = append(c.Claims, harness.Claim{
			Load: load, Way: inProcess, Minus: kept, Figure: peak, Target: harness.AtMost(20), Unit: " MB",
		})
	}
	return c
}

var snapshotTook = regexp.MustCompile(`msg="recorder: a snapshot" took=(\S+)`)

// With 100,000 parked goroutines the recorder has its default budget.
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
			s, err := planted(ctx, r, args...)
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
				if r.Way == most || len(took) > 0 || harness.Wait(ctx, time.Second) != nil {
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
