//go:build unix

package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
)

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
			s.gone(1)
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
	s.gone(1)
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
	s.gone(2)
}
