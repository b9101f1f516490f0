package e2e

import (
	"bytes"
	"encoding/json"
	"go/format"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/internal/testutil"
)

var goFence = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestReadmeAdoption follows the README's go mod lines in another module, whose program is the
// first one of the gate's guide.
func TestReadmeAdoption(t *testing.T) {
	testutil.Slow(t, "builds and starts services")
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../docs/gcgate.md")
	if err != nil {
		t.Fatal(err)
	}
	program := goFence.FindSubmatch(guide)
	lines := regexp.MustCompile(`(?m)^(go mod [^#\n]*)`).FindAllStringSubmatch(string(readme), -1)
	if program == nil || len(lines) == 0 {
		t.Fatal("README.md has no go mod lines, or docs/gcgate.md no Go program")
	}
	clone, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir, addr := t.TempDir(), freePort(t)
	text := strings.ReplaceAll(string(program[1]), "/run/hello", dir) // systemd would make it
	text = strings.ReplaceAll(text, "127.0.0.1:8081", addr)
	for name, text := range map[string]string{
		"go.mod":     "module example.com/service\n\ngo 1.26\n",
		"main.go":    text,
		"load.go":    "package main\n\nimport \"evenkeel.dev/loadgen\"\n\nvar _ loadgen.Options\n",
		"metrics.go": "package main\n\nimport \"evenkeel.dev/contrib/prometheus/promgate\"\n\nvar _ = promgate.New\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var commands [][]string
	for _, l := range lines {
		commands = append(commands, strings.Fields(strings.ReplaceAll(l[1], "/path/to/clone", clone)))
	}
	// go test also builds and vets packages without tests, and reuses what it knows of the standard
	// library.
	commands = append(commands, []string{"go", "test", testutil.RaceFlag, "-vet=all", "./..."},
		[]string{"go", "build", testutil.RaceFlag, "-ldflags=-w", "-o", "service", "."})
	for _, args := range commands {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, b)
		}
	}
	runService(t, filepath.Join(dir, "service"), addr)
}

// runService starts the guide's program, reads its gate's page, and ends it.
func runService(t *testing.T, program, addr string) {
	t.Helper()
	var printed bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var status struct{ State string }
	for status.State == "" { // only a hang ends it otherwise
		resp, err := http.Get("http://" + addr + "/debug/gate")
		if err == nil {
			err = json.NewDecoder(resp.Body).Decode(&status)
			resp.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the guide's program ended: %v\n%s", err, printed.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	if status.State != "serving" {
		t.Errorf("the gate is %s", status.State)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("asked to end, the guide's program says %v\n%s", err, printed.String())
	}
}

// TestGuideSnippets compiles the Go programs of the gate's guide and of adopt/, each in the module
// of its dependencies.
func TestGuideSnippets(t *testing.T) {
	testutil.Slow(t, "builds and starts services")
	pages, err := filepath.Glob("../docs/adopt/*.md")
	if err != nil {
		t.Fatal(err)
	}
	modules := contribModules(t)
	overlays := map[string]map[string]string{} // module -> file of a package -> text
	for _, page := range append(pages, "../docs/gcgate.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range goFence.FindAllSubmatchIndex(text, -1) {
			snippet := text[m[2]:m[3]]
			if formatted, err := format.Source(snippet); err != nil || !bytes.Equal(formatted, snippet) {
				t.Errorf("%s: snippet %d is not as gofmt has it: %v", page, i+1, err)
			}
			module := ".."
			for _, name := range modules {
				if bytes.Contains(snippet, []byte(`"evenkeel.dev/`+name)) {
					module = filepath.Join("..", name)
				}
			}
			if overlays[module] == nil {
				overlays[module] = map[string]string{}
			}
			name := strings.TrimSuffix(filepath.Base(page), ".md") + strconv.Itoa(i)
			// A compiler's message then names the page and the line.
			line := "//line " + page + ":" + strconv.Itoa(1+bytes.Count(text[:m[2]], []byte("\n"))) + "\n"
			overlays[module][filepath.Join("snippets", name, "snippet.go")] = line + string(snippet)
		}
	}
	if len(overlays) < 5 {
		t.Fatalf("snippets of %d modules found: %v", len(overlays), slices.Sorted(maps.Keys(overlays)))
	}
	for module, files := range overlays {
		t.Run(filepath.Base(module), func(t *testing.T) { compileSnippets(t, module, files) })
	}
}

func compileSnippets(t *testing.T, module string, files map[string]string) {
	dir := t.TempDir()
	module, err := filepath.Abs(module)
	if err != nil {
		t.Fatal(err)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	args := []string{"build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", os.DevNull}
	for name, text := range files {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(module, name)] = file
		args = append(args, "./"+filepath.Dir(name))
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// contribModules returns the folders of contrib's modules, those within others last.
func contribModules(t *testing.T) (modules []string) {
	t.Helper()
	err := filepath.WalkDir("../contrib", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "go.mod" {
			modules = append(modules, strings.TrimPrefix(filepath.Dir(path), "../"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(modules)
	return modules
}
