package tidy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/internal/tidy"
)

// TestRepository runs every rule over the repository that this package is in.
func TestRepository(t *testing.T) {
	const root = "../.."
	tree, err := tidy.Load(os.DirFS(root), tidy.Ignored(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range tidy.Rules {
		t.Run(rule.Name, func(t *testing.T) {
			for _, f := range rule.Check(tree) {
				t.Errorf("%v (CONTRIBUTING.md, rule %d)", f, rule.Number)
			}
		})
	}
}

// TestRulesAreWritten holds the numbers that findings cite to those in CONTRIBUTING.md: each rule
// there names the checks that hold it, in brackets at its end.
func TestRulesAreWritten(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Rules\n")
	section, _, _ = strings.Cut(section, "\n## ")
	written := map[string]int{} // check -> number of its rule
	number, rules := 0, 0
	item, check := regexp.MustCompile(`^(\d+)\. `), regexp.MustCompile("`(\\w+)`")
	for line := range strings.Lines(section) {
		if m := item.FindStringSubmatch(line); m != nil {
			rules++
			if number, _ = strconv.Atoi(m[1]); number != rules {
				t.Errorf("rule %d has the number %d", rules, number)
			}
		}
		if i := strings.LastIndex(line, "["); number > 0 && i >= 0 && strings.HasSuffix(line, "]\n") {
			for _, m := range check.FindAllStringSubmatch(line[i:], -1) {
				written[m[1]] = number
			}
		}
	}
	want := map[string]int{}
	for _, r := range tidy.Rules {
		want[r.Name] = r.Number
	}
	if d := cmp.Diff(want, written); d != "" {
		t.Errorf("the rules' numbers (-cited +in CONTRIBUTING.md):\n%s", d)
	}
}

// files is a small tree: path -> text.
type files map[string]string

func (fs files) load(t *testing.T) *tidy.Tree {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range fs {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	tree, err := tidy.Load(fsys, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// ruleTest is a small tree and what a rule finds in it: "file:line: what is wrong", without
// what to do.
type ruleTest struct {
	name  string
	files files
	want  []string
}

func runRule(t *testing.T, check func(*tidy.Tree) []tidy.Finding, tests []ruleTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range check(tt.files.load(t)) {
				if f.Do == "" {
					t.Errorf("%v does not say what to do", f)
				}
				f.Do = "-"
				got = append(got, f.String())
			}
			for i := range tt.want {
				tt.want[i] += ": -"
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSizes finds what a build left among the files that are kept: raw results are the largest of those.
func TestSizes(t *testing.T) {
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Skip("needs git and a repository: ", err)
	}
	const most = 2 << 20
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join("../..", name)); err == nil && info.Size() > most {
			t.Errorf("%s has %d KiB, more than %d: git rm it, and keep it out by .gitignore", name, info.Size()>>10, most>>10)
		}
	}
}
