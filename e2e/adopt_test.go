package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeAdoption follows the README: its go mod lines and its program, in a module of
// somebody else's.
func TestReadmeAdoption(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(readme)
	lines := regexp.MustCompile(`(?m)^ {4}(go mod [^#\n]*)`).FindAllStringSubmatch(string(readme), -1)
	if program == nil || len(lines) == 0 {
		t.Fatal("README.md has no go mod lines or no program")
	}
	clone, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.com/service\n\ngo 1.26\n",
		"main.go": string(program[1]),
		"load.go": "package main\n\nimport \"evenkeel.dev/loadgen\"\n\nvar _ loadgen.Options // has dependencies of its own\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var commands [][]string
	for _, l := range lines {
		commands = append(commands, strings.Fields(strings.ReplaceAll(l[1], "/path/to/clone", clone)))
	}
	commands = append(commands, []string{"go", "vet", "./..."}, []string{"go", "run", "."})
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
	if !regexp.MustCompile(`(?m)^[1-9]\d* collections, stopped for [0-9.]+[µm]?s in all$`).MatchString(out) {
		t.Errorf("the README's program printed %q", out)
	}
}
