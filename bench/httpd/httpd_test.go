//go:build linux

package main

import (
	"bytes"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/bench/httpd/wire"
)

// TestRows runs each row with each server, tiny: all there is to see is that everything is answered, once a connection at least.
func TestRows(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a minute")
	}
	if runtime.NumCPU() < 2 {
		t.Skip("needs two cores")
	}
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin+"/", "./server", "./client").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var out bytes.Buffer
	d := &driver{bin: bin, rounds: 1, length: 50 * time.Millisecond, warmup: 10 * time.Millisecond, most: 20, out: &out}
	if err := d.choose("", ""); err != nil {
		t.Fatal(err)
	}
	if err := d.measure(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, failure := range d.failed {
		if failure.Server != "httpd-uring" || !failure.Unready || !strings.Contains(failure.Error, "io_uring") { // which a system may not have
			t.Error(failure.failure())
		}
	}
	for _, s := range d.samples {
		i := slices.IndexFunc(rows, func(r row) bool { return r.name == s.Row })
		timed := rows[i].load == "closed" || rows[i].load == "beside" // of these a busy machine may answer none in time
		if s.Failed > 0 || !timed && s.Requests < 20 {
			t.Errorf("%s: %s: %d requests, %d failed", s.Server, s.Row, s.Requests, s.Failed)
		}
	}
	want := 0
	for _, r := range rows {
		for _, server := range servers {
			if r.of(server) {
				want++
			}
		}
	}
	if n := len(d.samples) + len(d.failed); n != want {
		t.Errorf("%d runs, want %d\n%s", n, want, out.String())
	}
	if len(d.peers()) != 4 {
		t.Errorf("peers %v", d.peers())
	}
}

// TestFigures: samples that are good meet every target, and such that are bad miss every one.
func TestFigures(t *testing.T) {
	for want, worse := range map[figure.Verdict]float64{figure.Met: .5, figure.Missed: 2} {
		var samples []sample
		for round := range 10 {
			for _, r := range rows {
				for _, server := range servers {
					f := 1.
					if server != base {
						f = worse
					}
					of := func(d time.Duration) time.Duration { return time.Duration(f * float64(d) * (1 + float64(round)/1000)) }
					s := sample{Server: server, Row: r.name, Round: round + 1, Bytes: 1000 * f}
					if r.tls {
						s.Bytes *= 8
					}
					s.Result = wire.Result{Requests: int(1000 / f), Seconds: 1, CPU: of(50 * time.Microsecond), P99: of(time.Millisecond), P999: of(2 * time.Millisecond), Memory: int64(1e6 * f * f * f * f)}
					if f > 1 {
						s.Failed = 1
					}
					samples = append(samples, s)
				}
			}
		}
		set := figure.New("httpd")
		var out bytes.Buffer
		set.Out = &out
		figures(set, samples, nil)
		tables(samples, &out)
		for _, f := range set.Figures {
			if f.Verdict != want {
				t.Errorf("%s: %v, want %v", f.Name, f.Verdict, want)
			}
		}
		if len(set.Figures) < 2*len(rows) {
			t.Errorf("%d figures\n%s", len(set.Figures), out.String())
		}
	}
}

// TestFailed: a run in which a backend of httpd ended under load misses that all are answered, also where it is the row's only one, and
// says so in the file. One whose server never listened says nothing of httpd, nor does one of net/http.
func TestFailed(t *testing.T) {
	const trickle, flood = "hostile-trickle", "hostile-flood"
	good := wire.Result{Requests: 1000, Seconds: 1, CPU: time.Microsecond, P99: time.Millisecond, P999: time.Millisecond, Memory: 1e6}
	samples := []sample{
		{Server: base, Row: trickle, Round: 1, Result: good}, {Server: "httpd-epoll", Row: trickle, Round: 1, Result: good}, {Server: "httpd-uring", Row: trickle, Round: 1, Result: good},
	}
	died := wire.Result{Failed: 7, Gone: true}
	failures := []sample{
		{Server: "httpd-epoll", Row: trickle, Round: 2, Result: died, Error: "the server ended"},
		{Server: "httpd-epoll", Row: flood, Round: 2, Error: "EOF"},
		{Server: "httpd-uring", Row: flood, Round: 2, Error: "no io_uring", Unready: true},
		{Server: base, Row: flood, Round: 2, Error: "EOF"},
	}
	set, name := figure.New("httpd"), ""
	var out bytes.Buffer
	set.Out, set.Raw["runs"], set.Raw["failed"] = &out, samples, failures
	if err := set.Save(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(out.String(), "raw results: %s", &name); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	got := map[string]string{}
	err := figure.Again{File: name}.Judge("httpd", &out, func(s *figure.Set, raw figure.Recorded) error {
		err := judge(s, raw)
		for _, f := range s.Figures {
			if row, ok := strings.CutSuffix(f.Name, ": connections without an answer"); ok {
				got[row] = fmt.Sprint(f.Measured, " ", f.Verdict)
			}
		}
		return err
	})
	want := map[string]string{"httpd-epoll, " + trickle: "7 missed", "httpd-epoll, " + flood: "1 missed", "httpd-uring, " + trickle: "0 met"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v: %v, want %v", err, got, want)
	}
	if n := strings.Count(out.String(), "failed: round 2: "); n != len(failures) {
		t.Errorf("%d failed runs said\n%s", n, out.String())
	}
}

// TestBreakEven: 2 µs more a request, where an idle connection is 20,000 bytes less, pays from 0.43 of them for each request a second
// on; 1 µs less always does; and without the bytes nothing is said.
func TestBreakEven(t *testing.T) {
	run := func(server, row string, bytes float64, cpu time.Duration) sample {
		return sample{Server: server, Row: row, Bytes: bytes, Result: wire.Result{Requests: 1, Seconds: 1, CPU: cpu}}
	}
	loads := []sample{
		run(base, "hello-100", 0, 10*time.Microsecond), run("httpd-epoll", "hello-100", 0, 12*time.Microsecond),
		run(base, "json-100", 0, 10*time.Microsecond), run("httpd-epoll", "json-100", 0, 9*time.Microsecond),
	}
	for want, idle := range map[string][]sample{
		"": nil,
		"httpd-epoll, hello-100: 2.0 µs of CPU more a request: pays from 0.43 idle connections for each request a second on\n" +
			"httpd-epoll, json-100: 1.0 µs of CPU less a request: pays with any number of idle connections\n": {run(base, "idle", 20_500, 0), run("httpd-epoll", "idle", 500, 0)},
	} {
		var out bytes.Buffer
		breakEven(append(idle, loads...), &out)
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}

// TestRecorded judges the recorded files again.
func TestRecorded(t *testing.T) {
	if files, _ := filepath.Glob("../results/httpd-*.json"); len(files) == 0 {
		t.Skip("needs a recorded run")
	}
	if err := figure.Unchanged("httpd", "../results/httpd-*.json", judge); err != nil {
		t.Error(err)
	}
}
