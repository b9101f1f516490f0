package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/internal/golden"
	"evenkeel.dev/internal/testutil"
)

// startIn starts testdata/server in a control group. It sends one request after the other until the
// test ends.
func startIn(t *testing.T, group string, flags ...string) (base string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	script := `echo $$ > "$0/cgroup.procs" && exec "$@"`
	cmd := exec.Command("sh", append([]string{"-c", script, group, testServer(t), "-addr", addr, "-pprof"},
		flags...)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var asks sync.WaitGroup
	stop := make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		asks.Wait()
	})
	base = "http://" + addr
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func() error {
		resp, err := c.Get(base)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		return err
	}
	for end := time.Now().Add(time.Minute); ask() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the server does not listen")
		}
	}
	asks.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				_ = ask()
			}
		}
	})
	return base
}

// TestExplainThrottled tests that explain reports a used-up CPU quota of a service's group, or of
// that group's parent, with the quota and advice. It must not say that the machine stood still.
// Behind a proxy the quota is not known.
func TestExplainThrottled(t *testing.T) {
	outer := testutil.QuotaGroup(t, 15*time.Millisecond)
	inner := testutil.Group(t, outer)
	if strings.HasPrefix(outer, "/sys/fs/cgroup/cpu/") {
		t.Run("its own", func(t *testing.T) {
			testThrottled(t, outer)
		}) // in version 2 a group with children has no processes
	}
	t.Run("its parent's", func(t *testing.T) { testThrottled(t, inner) })
}

// TestExplainCPUStat tests that a log from the container tells what a trace from elsewhere cannot.
func TestExplainCPUStat(t *testing.T) {
	const trace = "testdata/throttled.trace.gz"
	r := call("explain", "-cpu-stat", "testdata/throttled.cpu.log", "-fail-if", "throttled>50%", trace)
	r.check(t, cli.ExitLimit, nil, []string{"-fail-if throttled>50%: it is "})
	golden.Written(t, "throttled.golden.txt", func(b *bytes.Buffer) error {
		_,
			err := b.WriteString(r.stdout)
		return err
	})
	call("explain", trace).check(t, cli.ExitOK, []string{
		"No cause is certain.", "A CPU quota looks the same,",
		"A CPU quota is likely,",
	}, nil)

	call("explain", "-cpu-stat", trace, trace).check(t, cli.ExitFailed, nil,
		[]string{"-cpu-stat testdata/throttled.trace.gz: line 1: "})
	call("explain", "-cpu-stat", "none.log", trace).check(t, cli.ExitFailed, nil, []string{"-cpu-stat: open none.log"})
	call("explain", "-cpu-stat", "17", "-against", trace, trace).check(t, cli.ExitUsage, nil,
		[]string{"-against and -cpu-stat exclude each other"})
}

func testThrottled(t *testing.T, group string) {
	base := startIn(t, group, "-spin", "2000000")
	var r result
	for end := time.Now().Add(2 * time.Minute); ; { // another load may take the CPUs before the quota is used up
		r = call("explain", "-json", "-fail-if", "throttled>10%", base+"/debug/pprof/trace?seconds=2")
		if r.code == cli.ExitLimit || time.Now().After(end) {
			break
		}
	}
	r.check(t, cli.ExitLimit, []string{
		`"cpus": 0.15,`, `"throttled": `, `"cause": "throttled"`,
		`"phrase": "waiting for the CPU quota (throttled)"`, `"silences": `,
	}, []string{"-fail-if throttled>10%"})

	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(httputil.NewSingleHostReverseProxy(u))
	defer proxy.Close()
	r = call("explain", "-json", proxy.URL+"/debug/pprof/trace?seconds=1")
	r.check(t, r.code, nil, []string{"the service's CPU quota is not known: the process that listens there is not " +
		"the one that answers"})
	if strings.Contains(r.stdout, `"quota"`) {
		t.Error(r.stdout)
	}
}

// TestRunKilled has evenkeel die without a chance to stop its server.
func TestRunKilled(t *testing.T) {
	t.Parallel()
	s := newService(t)
	c := start(t, s.args("-z 60s", "-ignore-term", "-say-at", "20")...)
	until(t, "it loads", func() bool { return c.stderr.has("request 20") })
	_ = c.cmd.Process.Kill()
	c.wait()
	s.ended(1)
}

// TestTerminalWidth: sentences wrap at the terminal's width.
func TestTerminalWidth(t *testing.T) {
	t.Parallel()
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("script (util-linux) is not installed")
	}
	cmd := exec.CommandContext(t.Context(), script, "-qec", "stty cols 64; "+os.Args[0]+" explain "+lockTraceFile,
		"/dev/null")
	cmd.Env = append(os.Environ(), asCommand, "TERM=xterm", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	headline, _, _ := strings.Cut(string(out), "Fix: ")
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(headline, "\r", "")), "\n")
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "9") {
		t.Fatalf("%q", headline)
	}
	for _, l := range lines {
		if n := utf8.RuneCountInString(l); n > 64 && strings.ContainsRune(l, ' ') {
			t.Errorf("%d columns: %s", n, l)
		}
	}
}

// TestTerminal runs the command on a terminal, with and without colour.
func TestTerminal(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("script (util-linux) is not installed")
	}
	for _, tt := range []struct {
		env        string
		bar, color bool
	}{
		{"TERM=xterm", true, true},
		{"NO_COLOR=1", true, false},
		{"NO_COLOR=", true, true},
		{"TERM=dumb", false, false},
	} {
		var n atomic.Int64
		var written output
		url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			if n.Add(1) < 10 {
				return
			}
			if tt.bar { // the load ends when it was drawn
				for r.Context().Err() == nil && !written.has("[=") {
					time.Sleep(10 * time.Millisecond)
				}
			} else {
				time.Sleep(300 * time.Millisecond) // for a bar to be drawn
			}
		})
		cmd := exec.CommandContext(t.Context(), script, "-qec", os.Args[0]+" load -n 10 -c 1 "+url, "/dev/null")
		cmd.Env = append(os.Environ(), asCommand, "TERM=xterm", tt.env)
		cmd.Stdout, cmd.Stderr = &written, &written
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", tt.env, err, &written)
		}
		out := written.String()
		if got := strings.Contains(out, "[="); got != tt.bar {
			t.Errorf("%s: bar %v, want %v:\n%q", tt.env, got, tt.bar, out)
		}
		if got := strings.Contains(out, "\x1b[1m"); got != tt.color {
			t.Errorf("%s: colour %v, want %v:\n%q", tt.env, got, tt.color, out)
		}
		if !strings.Contains(out, "requests/s") {
			t.Errorf("%s: no report:\n%q", tt.env, out)
		}
	}
}
