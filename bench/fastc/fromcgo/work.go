//go:build cgo && linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/bench/figure"
)

// module is a module that wraps C, and what it takes to get it to leaf calls.
type module struct {
	name, path, version string
	files               []string      // those that call C
	finish              func(*editor) // edits the declarations that fastcgen -init wrote
	replace             func(*editor) // edits the module's own files
	bench               string        // what stands below the package clause of a test file: benchmarks
	skip                string        // a pattern of tests that take minutes for what others test too
}

// work is where modules are changed.
type work struct {
	ctx       context.Context
	root, dir string
	out       io.Writer
}

// run runs a program in a folder and returns what it wrote.
func (w *work) run(dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(w.ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w\n%s%s", strings.Join(args, " "), err, out.String(), said.String())
	}
	return out.String() + said.String(), nil
}

// build builds fastcgen.
func (w *work) build() error {
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return err
	}
	_, err := w.run(w.root, "go", "build", "-o", filepath.Join(w.dir, "fastcgen"), "./cmd/fastcgen")
	return err
}

// errMissing says that a module is neither in the cache nor to be had.
var errMissing = errors.New("the module is not in the module cache, and could not be fetched")

// fetch copies a module twice: as it is, and to be changed.
func (w *work) fetch(m module) (cgo, fast string, err error) {
	empty := filepath.Join(w.dir, m.name, "empty")
	if err := os.MkdirAll(empty, 0o755); err != nil {
		return "", "", err
	}
	if err := os.WriteFile(filepath.Join(empty, "go.mod"), []byte("module empty\n\ngo 1.26.0\n"), 0o644); err != nil {
		return "", "", err
	}
	said, err := w.run(empty, "go", "mod", "download", "-json", m.path+"@"+m.version)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", errMissing, err)
	}
	var from struct{ Dir string }
	if err := json.Unmarshal([]byte(said), &from); err != nil {
		return "", "", err
	}
	cgo, fast = filepath.Join(w.dir, m.name, "cgo"), filepath.Join(w.dir, m.name, "fastc")
	for _, dir := range []string{cgo, fast} {
		if err := copyFolder(dir, from.Dir); err != nil {
			return "", "", err
		}
		if !exists(filepath.Join(dir, "go.mod")) {
			if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+m.path+"\n"), 0o644); err != nil {
				return "", "", err
			}
		}
		for _, change := range []string{"-go=1.26.0", "-require=evenkeel.dev@v0.0.0", "-replace=evenkeel.dev=" + w.root} {
			if _, err := w.run(dir, "go", "mod", "edit", change); err != nil {
				return "", "", err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "fromcgo_test.go"), []byte(m.benchmarks()), 0o644); err != nil {
			return "", "", err
		}
	}
	return cgo, fast, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// copyFolder copies files that may be changed then: those of the module cache may not.
func copyFolder(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, info.Mode().Perm()|0o200)
	})
}

// convert takes a module to leaf calls, and runs its tests before and after.
func (w *work) convert(m module) error {
	cgo, fast, err := w.fetch(m)
	if err != nil {
		return err
	}
	fastcgen := filepath.Join(w.dir, "fastcgen")
	said, err := w.run(fast, append([]string{fastcgen, "-init"}, m.files...)...)
	if err != nil {
		return err
	}
	fmt.Fprintf(w.out, "%s %s\n%s", m.path, m.version, indented(summary(said)))
	leaf := strings.TrimSuffix(m.files[0], ".go") + "_leaf.go"
	generate := func() error {
		said, err := w.run(fast, fastcgen, leaf)
		if n := strings.Count(said, "warning: "); n > 0 {
			said = fmt.Sprintf("%d warnings\n", n)
		}
		fmt.Fprint(w.out, indented(said))
		return err
	}
	if err := generate(); err != nil { // as it is
		return err
	}
	declarations := &editor{dir: fast, leaf: leaf}
	m.finish(declarations)
	if declarations.err != nil {
		return declarations.err
	}
	if err := generate(); err != nil {
		return err
	}
	calls := &editor{dir: fast, leaf: leaf}
	m.replace(calls)
	if calls.err != nil {
		return calls.err
	}
	fmt.Fprintf(w.out, "  generates as it is; %d edits of its declarations; %d calls replaced by name, %d other edits\n",
		declarations.edits, calls.renamed, calls.edits)
	for _, dir := range []string{cgo, fast} {
		if said, err = w.run(dir, "go", "test", "-count=1", "-timeout=300s", "-skip="+m.skip, "."); err != nil {
			return err
		}
		said = said[strings.LastIndex(strings.TrimSpace(said), "\n")+1:] // without the C compiler's warnings
		fmt.Fprintf(w.out, "  %-5s %s", filepath.Base(dir), said)
	}
	return nil
}

// summary counts what fastcgen -init said, and keeps its last line.
func summary(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	slow, asked, left := 0, map[string]bool{}, ""
	for _, l := range lines {
		_, rest, _ := strings.Cut(l, ": C.")
		name, what, _ := strings.Cut(rest, " ")
		switch {
		case strings.HasPrefix(what, "is declared //fastc:slow"):
			slow++
		case strings.HasPrefix(what, "is left to you"):
			asked[name] = true
		case strings.HasPrefix(what, "stays as it is"):
			left += "  stays: C." + rest + "\n"
		}
	}
	return fmt.Sprintf("%s\n  of these //fastc:slow: %d; asked: %s\n%s", lines[len(lines)-1], slow, strings.Join(slices.Sorted(maps.Keys(asked)), " "), left)
}

// benchmarks returns the test file with the module's benchmarks.
func (m module) benchmarks() string {
	return "package " + m.name + "\n\nimport \"testing\"\n" + m.bench
}

func indented(s string) string {
	if s == "" {
		return ""
	}
	return "    " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n    ") + "\n"
}

var benchLine = regexp.MustCompile(`(?m)^Benchmark(FromCgo\S*?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`)

// compare runs the benchmarks of both, round by round, in turns.
func (w *work) compare(m module, set *figure.Set, rounds int) error {
	cgo, fast := filepath.Join(w.dir, m.name, "cgo"), filepath.Join(w.dir, m.name, "fastc")
	times := map[string]map[string][]float64{}
	for _, dir := range []string{cgo, fast} {
		times[dir] = map[string][]float64{}
		if _, err := w.run(dir, "go", "test", "-c", "-o", "bench.test", "."); err != nil {
			return err
		}
	}
	for round := range rounds {
		dirs := []string{cgo, fast}
		if round%2 == 1 {
			slices.Reverse(dirs)
		}
		for _, dir := range dirs {
			out, err := w.run(dir, filepath.Join(dir, "bench.test"), "-test.run=^$", "-test.bench=^BenchmarkFromCgo", "-test.benchtime=200ms")
			if err != nil {
				return err
			}
			for _, l := range benchLine.FindAllStringSubmatch(out, -1) {
				ns, err := strconv.ParseFloat(l[2], 64)
				if err != nil {
					return err
				}
				times[dir][l[1]] = append(times[dir][l[1]], ns)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(times[cgo])) {
		a, b := times[cgo][name], times[fast][name]
		set.Raw[m.name+" "+name] = map[string][]float64{"cgo ns": a, "fastc ns": b}
		text := fmt.Sprintf("%s %s, cgo %.4g ns, fastc %.4g ns: cgo/fastc", m.name, strings.TrimPrefix(name, "FromCgo"), figure.Median(a), figure.Median(b))
		set.AtLeast(text, figure.Ratios(a, b), 0.98, "")
	}
	return nil
}
