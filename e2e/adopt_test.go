package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evenkeel.dev/internal/race"
)

// service is a program around the lines of the gate's guide, which leaves it to its reader.
const service = `package main

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/haproxy"
	"evenkeel.dev/gcgate/httpgate"
)

var hello = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") })

func main() {
	LINES
	fmt.Println("the gate is", g.State())
}
`

// TestReadmeAdoption follows the README's go mod lines, and the Go lines of the gate's guide, in a
// module of somebody else's.
func TestReadmeAdoption(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../docs/guides/gcgate.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(guide)
	lines := regexp.MustCompile(`(?m)^(go mod [^#\n]*)`).FindAllStringSubmatch(string(readme), -1)
	if program == nil || len(lines) == 0 {
		t.Fatal("README.md has no go mod lines, or docs/guides/gcgate.md no Go lines")
	}
	clone, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := strings.ReplaceAll(string(program[1]), "/run/hello", dir) // the folder that systemd would make
	for name, text := range map[string]string{
		"go.mod":     "module example.com/service\n\ngo 1.26\n",
		"main.go":    strings.Replace(service, "LINES", text, 1),
		"load.go":    "package main\n\nimport \"evenkeel.dev/loadgen\"\n\nvar _ loadgen.Options // has dependencies of its own\n",
		"metrics.go": "package main\n\nimport \"evenkeel.dev/contrib/prometheus\"\n\nvar _ prometheus.Options // of a module of contrib\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var commands [][]string
	for _, l := range lines {
		commands = append(commands, strings.Fields(strings.ReplaceAll(l[1], "/path/to/clone", clone)))
	}
	// go test builds and vets what has no tests: with -vet=all as go vet does, and with what it knows of the standard library
	// from this test's own run, which go vet works out again.
	commands = append(commands, []string{"go", "test", race.Flag, "-vet=all", "./..."}, []string{"go", "run", race.Flag, "-ldflags=-w", "."})
	var out string
	for _, args := range commands {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		b, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, b)
		}
		out = string(b)
	}
	if !strings.Contains(out, "the gate is serving\n") {
		t.Errorf("the guide's program printed %q", out)
	}
}
