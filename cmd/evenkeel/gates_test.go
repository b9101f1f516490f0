package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/gatestats"
	"evenkeel.dev/cmd/evenkeel/internal/plan"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/golden"
	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/loadgen"
)

func TestWatchOnce(t *testing.T) {
	ok := statsServer(t, nil)
	away := statsServer(t, func(_ uint64, s map[string]any) {
		s["State"], s["Overlapped"], s["Turn"] = "collecting", 3, map[string]any{"Turns": 1, "Holding": 1}
	})
	waits := statsServer(t, func(_ uint64, s map[string]any) {
		s["State"], s["WithoutTurn"], s["IgnoredDrains"] = "wanting", 2, 1
		s["Turn"] = map[string]any{"Turns": 1, "Load": 1.25, "HeldUpBy": "a second replica\x1b[2J"}
	})
	r := call("watch", "-once", ok.URL, away.URL, waits.URL+"/debug/gate")
	host := func(url string) string { return strings.TrimPrefix(url, "http://") }
	r.check(t, cli.ExitOK, []string{
		"replica state turn heap trigger hard live overlapped a collection collections",
		host(ok.URL) + " serving 381 MiB 67% 572 MiB 787 MiB 286 MiB 0 of 100 1",
		host(away.URL) + " collecting has it", "3 of 100",
		host(waits.URL) + " wanting waits",
		"! " + host(waits.URL) + ": 2 collections went without a turn",
		"1 times requests came after", "the load of the turns is 1.25", "a second replica",
	}, nil)
	if strings.Contains(r.stdout, "\x1b") {
		t.Errorf("a replica's text reaches the terminal as it is: %q", r.stdout)
	}
	r = call("watch", "-once", "-json", ok.URL, "127.0.0.1:1")
	r.check(t, cli.ExitFailed, nil, []string{"127.0.0.1:1"})
	var look struct {
		Replicas []struct {
			URL, Error string
			Stats      *gatestats.Stats
		}
		Warnings []string
	}
	if err := json.Unmarshal([]byte(r.stdout), &look); err != nil || len(look.Replicas) != 2 ||
		look.Replicas[0].Stats.Heap != 400e6 || look.Replicas[1].Error == "" || len(look.Warnings) != 1 {
		t.Errorf("%v: %s", err, r.stdout)
	}
	lingers := statsServer(t, func(_ uint64, s map[string]any) { s["Turn"] = map[string]any{"Turns": 1, "Holding": 1} })
	alone := statsServer(t, func(_ uint64, s map[string]any) {
		s["State"], s["Turn"] = "collecting", map[string]any{"Turns": 1, "Holding": 0}
	})
	call("watch", "-once", lingers.URL, alone.URL).check(t, cli.ExitOK,
		[]string{host(lingers.URL) + " serving has it", host(alone.URL) + " collecting without"}, nil)
	both := call("watch", "-once", away.URL, away.URL)
	both.check(t, cli.ExitOK, []string{"! 2 replicas are drained at once with 1 turn"}, nil)
}

// TestWatchOnceInterrupted: a look that was cut short says nothing of the replicas.
func TestWatchOnceInterrupted(t *testing.T) {
	for _, flags := range []string{"-once", "-once -json"} {
		ctx, cancel := context.WithCancel(t.Context())
		r := interrupted(t, ctx, cancel, statsServer(t, nil), append([]string{"watch"}, strings.Fields(flags)...)...)
		r.check(t, cli.ExitInterrupted, nil, []string{"evenkeel watch: interrupted"})
		if r.stdout != "" {
			t.Errorf("%s: it prints %s", flags, r.stdout)
		}
	}
}

// TestWatchFollows watches until two collections were told, and ends at the context's.
func TestWatchFollows(t *testing.T) {
	s := statsServer(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	out := &stopAt{text: ": trigger, collected 300 ms", times: 2, stop: cancel}
	a := &cli.App{Stdout: out, Stderr: io.Discard}
	if code := dispatch(ctx, a, []string{"watch", "-every", "100ms", s.URL}); code != cli.ExitOK {
		t.Errorf("exit code %d:\n%s", code, &out.said)
	}
	if !strings.Contains(out.said.String(), "last collections") {
		t.Errorf("it says\n%s", &out.said)
	}
}

// stopAt calls stop when a text was written so many times.
type stopAt struct {
	said  bytes.Buffer
	text  string
	times int
	stop  func()
}

func (s *stopAt) Write(b []byte) (int, error) {
	n, err := s.said.Write(b)
	if strings.Count(s.said.String(), s.text) >= s.times {
		s.stop()
	}
	return n, err
}

// planRun is a run of 10 s at 6,000 requests/s on one processor that takes 0.9 of it, 0.4 of that
// the collector: 8 collections of 300 MB at 1.5 ns a byte.
func planRun(label string) runfile.Run {
	r := runfile.Run{Label: label, Load: &loadgen.Result{Answered: 60_000, Duration: 10 * time.Second}}
	r.Alloc = &runfile.Alloc{Bytes: 2_400_000_000}
	r.GC = &runfile.GC{Source: runfile.FromTrace}
	s := &r.GC.Summary
	s.Collections, s.Procs = 8, gctrace.Of(1)
	s.CPU.Total = gctrace.Of(3600 * time.Millisecond)
	s.Heap.Live.Mean, s.Heap.After.Max = gctrace.Of[int64](300_000_000), gctrace.Of[int64](600_000_000)
	r.Server = &runfile.Server{PeakRSSBytes: 680_000_000}
	r.Disturbance = &runfile.Disturbance{ServiceCPU: gctrace.Of(9 * time.Second)}
	return r
}

// savePlanRuns writes a run.json.
func savePlanRuns(t *testing.T, runs ...runfile.Run) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "run.json")
	if err := runfile.Save(name, (&runfile.File{Version: runfile.Version, Runs: runs}).Write); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestPlan prints the plan of a run.json as the guide shows it.
