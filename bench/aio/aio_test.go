package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/bench/aio/wire"
	"evenkeel.dev/bench/figure"
)

// bin is where TestMain builds the programs that the driver starts.
var bin string

func TestMain(m *testing.M) {
	log.SetFlags(0)
	dir, err := os.MkdirTemp("", "bench-aio-")
	if err != nil {
		log.Fatal(err)
	}
	bin = dir
	err = build()
	code := 1
	if err == nil {
		code = m.Run()
	}
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		log.Fatal(err)
	}
	os.Exit(code)
}

func build() error {
	if out, err := exec.Command("go", "build", "-o", bin, "./server", "./client").CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		return nil // TestServers skips what is missing
	}
	if out, err := exec.Command(cc, "-O2", "-o", filepath.Join(bin, "cepoll"), "cepoll/cepoll.c").CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

func testDriver(t *testing.T) *driver {
	return &driver{bin: bin, rounds: 1, length: 200 * time.Millisecond, warmup: 20 * time.Millisecond, out: t.Output()}
}

// TestServers has every server echo in every workload: the client compares what comes back.
func TestServers(t *testing.T) {
	if _, err := os.Stat("/proc/self/task"); err != nil {
		t.Skip("needs proc(5): ", err)
	}
	if runtime.NumCPU() < 2 {
		t.Skip("needs two cores, one for the server and one for the client")
	}
	d := testDriver(t)
	for _, s := range allServers {
		if s.rare {
			continue // TestParts has it
		}
		t.Run(s.name, func(t *testing.T) {
			if s.kind == "" && !d.exists("cepoll") {
				t.Skip("needs a C compiler named cc")
			}
			if strings.HasPrefix(s.name, aioURing) {
				needURing(t)
			}
			for _, p := range []point{
				{"pingpong", 64, 10}, {"pingpong", 512, 10}, {"echo64k", 64 << 10, 1}, {"burst", 1024, 300}, {"idle", 64, 50}, {"sleeper", 64, 10},
			} {
				if p.workload == "sleeper" && s.kind == "" {
					continue // no goroutine sleeps in C
				}
				echoes(t, s, p)
			}
		})
	}
}

// TestMarks marks the two ends of the measured time while the server stands still: it says the lateness all the same.
func TestMarks(t *testing.T) {
	d := testDriver(t)
	srv, err := d.start(t.Context(), d.argv(server{kind: "std"}, point{"sleeper", 64, 10}), serverCore)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.end()
	if _, err := srv.line(t.Context(), stuck); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGCONT} {
		if err := syscall.Kill(srv.Pid(), sig); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := heard[wire.Latency](t.Context(), srv, wire.Sleeper); err != nil {
		t.Error(err)
	}
}

// echoes runs a workload once, and again for longer where a busy machine left too little to see.
func echoes(t *testing.T, s server, p point) {
	t.Helper()
	for d := testDriver(t); ; d.length *= 2 {
		one, err := d.one(t.Context(), s, p)
		if err != nil && !strings.Contains(err.Error(), "no answer in "+d.length.String()) {
			t.Errorf("%v: %v", p, err)
			return
		}
		seen := false
		switch p.workload {
		case "idle":
			seen = one.Idle != nil
		case "sleeper":
			seen = one.Sleeper != nil && one.Sleeper.Max > 0
		default:
			h, derr := one.Latency.Decode()
			seen = err == nil && derr == nil && one.Messages > 0 && h.TotalCount() > 0 && one.CPU > 0
		}
		if seen {
			return
		}
		if d.length > 20*time.Second {
			t.Errorf("%v: %+v, %v", p, one, err)
			return
		}
		t.Logf("%v: nothing to see in %v: %v", p, d.length, err)
	}
}

// needURing skips where the kernel has no io_uring, or forbids it.
func needURing(t *testing.T) {
	t.Helper()
	w, err := aio.New(aio.Options{Backend: aio.BackendIOUring})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestStuck shows that a server that never answers is an error, and no hang.
func TestStuck(t *testing.T) {
	d := testDriver(t)
	c, err := d.start(t.Context(), []string{"sleep", "60"}, serverCore)
	if err != nil {
		t.Fatal(err)
	}
	defer c.end()
	if _, err := c.line(t.Context(), 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "sleep is stuck") {
		t.Errorf("got %v", err)
	}
	if _, err := d.one(t.Context(), server{name: "none", kind: "none"}, point{"pingpong", 64, 1}); err == nil || !strings.Contains(err.Error(), "-kind none is not known") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.one(ctx, allServers[0], point{"pingpong", 64, 1}); err == nil {
		t.Error("a run after an interrupt")
	}
}

// TestFit uses the first of Anscombe's quartet, whose regression is published.
func TestFit(t *testing.T) {
	xs := []float64{10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5}
	ys := []float64{8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68}
	l, err := fit(xs, ys)
	if err != nil {
		t.Fatal(err)
	}
	const slopeDeviation, student = .1179, 2.262157 // published; t of 9 degrees of freedom
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"intercept", l.intercept, 3.0001},
		{"slope", l.slope, .5001},
		{"R²", l.r2, .6665},
		{"residual deviation", l.deviation, 1.2366},
		{"confidence of the slope", l.slopeError, slopeDeviation * student},
		{"band at the mean", l.band(9), 1.2366 * student / math.Sqrt(11)},
	} {
		if math.Abs(c.got-c.want) > 2e-4*math.Max(1, c.want) {
			t.Errorf("%s %.5f, want %.5f", c.name, c.got, c.want)
		}
	}
	if _, err := fit([]float64{1, 1, 1}, ys[:3]); err == nil {
		t.Error("a line through one x")
	}
}

