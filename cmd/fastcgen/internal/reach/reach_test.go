package reach

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/internal/testutil"
)

// ways are where the functions of testdata/vfs.c get to: the blocking calls that are sure, and
// whether a pointer may lead to others.
var ways = map[string]struct {
	sure    []string
	pointer bool
}{
	"file_step":    {pointer: true},
	"file_sync":    {pointer: true},
	"file_length":  {pointer: true}, // by the coarse rule
	"file_fd":      {},
	"file_open":    {}, // which takes addresses, and calls nothing
	"function_run": {pointer: true},
	"column":       {pointer: true},
	"each_of":      {pointer: true},
	"sort":         {pointer: true}, // through qsort, by the coarse rule
	"sort_all":     {pointer: true},
	"sort_read":    {pointer: true},
	"anything":     {pointer: true},
	"nap":          {sure: []string{"nap -> snooze -> usleep"}},
}

func newGraph() *graph {
	o := &outside{weak: map[string]bool{}}
	return &graph{nodes: map[string]*node{}, taken: map[string]bool{}, weak: o.weak, found: o.kind}
}

func blocks(symbol string) bool { return slices.Contains(blockingCalls, libcName(symbol)) }

// TestGraph reads what compilers for several processors write, those that are here.
func TestGraph(t *testing.T) {
	testutil.Slow(t, "runs C compilers")
	compilers := []string{
		"x86_64-linux-gnu-gcc", "aarch64-linux-gnu-gcc", "powerpc64le-linux-gnu-gcc",
		"riscv64-linux-gnu-gcc", "clang",
	}
	for _, compiler := range compilers {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(compiler); err != nil {
				t.Skipf("needs %s", compiler)
			}
			tc := &cc.Toolchain{Shell: cc.Shell{Dir: "testdata", Temp: t.TempDir()}, CC: []string{compiler}}
			text, err := tc.Assembly(t.Context(), "", "vfs.c")
			if err != nil {
				t.Fatal(err)
			}
			g := newGraph()
			g.add(text)
			for from, want := range ways {
				var sure []string
				pointer := false
				for _, s := range g.reach(from) {
					if strings.Contains(s.key, "#") {
						t.Errorf("%s gets to %s, which is here", from, s.key)
					}
					switch {
					case blocks(s.key) && s.sure:
						sure = append(sure, g.way(s))
					case blocks(s.key):
						pointer = true
					}
				}
				if !slices.Equal(sure, want.sure) || pointer != want.pointer {
					t.Errorf("%s gets to %q, by a pointer %v; want %+v", from, sure, pointer, want)
				}
			}
		})
	}
}

// TestStaticTwins: a static function of one file is not that of another one.
func TestStaticTwins(t *testing.T) {
	g := newGraph()
	g.add("\t.type\thelp, @function\nhelp:\n\tpushq\t%rbp\n\tcall\tread\n\t.globl\tone\n\t.type\tone, " +
		"@function\none:\n\tcall\thelp\n")
	g.add("\t.type\thelp, @function\nhelp:\n\tpushq\t%rbp\n\tret\n\t.globl\ttwo\n\t.type\ttwo, " +
		"@function\ntwo:\n\tcall\thelp\n\tcall\tthree\n")
	for from, want := range map[string]int{"one": 1, "two": 0} {
		n := 0
		for _, s := range g.reach(from) {
			if s.key == "read" {
				n++
			}
		}
		if n != want {
			t.Errorf("%s reaches read %d times, want %d", from, n, want)
		}
	}
}

// TestAliases: a second name of a function is another way into it, whichever compiler wrote it.
func TestAliases(t *testing.T) {
	g := newGraph()
	g.add("\t.globl\tlast # -- " +
		"Begin\n\t.type\tlast,@function\nlast:\n\tpushq\t%rbp\n\tjmp\tfsync@PLT\n\t.globl\tother\n\t.set\tother, " +
		"last\n\t.globl\tmore\n\t.type\tmore,@function\n\t.set\tmore,other\n")
	for from, want := range map[string]string{
		"last": "last -> fsync", "other": "other -> last -> fsync",
		"more": "more -> other -> last -> fsync",
	} {
		if found := g.reach(from); len(found) != 1 || g.way(found[0]) != want {
			t.Errorf("%s: %d ways, want %s", from, len(found), want)
		}
	}
}
