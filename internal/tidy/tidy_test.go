package tidy_test

import (
	"os"
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
				t.Error(f)
			}
		})
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
