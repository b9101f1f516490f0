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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is a module that wraps C, and what a person says about it.
type module struct {
	name, path, version, sum string // the name is that of the package that calls C
	folder                   string // of that package in the module
	files                    []string
	answers                  answers
	tests                    []tests
	bench                    string // what stands below the package clause of a test file: benchmarks
	leaf                     string // the benchmark of one leaf function
}

// tests are those of one package that call C.
type tests struct {
	folder string // in the module
	name   string // of the package; with _test where the tests are beside it
	skip   string // a pattern of tests that take minutes for what others test too
	main   bool   // it has a TestMain
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
	_, err := w.run(w.root, "go", "build", "-o", w.fastcgen(), "./cmd/fastcgen")
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
	var from struct{ Dir, Sum string }
	if err := json.Unmarshal([]byte(said), &from); err != nil {
		return "", "", err
	}
	if from.Sum != m.sum {
		return "", "", fmt.Errorf("%s %s has the sum %s, and had %s when it was chosen", m.path, m.version, from.Sum, m.sum)
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
		if err := os.WriteFile(filepath.Join(dir, m.folder, "fromcgo_test.go"), []byte(m.benchmarks()), 0o644); err != nil {
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
