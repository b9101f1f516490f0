package tools

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestWorkflow holds the hosted CI to the two commands, and to actions that nobody can change under it.
func TestWorkflow(t *testing.T) {
	text, err := os.ReadFile("../.github/workflows/ci.yml")
	if err != nil {
		t.Fatal(err)
	}
	uses := regexp.MustCompile(`uses: (.*)`).FindAllStringSubmatch(string(text), -1)
	if len(uses) == 0 {
		t.Error("it uses no action")
	}
	pinned := regexp.MustCompile(`^[\w.-]+/[\w.-]+@[0-9a-f]{40} # v[0-9.]+$`)
	for _, m := range uses {
		if !pinned.MatchString(m[1]) {
			t.Errorf("%s: pin it to a commit, with its version in a comment", m[1])
		}
	}
	if !strings.Contains(string(text), "command: [make test, make check]") {
		t.Error("it does not run make test and make check")
	}
}
