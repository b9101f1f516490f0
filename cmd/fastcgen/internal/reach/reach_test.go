package reach

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/internal/testutil"
)

// reached are the blocking calls that the functions of testdata/vfs.c get to by name, and whether a
// pointer may lead to others.
var reached = map[string]struct {
	byName  []string
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
	"nap":          {byName: []string{"usleep"}},
}

func newGraph() (*graph, *outside) {
	o := &outside{weak: map[string]bool{}}
	return &graph{nodes: map[string]*node{}, taken: map[string]bool{}, weak: o.weak, found: o.kind}, o
}

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
			g, o := newGraph()
			g.add(text)
			for from, want := range reached {
				byName, byPointer := g.reach(from)
				for _, s := range slices.Concat(byName, byPointer) {
					if strings.Contains(s, "#") {
						t.Errorf("%s gets to %s, which is here", from, s)
					}
				}
				byName, byPointer = o.of(blocks, byName), o.of(blocks, byPointer)
				if !slices.Equal(byName, want.byName) || len(byPointer) > 0 != want.pointer {
					t.Errorf("%s gets to %q, by a pointer to %q; want %+v", from, byName, byPointer, want)
				}
			}
		})
	}
}

// TestStaticTwins: a static function of one file is not that of another one.
func TestStaticTwins(t *testing.T) {
	g, _ := newGraph()
	g.add("\t.type\thelp, @function\nhelp:\n\tpushq\t%rbp\n\tcall\tread\n\t.globl\tone\n\t.type\tone, " +
		"@function\none:\n\tcall\thelp\n")
	g.add("\t.type\thelp, @function\nhelp:\n\tpushq\t%rbp\n\tret\n\t.globl\ttwo\n\t.type\ttwo, " +
		"@function\ntwo:\n\tcall\thelp\n\tcall\tthree\n")
	for from, want := range map[string]string{"one": "read", "two": "three"} {
		if byName, byPointer := g.reach(from); !slices.Equal(byName, []string{want}) || byPointer != nil {
			t.Errorf("%s reaches %q and %q, want %s", from, byName, byPointer, want)
		}
	}
}

// TestAliases: a second name of a function is another way into it, whichever compiler wrote it.
func TestAliases(t *testing.T) {
	g, _ := newGraph()
	g.add("\t.globl\tlast # -- " +
		"Begin\n\t.type\tlast,@function\nlast:\n\tpushq\t%rbp\n\tjmp\tfsync@PLT\n\t.globl\tother\n\t.set\tother, " +
		"last\n\t.globl\tmore\n\t.type\tmore,@function\n\t.set\tmore,other\n")
	for _, from := range []string{"last", "other", "more"} {
		if byName, _ := g.reach(from); !slices.Equal(byName, []string{"fsync"}) {
			t.Errorf("%s reaches %q, want fsync", from, byName)
		}
	}
}
