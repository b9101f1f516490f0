//go:build unix

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/loadgen"
)

// due is how many requests the open loop had to send: a machine that stands still as the load ends
// leaves some unsent.
func due(r *loadgen.Result) int64 {
	n := r.Answered
	for _, f := range r.Failures {
		if f.Class == loadgen.ClassUnsent {
			n += f.Count
		}
	}
	return n
}

// TestLoadShapes asks for each protocol and each way for requests to come.
func TestLoadShapes(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	var two atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		two.Add(int64(r.ProtoMajor - 1))
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	plain := httptest.NewUnstartedServer(srv.Config.Handler)
	plain.Config.Protocols = new(http.Protocols)
	plain.Config.Protocols.SetHTTP1(true)
	plain.Config.Protocols.SetUnencryptedHTTP2(true)
	plain.Start()
	t.Cleanup(plain.Close)
	dir := t.TempDir()
	times, no := filepath.Join(dir, "times"), filepath.Join(dir, "no")
	write := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(times, []byte("# seconds\n1700000000.010\n1700000000.000\n\n1700000000.050\n"))
	write(no, []byte("tomorrow\n"))

	for _, tt := range []struct {
		flags, url, says string
		n                int64
		want             func(*loadgen.Result) bool
	}{
		{"-n 10 -insecure", srv.URL, "over HTTP/2", 10, func(r *loadgen.Result) bool {
			return r.Protocol == loadgen.ProtocolHTTP2
		}},
		{
			"-n 10 -c 2 -streams 5 -insecure", srv.URL, "over HTTP/2 with 5 streams each", 10,
			func(r *loadgen.Result) bool {
				return r.Streams == 5
			},
		},
		{"-n 10 -http1 -insecure", srv.URL, "", 0, func(r *loadgen.Result) bool {
			return r.Protocol == loadgen.ProtocolHTTP1
		}},
		{"-n 10 -http2", plain.URL, "over HTTP/2", 10, func(r *loadgen.Result) bool {
			return r.Protocol == loadgen.ProtocolHTTP2
		}},
		{"-n 10", plain.URL, "", 0, func(r *loadgen.Result) bool { return r.Protocol == loadgen.ProtocolHTTP1 }},
		{
			"-n 10 -rate 1000 -arrivals poisson -seed 7", plain.URL,
			"Poisson arrivals, at most 1000 connections, seed 7",
			0, func(r *loadgen.Result) bool {
				return r.Seed == 7 && due(r) == 10
			},
		},
		{"-stages 50ms:100,100ms:100-300", plain.URL, "on average of 2 stages", 0, func(r *loadgen.Result) bool {
			return due(r) == 25 && len(r.Stages) == 2
		}},
		{"-times " + times, plain.URL, "at the times of a trace", 0, func(r *loadgen.Result) bool {
			return due(r) == 3 && r.Arrivals == loadgen.ArrivalsTimes
		}},
	} {
		two.Store(0)
		out := filepath.Join(dir, "run.json")
		call(append(strings.Fields("load -o "+out+" "+tt.flags), tt.url)...).check(t, cli.ExitOK, []string{tt.says},
			nil)
		f := readRuns(t, out)
		if !tt.want(f.Runs[0].Load) || two.Load() != tt.n {
			t.Errorf("%s: %d by HTTP/2; %+v", tt.flags, two.Load(), f.Runs[0].Load)
		}
	}
	for flags, says := range map[string]string{
		"-http1 -http2":                   "exclude each other",
		"-http1 -streams 3":               "-streams 3",
		"-seed 3":                         "-seed is for",
		"-arrivals poisson":               "-arrivals a closed loop has none",
		"-arrivals times":                 "-times FILE",
		"-stages 1s:10 -rate 5":           "-rate",
		"-stages 1s:-3":                   "write a stage",
		"-stages 1s:0":                    "-stages 0 requests/s on average",
		"-times " + no:                    "line 1",
		"-find p99>1s":                    "pQUANTILE < DURATION",
		"-find p99<1s -n 5":               "exclude each other",
		"-find p99<1s -stages 1s:5":       "exclude each other",
		"-http2 -disable-keepalive":       "-disable-keepalive",
		"-find p99<1s -arrivals sometime": "poisson",
	} {
		call(append(strings.Fields("load "+flags), plain.URL)...).check(t, cli.ExitUsage, nil, []string{says})
	}
}

