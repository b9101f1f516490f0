package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeAdoption follows the README: its go mod edit line and its program, in a module of
// somebody else's.
func TestReadmeAdoption(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	edit := regexp.MustCompile(`(?m)^ +(go mod edit .*)$`).FindSubmatch(readme)
	program := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(readme)
	if edit == nil || program == nil {
		t.Fatal("README.md has no go mod edit line or no program")
	}
	clone, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), program[1], 0o644); err != nil {
		t.Fatal(err)
	}
	command := strings.Fields(strings.ReplaceAll(string(edit[1]), "/path/to/clone", clone))
	var out string
	for _, args := range [][]string{
		{"go", "mod", "init", "example.com/service"},
		command,
		{"go", "mod", "tidy"},
		{"go", "vet", "./..."},
		{"go", "run", "."},
	} {
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
