package main

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"evenkeel.dev/internal/testutil"
)

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