func TestPlan(t *testing.T) {
	name := savePlanRuns(t, planRun("a"))
	r := call("plan", "-times", "4", "-memory", "2GiB", name)
	r.check(t, cli.ExitOK, nil, nil)
	golden.Check(t, "plan.golden.txt", r.stdout)
}

// TestPlanCountsIdleProcessors: at a low load they do most of the marking, which others have to do
// where the load is high.
func TestPlanCountsIdleProcessors(t *testing.T) {
	r := planRun("a")
	r.GC.Summary.CPU.Total, r.GC.Summary.CPU.Idle = gctrace.Of(600*time.Millisecond), gctrace.Of(3*time.Second)
	text := func(r runfile.Run) string { return call("plan", savePlanRuns(t, r)).stdout }
	if with, without := text(r), text(planRun("a")); with != without || with == "" {
		t.Errorf("where idle processors mark the plan is\n%s, else\n%s", with, without)
	}
}

// TestPlanOfASmallHeap: gctrace writes whole megabytes, and examples/hello has none.
func TestPlanOfASmallHeap(t *testing.T) {
	run := planRun("a")
	run.GC.Summary.Heap.Live.Mean = gctrace.Of[int64](0)
	call("plan", savePlanRuns(t, run)).check(t, cli.ExitFailed, nil, []string{"less than 1 MB", "nothing to plan"})
}

func TestPlanJSON(t *testing.T) {
	name := savePlanRuns(t, planRun("a"), planRun("a"))
	r := call("plan", "-json", "-n", "3", "-k", "2", "-times", "2", "-held", "100ms", name)
	r.check(t, cli.ExitOK, nil, nil)
	var p plan.Plan
	if err := json.Unmarshal([]byte(r.stdout), &p); err != nil {
		t.Fatal(err)
	}
	if p.Requests != 12_000 || p.AllocRate != 480e6 || p.Live != 300e6 || p.Replicas != 3 || p.Turns != 2 ||
		p.Held != (plan.Range{Low: 0.1, High: 0.1}) || len(p.Ways) != 3 {
		t.Errorf("%+v", p)
	}
	gated := p.Ways[plan.Gated]
	if load := 480e6 * 0.1 / 300e6 / 0.95 / 2; fmt.Sprintf("%.6g", gated.TurnLoad.Low) != fmt.Sprintf("%.6g", load) {
		t.Errorf("the load of the turns is %g, want %g", gated.TurnLoad.Low, load)
	}
}

func TestPlanRefusesWhatItCannotUse(t *testing.T) {
	without := func(change func(*runfile.Run)) string {
		r := planRun("a")
		change(&r)
		return savePlanRuns(t, r)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, say string }{
		{empty, "cut off, or empty"},
		{logFile(t, gcLog(1, 3)), "not a file that evenkeel wrote"},
		{logFile(t, "{}"), "no version"},
		{savePlanRuns(t, planRun("a"), planRun("b")), "has runs of a, b: choose one with -label"},
		{without(func(r *runfile.Run) { r.GC = nil }), "it lacks collections; measure for longer"},
		{without(func(r *runfile.Run) { r.Alloc = nil }), "it lacks allocations"},
		{without(func(r *runfile.Run) { r.Load.Duration = 0 }), "no duration"},
	} {
		call("plan", tt.name).check(t, cli.ExitFailed, nil, []string{tt.say})
	}
	call("plan", "-label", "c", savePlanRuns(t, planRun("a"), planRun("b"))).check(t, cli.ExitFailed, nil,
		[]string{`no runs of "c", but of a, b`})
	call("plan", "-label", "b", savePlanRuns(t, planRun("a"), planRun("b"))).check(t, cli.ExitOK,
		[]string{"replicas needed"}, nil)
	call("plan", "-label", "a", "http://127.0.0.1:1/").check(t, cli.ExitUsage, nil, []string{"-label is of a run.json"})
	call("plan", "-for", "3s", "a").check(t, cli.ExitUsage, nil, []string{"-for watches a status page"})
	call("plan", "-held", "0s", "a").check(t, cli.ExitUsage, nil, []string{"-held 0s; write for how long"})
	call("plan", "-n", "100", "-held", "3s", savePlanRuns(t, planRun("a"))).check(t, cli.ExitOK,
		[]string{"! if all replicas want the turn at once"}, nil)
	cpu := without(func(r *runfile.Run) { r.Disturbance = nil })
	call("plan", cpu).check(t, cli.ExitOK, []string{"memory of one", "! the replicas needed and"}, nil)
}

