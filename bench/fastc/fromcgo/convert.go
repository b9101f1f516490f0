//go:build cgo && linux

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// convert takes a module to leaf calls, and runs its tests before and after.
func (w *work) convert(m module) error {
	cgo, fast, err := w.fetch(m)
	if err != nil {
		return err
	}
	folder := filepath.Join(fast, m.folder)
	said, err := w.run(folder, append([]string{w.fastcgen(), "-init"}, m.files...)...)
	if err != nil {
		return err
	}
	fmt.Fprintf(w.out, "%s %s\n%s", m.path, m.version, indented(summary(said)))
	leaf := strings.TrimSuffix(m.files[0], ".go") + "_leaf.go"
	c, err := w.declare(m, folder, leaf)
	if err != nil {
		return err
	}
	if c.signatures, err = w.signatures(m, folder); err != nil {
		return err
	}
	for _, name := range m.files {
		name = filepath.Join(folder, name)
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if text, err = c.convert(name, text); err != nil {
			return err
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	for name, text := range c.counters(m) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	fmt.Fprint(w.out, indented(c.summary()))
	return w.test(m, cgo, fast)
}

func (w *work) fastcgen() string { return filepath.Join(w.dir, "fastcgen") }

// declare generates from the declarations as -init wrote them, and again with what a person says about them.
func (w *work) declare(m module, folder, leaf string) (*converter, error) {
	name := filepath.Join(folder, leaf)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	first, err := readDeclarations(leaf, text)
	if err != nil {
		return nil, err
	}
	if len(first.functions) > 0 {
		if _, err := w.run(folder, w.fastcgen(), leaf); err != nil {
			return nil, fmt.Errorf("it does not generate as it is: %w", err)
		}
	}
	edited, err := m.answers.edit(string(text))
	if err != nil {
		return nil, err
	}
	if edited != string(text) {
		if err := os.WriteFile(name, []byte(edited), 0o644); err != nil {
			return nil, err
		}
		if _, err := w.run(folder, w.fastcgen(), leaf); err != nil {
			return nil, fmt.Errorf("it does not generate with the answers: %w", err)
		}
	}
	d, err := readDeclarations(leaf, []byte(edited))
	return &converter{declarations: d, written: map[string]bool{}, left: map[string]string{}}, err
}

// signatures asks cgo for the signatures of the C functions that the files call.
func (w *work) signatures(m module, folder string) (map[string]*signature, error) {
	flags, err := w.run(folder, "go", "list", "-f", `{{join .CgoCPPFLAGS "\n"}}{{"\n"}}{{join .CgoCFLAGS "\n"}}`, ".")
	if err != nil {
		return nil, err
	}
	objects := filepath.Join(w.dir, m.name, "objects")
	if err := os.MkdirAll(objects, 0o755); err != nil {
		return nil, err
	}
	args := append([]string{"go", "tool", "cgo", "-objdir", objects, "--"}, strings.Fields(flags)...)
	if _, err := w.run(folder, append(args, m.files...)...); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(objects, "_cgo_gotypes.go"))
	if err != nil {
		return nil, err
	}
	return readSignatures(text)
}

// summary counts what fastcgen -init said.
func summary(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	slow, asked, left := map[string]bool{}, map[string]bool{}, ""
	for _, l := range lines {
		_, rest, _ := strings.Cut(l, ": C.")
		name, what, _ := strings.Cut(rest, " ")
		switch {
		case strings.HasPrefix(what, "is declared //fastc:slow"):
			slow[name] = true
		case strings.HasPrefix(what, "is left to you"):
			asked[name] = true
		case strings.HasPrefix(what, "stays as it is"):
			left += "left: C." + rest + "\n"
		}
	}
	var declared, decide, cgo int
	_, counts, _ := strings.Cut(lines[len(lines)-1], " declares ")
	counts = strings.Replace(counts, "1 function;", "1 functions;", 1)
	if _, err := fmt.Sscanf(counts, "%d functions; left to decide, in comments: %d; left to cgo: %d.", &declared, &decide, &cgo); err != nil {
		return "-init says: " + lines[len(lines)-1] + "\n"
	}
	text := fmt.Sprintf("%d functions of C are called: -init declares %d (%d of them //fastc:slow), asks about %d, leaves %d\n",
		declared+decide+cgo, declared, len(slow), decide, cgo)
	if len(asked) > 0 {
		text += "asked: " + strings.Join(slices.Sorted(maps.Keys(asked)), " ") + "\n"
	}
	return text + left
}

// summary counts what became of the declarations.
func (c *converter) summary() string {
	leaves, slow := 0, 0
	for _, f := range c.declarations.functions {
		if f.slow {
			slow++
		} else {
			leaves++
		}
	}
	text := fmt.Sprintf("with the answers: %d leaf functions, %d //fastc:slow; %d calls in the source are leaf calls now, %d are not\n", leaves, slow, c.sites, c.stay)
	for _, name := range slices.Sorted(maps.Keys(c.left)) {
		text += fmt.Sprintf("no leaf call: C.%s: %s\n", name, c.left[name])
	}
	return text
}

func indented(s string) string {
	if s == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ") + "\n"
}

// benchmarks returns the test file with the module's benchmarks.
func (m module) benchmarks() string {
	return "package " + m.name + "\n\nimport \"testing\"\n" + m.bench
}

// errVacuous says that tests which passed say nothing.
var errVacuous = errors.New("the tests made no leaf call")
