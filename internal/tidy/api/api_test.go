package api_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/internal/tidy/api"
)

var update = flag.Bool("update", false, "write the record of the public API again")

const (
	root   = "../../.."
	record = root + "/api"
)

// nothingRefused are the packages in whose Options nothing can be wrong: chances, a seed, a colour.
var nothingRefused = []string{"evenkeel.dev/aio/aiotest", "evenkeel.dev/reqtrace/verdict"}

// TestAPI holds the public API to its record and to the forms that all packages share.
func TestAPI(t *testing.T) {
	if !*update && os.Getenv("EVENKEEL_CHECK") == "" {
		t.Skip("needs EVENKEEL_CHECK=1 (make check): it type-checks the standard library for each system, ten seconds of a processor")
	}
	loaded := map[api.System][]*api.Package{}
	for _, sys := range api.Systems {
		var err error
		if loaded[sys], err = api.Load(modules(t), sys); err != nil {
			t.Fatal(err)
		}
	}
	now := map[string][]string{} // by file
	for path, lines := range api.Record(loaded) {
		now[strings.TrimPrefix(path, "evenkeel.dev/")+".txt"] = lines
	}
	if *update {
		write(t, now)
	}
	t.Run("record", func(t *testing.T) {
		if d := cmp.Diff(read(t), now); d != "" {
			t.Errorf("the public API is not what api/ says: run make golden, and read the diff of api/ as a user will (-api/ +code):\n%s", d)
		}
	})
	t.Run("internal", func(t *testing.T) { testInternal(t, loaded) })
	t.Run("options", func(t *testing.T) { testOptions(t, loaded[api.Systems[0]]) })
}

// modules returns the folders of the modules that users import: the root and those of contrib.
func modules(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(root + "/contrib/*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	dirs := []string{root}
	for _, f := range files {
		dirs = append(dirs, filepath.Dir(f))
	}
	return dirs
}

// read returns the lines of the record's files.
func read(t *testing.T) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	err := filepath.WalkDir(record, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(record, name)
		files[filepath.ToSlash(rel)] = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// write writes the record anew.
func write(t *testing.T, files map[string][]string) {
	t.Helper()
	if err := os.RemoveAll(record); err != nil {
		t.Fatal(err)
	}
	for name, lines := range files {
		name = filepath.Join(record, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func testInternal(t *testing.T, loaded map[api.System][]*api.Package) {
	for sys, pkgs := range loaded {
		for _, p := range pkgs {
			for _, found := range api.Internal(p) {
				t.Errorf("%v: %s: users cannot name it; give it a public type, or keep it inside", sys, found)
			}
		}
	}
}

func testOptions(t *testing.T, pkgs []*api.Package) {
	for _, p := range pkgs {
		wrong, known := api.OptionErrors(p), slices.Contains(nothingRefused, p.Path())
		switch {
		case wrong != "" && !known:
			t.Errorf("%s %s", p.Path(), wrong)
		case wrong == "" && known:
			t.Errorf("%s refuses what is wrong: take it off the list in this test", p.Path())
		}
	}
}
