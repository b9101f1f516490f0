//go:build unix

package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/examples/child"
	"evenkeel.dev/internal/testutil"
)

// TestGuidesPprof runs the guide's pprof commands on a program of make build. pprof must find the
// source of each line.
func TestGuidesPprof(t *testing.T) {
	testutil.Long(t, "the first run compiles pprof")
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	commands := linesOf(t, "../../docs/gctrace.md", "go tool pprof ")
	build := linesOf(t, "../../Makefile", "GO_BUILD = ")
	if len(commands) != 2 || len(build) != 1 {
		t.Fatalf("the guide has the commands %q, the Makefile builds with %q", commands, build)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	shell := func(dir, command string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	bin := filepath.Join(t.TempDir(), "search")
	shell(".", strings.TrimPrefix(build[0], "GO_BUILD = ")+" -o "+bin+" .")
	search, err := child.Start(ctx, child.Options{Args: []string{bin, "-addr", "127.0.0.1:0"}, Ready: listening})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(search.Kill)
	url := search.Match
	for range 50 {
		if status, _ := fetch(t, url+"/search?term=storm&cnn=on&bbc=on&nyt=on"); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	for i, source := range []string{
		`match.go\n(?s:.*)\n.*:.*strings\.ToLower\(`,
		`strings.go\n(?s:.*)\n.*:.*func ToLower\(`,
	} {
		out := shell("../..", strings.Replace(commands[i], "http://127.0.0.1:5000", url, 1))
		if !regexp.MustCompile(source).MatchString(out) {
			t.Errorf("%s\nshows no source:\n%s", strings.TrimSpace(commands[i]), out)
		}
	}
}

// linesOf returns the lines of a file with this start.
func linesOf(t *testing.T, name, start string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, start) {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return lines
}
