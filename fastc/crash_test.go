//go:build unix

package fastc_test

import (
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// wantCrash runs a program that must end as Go programs do that crash: status 2, and a trace
// that names the caller.
func wantCrash(t *testing.T, cause, caller string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(env, "GOTRACEBACK=single")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Fatalf("%v, want status 2\n%s", err, out)
	}
	if !regexp.MustCompile(cause).Match(out) {
		t.Errorf("the report does not say %s\n%s", cause, out)
	}
	at := regexp.MustCompile(regexp.QuoteMeta(caller) + `\(.*\)\n\t\S+\.go:\d+`)
	if !at.Match(out) {
		t.Errorf("the trace does not name %s and its file\n%s", caller, out)
	}
	if n := strings.Count(string(out), "\ngoroutine "); n < 1 {
		t.Errorf("no goroutine in the report\n%s", out)
	}
}