// TestLoadFinds has a server that no rate is low enough for: the search ends, and keeps its steps.
func TestLoadFinds(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	out := filepath.Join(t.TempDir(), "run.json")
	execute(t, "load", "-find", "p50 < 1h", "-rate", "200", "-z", "100ms", "-warmup", "1ms", "-o", out, url).
		check(t, cli.ExitFailed, []string{"p50 < 3600 s holds at none of the 2 rates tried"}, []string{"100.0% failed"})
	var f *runfile.File = readRuns(t, out)
	if len(f.Runs) != 2 || due(f.Runs[0].Load) != 20 {
		t.Errorf("%d steps", len(f.Runs))
	}
}

// TestInterrupt ends evenkeel run in every state that it can be in.
func TestInterrupt(t *testing.T) {
	const twoVariants = " -variant one: -variant two:"
	for _, tt := range []struct {
		name, flags string
		server      []string
		when        func(*service, *session) bool
		runs        int // in run.json
	}{
		{"while getting ready", "", []string{"-never-ready"}, func(s *service, _ *session) bool {
			return len(s.processes()) == 1
		}, 0},
		{"in warm-up", "-warmup 60s -z 60s", []string{"-say-at", "20"}, says("request 20"), 1},
		{"under load", "-z 60s", []string{"-pprof", "-say-at", "20"}, says("request 20"), 1},
		{"in the open loop", "-z 60s -rate 100", []string{"-pprof", "-say-at", "20"}, says("request 20"), 1},
		{
			"in the second variant", "-n 20 -seed 4" + twoVariants,
			[]string{"-slow", "20ms"},
			says("two 1/1: starting"),
			1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, out := newService(t), filepath.Join(t.TempDir(), "run.json")
			c := start(t, s.args(tt.flags+" -o "+out, tt.server...)...)
			until(t, "it is "+tt.name, func() bool { return tt.when(s, c) })
			c.signal(syscall.SIGINT)
			r := c.wait()
			r.check(t, cli.ExitInterrupted, nil, []string{"interrupted"})
			s.ended(1)
			if tt.runs == 0 {
				return
			}
			r.check(t, cli.ExitInterrupted, []string{"requests", "duration"}, []string{"wrote " + out})
			if f := readRuns(t, out); len(f.Runs) < tt.runs {
				t.Errorf("%d runs in run.json, want %d", len(f.Runs), tt.runs)
			}
		})
	}
}

func says(text string) func(*service, *session) bool {
	return func(_ *service, c *session) bool { return c.stderr.has(text) }
}

// TestInterruptTwice does not wait for a server that ignores SIGTERM, and reports all the same.
func TestInterruptTwice(t *testing.T) {
	t.Parallel()
	s, out := newService(t), filepath.Join(t.TempDir(), "run.json")
	c := start(t, s.args("-z 60s -stop-timeout 10m -o "+out, "-ignore-term", "-say-at", "20")...)
	until(t, "it loads", func() bool { return c.stderr.has("request 20") })
	c.signal(syscall.SIGINT)
	// Two signals at once would count as one.
	until(t, "it has told the server to stop", func() bool { return c.stderr.has("server says no to SIGTERM") })
	c.signal(syscall.SIGINT)
	c.wait().check(t, cli.ExitInterrupted, []string{"requests/s", "killed: interrupted again"},
		[]string{"wrote " + out})
	s.ended(1)
	if f := readRuns(t, out); !f.Runs[0].Load.Interrupted {
		t.Error("run.json does not say that it was interrupted")
	}
}

func TestInterruptBySIGTERM(t *testing.T) {
	t.Parallel()
	s := newService(t)
	c := start(t, s.args("-z 60s", "-fork", "-say-at", "20")...)
	until(t, "it loads", func() bool { return c.stderr.has("request 20") })
	c.signal(syscall.SIGTERM)
	c.wait().check(t, cli.ExitInterrupted, []string{"run: the load was interrupted"}, nil)
	s.ended(2)
}