// statsServer serves statistics of a gate that has allocated 50 MB and served 100 requests more
// each time that it is asked.
func statsServer(t *testing.T, change func(asked uint64, stats map[string]any)) *httptest.Server {
	t.Helper()
	var asked atomic.Uint64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		stats := map[string]any{
			"Policy": "drain", "State": "serving", "Live": 300e6, "Heap": 400e6, "Trigger": 600e6, "Hard": 825e6,
			"Limit":     uint64(1<<63 - 1),
			"Allocated": n * 50e6, "Entered": n * 100, "Collections": map[string]uint64{"trigger": n},
			"Phases": map[string]any{"collecting": map[string]any{"Count": n, "Total": n * 300e6, "Max": 310e6}},
			"Turn": map[string]any{
				"Held": map[string]any{"Count": 10, "Total": 4e9, "Max": 5e8}, "Replicas": 4,
				"Turns": 1,
			},
		}
		if change != nil {
			change(n, stats)
		}
		json.NewEncoder(w).Encode(map[string]any{"gate": stats, "window": 5}) // as an example's /stats
	}))
	t.Cleanup(s.Close)
	return s
}

// TestPlanOfAStatusPage plans for four replicas, each with what one has to do.
func TestPlanOfAStatusPage(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	s := statsServer(t, nil)
	r := call("plan", "-for", "1s", "-json", s.URL+"/stats")
	r.check(t, cli.ExitOK, nil, nil)
	var p plan.Plan
	if err := json.Unmarshal([]byte(r.stdout), &p); err != nil {
		t.Fatal(err)
	}
	if p.Replicas != 4 || p.Turns != 1 || p.Held != (plan.Range{Low: 0.4, High: 0.5}) || p.Memory != 0 {
		t.Errorf("%+v", p)
	}
	// the clock may be late, and the ratio is not
	if p.AllocRate <= 0 || p.AllocRate > 200e6 || p.AllocRate/p.Requests < 499e3 || p.AllocRate/p.Requests > 501e3 {
		t.Errorf("%g bytes and %g requests a second", p.AllocRate, p.Requests)
	}
	if p.Ways[plan.Gated].CPU != (plan.Range{}) ||
		!strings.Contains(strings.Join(p.Notes, "\n"), "this page lacks the CPU") {
		t.Errorf("CPU from nothing: %+v", p)
	}
	again := statsServer(t, func(asked uint64, stats map[string]any) { stats["Allocated"] = 1e9 / float64(asked) })
	call("plan", "-for", "1s", again.URL).check(t, cli.ExitFailed, nil, []string{"the replica was started again"})
	still := statsServer(t, func(_ uint64, stats map[string]any) { stats["Allocated"] = 5 })
	call("plan", "-for", "1s", still.URL).check(t, cli.ExitFailed, nil, []string{"look at it under load"})
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"State": 5}`)
	}))
	defer other.Close()
	call("plan", other.URL).check(t, cli.ExitFailed, nil, []string{"no gate's statistics", "httpgate.Status"})
	call("plan", other.URL+"\x7f").check(t, cli.ExitFailed, nil, []string{"evenkeel plan"})
}

// TestPlanOfAStatusPageWithCPU says what a request takes.
func TestPlanOfAStatusPageWithCPU(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	r := call("plan", "-for", "1s", statsServer(t, func(asked uint64, stats map[string]any) {
		stats["Process"] = map[string]any{
			"CPU": asked * 500e6, "Collector": asked * 200e6, "Cycles": asked * 8,
			"Procs": 1,
		}
	}).URL)
	r.check(t, cli.ExitOK, []string{"1 processor each", "CPU of a request", "of it the collector", "replicas needed"},
		nil)
	again := statsServer(t, func(asked uint64, stats map[string]any) {
		stats["Process"] = map[string]any{"CPU": 10e9 / asked}
	})
	call("plan", "-for", "1s", again.URL).check(t, cli.ExitFailed, nil, []string{"the replica was started again"})
}