func TestRatios(t *testing.T) {
	r := &recorded{Rounds: 3}
	add := func(server string, conns, round int, cpu float64) {
		s := sample{Server: server, Workload: "pingpong", Size: 64, Conns: conns, Round: round}
		s.CPU = cpu
		r.Samples = append(r.Samples, s)
	}
	for round := range 3 {
		add("a", 1, round, 2)
		add("a", 100, round, 8)
		add("b", 1, round, 1)
		if round != 1 { // a run that failed
			add("b", 100, round, 1)
		}
	}
	if got := r.ratios("a", "b", cpu, pingpongAt(64, 1, 100)...); len(got) != 2 || math.Abs(got[0]-4) > 1e-9 {
		t.Errorf("%v, want [4 4]", got)
	}
	if got := r.ratios("a", "b", cpu, pingpongAt(64, 1)...); !slices.Equal(got, []float64{2, 2, 2}) {
		t.Errorf("%v, want [2 2 2]", got)
	}
	if got := r.ratios("a", "c", cpu, pingpongAt(64, 1)...); got != nil {
		t.Errorf("%v against a server that was not measured", got)
	}
}

// TestShow keeps a run, and shows and draws it again.
func TestShow(t *testing.T) {
	r := &recorded{Rounds: 2, Default: aioEpoll}
	for round := range 2 {
		for i, s := range allServers {
			for _, p := range append(pingpongAt(64, pingpongConns...), point{"regression", 1024, 500}, point{"regression", 1024, 1000}, point{"burst", 1024, burstConns}) {
				one := sample{Server: s.name, Workload: p.workload, Size: p.size, Conns: p.conns, Round: round}
				one.Messages, one.Seconds = 1000, float64(p.conns+i+round)
				one.Latency.P999 = float64(p.conns)
				r.Samples = append(r.Samples, one)
			}
		}
	}
	dir := t.TempDir()
	set := figure.New("aio")
	var first, second bytes.Buffer
	set.Out = &first
	set.Raw["aio"] = r
	tables(r, &first)
	targets(set, r)
	if err := set.Save(dir); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "aio-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := show(figure.Again{File: files[0]}, filepath.Join(dir, "img"), false, &second); err != nil {
		t.Fatal(err)
	}
	shown, _, _ := strings.Cut(first.String(), "raw results:")
	if !strings.Contains(second.String(), shown) {
		t.Errorf("shown first:\n%s\nand then:\n%s", shown, second.String())
	}
	for _, want := range []string{"8,192 clients x 1 KiB, / gnet", "1,000 connections", "0.94 s"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in:\n%s", want, shown)
		}
	}
	if images, err := filepath.Glob(filepath.Join(dir, "img", "aio-*.png")); err != nil || len(images) != 3 {
		t.Errorf("%v, %v, want three pictures", images, err)
	}
}

func TestChoose(t *testing.T) {
	var d driver
	d.out = t.Output()
	if err := d.choose("", "echo64k,nothing", "", nil); err == nil || !strings.Contains(err.Error(), "it is one of echo64k, pingpong") {
		t.Errorf("got %v", err)
	}
	if err := d.choose("hostile", "echo64k", "", nil); err == nil || !strings.Contains(err.Error(), "it is one of closed, slowcalls") {
		t.Errorf("got %v", err)
	}
	if err := d.choose("", "sleeper,idle", "cepoll,std", nil); err != nil || len(d.loads) != 2 || len(d.loads[0].servers) != 1 || len(d.loads[1].servers) != 2 {
		t.Errorf("%+v, %v", d.loads, err)
	}
}

// TestWholeRun holds each part to an hour, and to five minutes where it is quick.
func TestWholeRun(t *testing.T) {
	for _, part := range parts {
		for _, c := range []struct {
			d    driver
			most time.Duration
		}{
			{driver{length: 1500 * time.Millisecond}, time.Hour},
			{driver{quick: true}, 5 * time.Minute},
		} {
			c.d.out, c.d.bin = t.Output(), t.TempDir()
			if err := os.WriteFile(c.d.path("cepoll"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := c.d.choose(part.name, "", "", nil); err != nil {
				t.Fatal(err)
			}
			var all time.Duration
			for _, l := range c.d.loads {
				for _, p := range l.points {
					all += time.Duration(len(l.servers)*l.rounds) * c.d.estimate(p)
				}
			}
			t.Logf("%s, quick %v: about %v", part.name, c.d.quick, all)
			if all > c.most*9/10 {
				t.Errorf("%s, quick %v: about %v", part.name, c.d.quick, all)
			}
		}
	}
}

// TestRecorded judges the recorded files again.
func TestRecorded(t *testing.T) {
	if err := figure.Unchanged("aio", "../results/aio-*.json", new(recorded).judge); err != nil {
		t.Error(err)
	}
}
