//go:build cgo && linux && (amd64 || arm64 || ppc64le)

package fastc_test

import (
	"debug/elf"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"evenkeel.dev/internal/testutil"
)

// TestWrappedLoops is TestLoops for functions such as fastcgen writes, which are compiled into the
// loop itself where a profile says that it is hot.
func TestWrappedLoops(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs Go's tools")
	}
	needTools(t, "go", "gcc")
	readTestdata(t)
	for name, c := range map[string]struct {
		flags   []string
		check   bool // it compiles the standard library again
		inlined bool
	}{
		"no profile": {flags: []string{testutil.RaceFlag, "-pgo=off"}},
		"profile":    {flags: []string{"-pgo=testdata/loops/hot.pgo"}, check: true, inlined: true},
		"-N -l":      {flags: []string{"-gcflags=all=-N -l"}, check: true},
		"nofastc":    {flags: []string{"-tags=nofastc"}, check: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.check {
				needCheck(t)
			}
			bin := mode{flags: c.flags}.build(t, filepath.Join(t.TempDir(), "loops"), "./testdata/loops")
			if inlined := !hasFunction(t, bin, "main.turn") &&
				!hasFunction(t, bin, "main.measuredTurn"); inlined != c.inlined {
				t.Fatalf("the functions are inlined: %v, want %v; hot.pgo names the lines of their calls", inlined,
					c.inlined)
			}
			for _, processors := range []string{"1", "2"} {
				want := fmt.Sprintf("Call %d\nSite.Call %[1]d\n", wantCollection)
				if out := command(t, []string{"GOMAXPROCS=" + processors}, bin,
					fmt.Sprint(wantCollection)); out != want {
					t.Errorf("%s processors: collections before a loop was over: %q, want %q", processors, out, want)
				}
			}
		})
	}
}

// hasFunction reports whether the program has code of that name: a function that is inlined
// wherever it is called has none.
func hasFunction(t *testing.T, program, name string) bool {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == name })
}
