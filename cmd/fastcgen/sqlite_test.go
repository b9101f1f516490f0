package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/internal/testutil"
)

// sqlite is a large library whose calls of the system all go through tables of pointers.
const sqlite = "github.com/mattn/go-sqlite3@v1.14.53"

// sqliteWays are the ways that are shown of some of its functions. Empty means that there are none.
var sqliteWays = map[string]string{
	"sqlite3_step":         `^sqlite3_step -> sqlite3Step -> .* -> pthread_join$`,
	"sqlite3_column_int64": `^sqlite3_column_int64 -> .* -> sqlite3_mutex_leave ~> pwrite64$`,
	"sqlite3_changes64":    `^sqlite3_changes64 -> sqlite3_mutex_enter ~> pwrite64$`,
	"sqlite3_libversion":   "",
	"sqlite3_sourceid":     "",
	"sqlite3_complete":     "",
	"sqlite3_strnicmp":     "",
}

// TestSqlite follows the calls of a library of 260,000 lines.
func TestSqlite(t *testing.T) {
	needsGCC(t)
	testutil.Long(t, "compiles sqlite, of the module "+sqlite)
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", sqlite).Output()
	var module struct{ Dir string }
	if err != nil || json.Unmarshal(out, &module) != nil || module.Dir == "" {
		t.Skipf("needs the module %s: %v", sqlite, err)
	}
	files := map[string]string{}
	for _, n := range []string{"sqlite3-binding.c", "sqlite3-binding.h"} {
		text, err := os.ReadFile(filepath.Join(module.Dir, n))
		if err != nil {
			t.Fatal(err)
		}
		files[n] = string(text)
	}
	files["decl.go"] = `//go:build fastcgen

package vec

/*
#cgo CFLAGS: -DSQLITE_THREADSAFE=1 -DHAVE_USLEEP=1 -DHAVE_PREAD=1 -DHAVE_PWRITE=1 -DUSE_PREAD=1
#cgo CFLAGS: -DUSE_PWRITE=1 -DSQLITE_ENABLE_FTS3 -DSQLITE_ENABLE_RTREE
#include "sqlite3-binding.h"
*/
import "C"

//fastc:opaque
type Statement C.sqlite3_stmt

//fastc:opaque
type DB C.sqlite3

//fastc:call sqlite3_step(s)
func Step(s *Statement) int32

//fastc:call sqlite3_column_int64(s, i)
func Int64(s *Statement, i int32) int64

//fastc:call sqlite3_libversion()
//fastc:copy
func Version() string

//fastc:call sqlite3_sourceid()
//fastc:copy
func Source() string

//fastc:call sqlite3_changes64(d)
func Changes(d *DB) int64

//fastc:call sqlite3_complete(s)
//fastc:require len(s) > 0 && s[len(s)-1] == 0
func Complete(s []byte) int32

//fastc:call sqlite3_strnicmp(a, b, len(a))
//fastc:require len(b) >= len(a)
func Compare(a string, b []byte) int32
`
	dir := folder(t, files)
	r := call(t.Context(), filepath.Join(dir, "decl.go"))
	if r.code != exitOK {
		t.Fatalf("code %d\n%s", r.code, r.stderr)
	}
	t.Log("\n" + r.stderr)
	got := map[string][]string{}
	name := ""
	said := regexp.MustCompile(`warning: (\w+) (?:gets|may get) to`)
	for l := range strings.SplitSeq(r.stderr, "\n") {
		if m := said.FindStringSubmatch(l); m != nil {
			name = m[1]
		} else if way, ok := strings.CutPrefix(l, "\t"); ok {
			got[name] = append(got[name], way)
		}
	}
	for name, want := range sqliteWays {
		found := slices.ContainsFunc(got[name], regexp.MustCompile(want).MatchString)
		if want == "" && len(got[name]) > 0 || want != "" && !found {
			t.Errorf("%s gets by %q, want %q", name, got[name], want)
		}
	}
}
