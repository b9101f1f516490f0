package reach

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
)

var rewrite = flag.Bool("update", false, "write the golden files again")

// ways are where the functions of testdata/vfs.c get to.
var ways = map[string][]string{
	"file_step":    {"file_step -> file_write => disk_put => pwrite"},
	"file_sync":    {"file_sync => disk_sync => fsync"}, // and not to what stands beside it in the tables
	"file_length":  nil,
	"file_fd":      nil,
	"file_open":    nil,
	"function_run": {"function_run => run_sleep -> usleep"}, // and not to put, at the same offset
	"column":       {"column => thread_enter -> pthread_mutex_lock"},
	"each_of":      {"each_of -> each => loud -> read"},
	"sort":         nil,
	"sort_read":    {"sort_read => compare_read -> read"},
	"anything":     {"anything => last -> usleep"},
}

func blocks(symbol string) bool { return slices.Contains(blockingCalls, libcName(symbol)) }

// TestCallGraph reads what compilers for two processors wrote, and what the one that is here writes.
// -update has those compile again that are here.
func TestCallGraph(t *testing.T) {
	compilers := map[string]string{"amd64-gcc": "x86_64-linux-gnu-gcc", "arm64-gcc": "aarch64-linux-gnu-gcc"}
	for name, compiler := range compilers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("testdata", name+".s")
			if *rewrite {
				if text := assemblyOf(t, compiler); text != "" {
					if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			checkWays(t, string(text))
		})
	}
	t.Run("here", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS == "darwin" {
			t.Skip("needs a compiler for ELF: Mach-O's assembly is not read")
		}
		cc, err := exec.CommandContext(t.Context(), "go", "env", "CC").Output()
		if err != nil {
			t.Fatal(err)
		}
		text := assemblyOf(t, strings.TrimSpace(string(cc)))
		if text == "" {
			t.Skipf("needs %s, a C compiler", cc)
		}
		checkWays(t, text)
	})
}

// assemblyOf compiles testdata/vfs.c; it returns nothing where there is no such compiler.
func assemblyOf(t *testing.T, compiler string) string {
	t.Helper()
	command := strings.Fields(compiler)
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Logf("no %s", command[0])
		return ""
	}
	tc := &cc.Toolchain{Shell: cc.Shell{Dir: "testdata", Temp: t.TempDir()}, CC: command}
	text, err := tc.Assembly(t.Context(), "", "vfs.c")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "\t.cfi_") }), "")
}

// checkWays compares where the functions of vfs.c get to with what its assembly tells.
func checkWays(t *testing.T, text string) {
	t.Helper()
	g := &callGraph{}
	g.add(text)
	for from, want := range ways {
		var got []string
		for _, s := range g.reach(from, blocks) {
			got = append(got, g.path(s))
		}
		if machineOf(text) == nil { // one whose instructions are not read: no less is found, perhaps more
			if len(want) > 0 && len(got) == 0 {
				t.Errorf("%s gets nowhere, want %q", from, want)
			}
			continue
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s gets to %q, want %q", from, got, want)
		}
	}
}

// TestStaticTwins: a static function of one file is not that of another one.
func TestStaticTwins(t *testing.T) {
	g := &callGraph{}
	g.add("\t.type\thelp, @function\nhelp:\n\tpushq\t%rbp\n\tcall\tread\n\t.globl\tone\n\t.type\tone, @function\none:\n\tcall\thelp\n")
	g.add("\t.type\thelp, @function\nhelp:\n\tpushq\t%rbp\n\tret\n\t.globl\ttwo\n\t.type\ttwo, @function\ntwo:\n\tcall\thelp\n\tcall\tthree\n")
	for from, want := range map[string]int{"one": 1, "two": 0} {
		if found := g.reach(from, func(s string) bool { return s == "read" }); len(found) != want {
			t.Errorf("%s reaches %d, want %d", from, len(found), want)
		}
	}
}

// TestAliases: a second name of a function is another way into it, whichever compiler wrote it.
func TestAliases(t *testing.T) {
	g := &callGraph{}
	g.add("\t.globl\tlast # -- Begin\n\t.type\tlast,@function\nlast:\n\tpushq\t%rbp\n\tjmp\tfsync@PLT\n\t.globl\tother\n\t.set\tother, last\n\t.globl\tmore\n\t.type\tmore,@function\n\t.set\tmore,other\n")
	for from, want := range map[string]string{"last": "last -> fsync", "other": "other -> last -> fsync", "more": "more -> other -> last -> fsync"} {
		if found := g.reach(from, blocks); len(found) != 1 || g.path(found[0]) != want {
			t.Errorf("%s: %d ways, want %s", from, len(found), want)
		}
	}
}
