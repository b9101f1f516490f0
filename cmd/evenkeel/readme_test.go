package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
)

// shown is a block of the README and the command that is said to print it, run beside bench.
var shown = regexp.MustCompile("(?m)^<!-- output: evenkeel (.*) -->\n```\n((?s:.*?))^```$")

// TestReadmeShowsOutput runs the commands whose output the README shows. It may leave out lines,
// but each that it has is printed, in this order.
func TestReadmeShowsOutput(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := shown.FindAllStringSubmatch(string(readme), -1)
	if len(blocks) != strings.Count(string(readme), "<!-- output:") {
		t.Errorf("%d of the comments <!-- output: evenkeel ... --> stand right above a block", len(blocks))
	}
	bench, err := filepath.Abs("../../bench")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // -demo writes its page here
	if err := os.Symlink(bench, "bench"); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	for _, m := range blocks {
		var stdout, stderr bytes.Buffer
		a := &cli.App{Stdout: &stdout, Stderr: &stderr}
		if code := dispatch(t.Context(), a, strings.Fields(m[1])); code != cli.ExitOK {
			t.Errorf("evenkeel %s: exit code %d\n%s", m[1], code, stderr.String())
			continue
		}
		lines := strings.Split(stdout.String(), "\n")
		for want := range strings.Lines(m[2]) {
			at := 0
			for at < len(lines) && strings.TrimRight(lines[at], " ") != strings.TrimRight(want, " \n") {
				at++
			}
			if at == len(lines) {
				t.Errorf("evenkeel %s does not print, at this place:\n%sbut:\n%s", m[1], want, stdout.String())
				break
			}
			lines = lines[at+1:]
		}
	}
}
