package main

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestTerminal runs the command on a terminal, with and without colour.
func TestTerminal(t *testing.T) {
	t.Parallel()
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("script (util-linux) is not installed")
	}
	url := serve(t, func(http.ResponseWriter, *http.Request) {})
	for _, tt := range []struct {
		env        string
		bar, color bool
	}{
		{"TERM=xterm", true, true},
		{"NO_COLOR=1", true, false},
		{"NO_COLOR=", true, true},
		{"TERM=dumb", false, false},
	} {
		cmd := exec.Command(script, "-qec", binary+" load -z 1s -c 2 "+url, "/dev/null")
		cmd.Env = append(os.Environ(), "TERM=xterm", tt.env)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", tt.env, err, out)
		}
		if got := strings.Contains(string(out), "[="); got != tt.bar {
			t.Errorf("%s: bar %v, want %v:\n%q", tt.env, got, tt.bar, out)
		}
		if got := strings.Contains(string(out), "\x1b[1m"); got != tt.color {
			t.Errorf("%s: colour %v, want %v:\n%q", tt.env, got, tt.color, out)
		}
		if !strings.Contains(string(out), "requests/s") {
			t.Errorf("%s: no report:\n%q", tt.env, out)
		}
	}
}
