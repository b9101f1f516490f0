package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// scratch makes a module that names everything that the record of the public API has, and builds it.
func (r *releaser) scratch(dir, record string, mods []mod, env []string) error {
	pkgs, err := readRecord(record)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if _, err := output(dir, env, "go", "mod", "init", "scratch"); err != nil {
		return err
	}
	get := []string{"go", "get"}
	for _, m := range mods {
		get = append(get, m.path+"@"+r.version)
	}
	names := 0
	var paths []string
	for i, p := range pkgs {
		text, n := p.uses()
		names += n
		paths = append(paths, p.path)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("use%d.go", i)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		return err
	}
	// Each package by its name, too: go get adds the checksums of what they import.
	for _, p := range paths {
		get = append(get, p+"@"+r.version)
	}
	for _, args := range [][]string{get, {"go", "build", "-o", os.DevNull, "."}, {"go", "vet", "."}} {
		if _, err := output(dir, env, args...); err != nil {
			return fmt.Errorf("a module that uses the published ones: %w", err)
		}
	}
	fmt.Printf("a module of a user's builds: %d names of %d packages\n", names, len(pkgs))
	return nil
}

// recorded is a package of the record of the public API.
type recorded struct {
	path  string
	lines []string // without the package: "func New(Options) (*Watcher, error)"
}

func readRecord(dir string) (pkgs []recorded, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var p recorded
		for line := range strings.Lines(string(text)) {
			head, rest, _ := strings.Cut(strings.TrimSpace(line), ", ")
			p.path = strings.TrimPrefix(head, "pkg ")
			if strings.Contains(p.path, " (") {
				return fmt.Errorf("%s: %q is of some systems only; teach tools/release which", name, line)
			}
			p.lines = append(p.lines, rest)
		}
		pkgs = append(pkgs, p)
		return nil
	})
	if err == nil && len(pkgs) == 0 {
		err = fmt.Errorf("no record in %s: make golden writes it", dir)
	}
	return pkgs, err
}

// uses returns a file that names what a package offers, and how many names that is. What has type parameters
// is left out: it cannot be named without arguments.
func (p *recorded) uses() (text string, names int) {
	var b strings.Builder
	alias := "p_" + strings.NewReplacer("/", "_", "-", "_", ".", "_").Replace(path.Base(p.path))
	fmt.Fprintf(&b, "package main\n\nimport %s %q\n\n", alias, p.path)
	var seen []string
	for _, line := range p.lines {
		kind, rest, _ := strings.Cut(line, " ")
		name := rest[:strings.IndexFunc(rest+" ", func(r rune) bool { return strings.ContainsRune(" ([", r) })]
		if kind == "method" || strings.HasPrefix(rest, name+"[") || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		switch kind {
		case "const":
			fmt.Fprintf(&b, "const _ = %s.%s\n", alias, name)
		case "type":
			fmt.Fprintf(&b, "var _ *%s.%s\n", alias, name)
		default:
			fmt.Fprintf(&b, "var _ = %s.%s\n", alias, name)
		}
	}
	return b.String(), len(seen)
}
