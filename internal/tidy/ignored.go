package tidy

import (
	"os/exec"
	"strings"
)

// Ignored returns a function that reports whether git ignores a path below dir: what a build
// or a run leaves behind is not the house's. Outside a git work tree it returns nil, and every
// file counts.
func Ignored(dir string) func(path string) bool {
	cmd := exec.Command("git", "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	set := map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		set[strings.TrimSuffix(name, "/")] = true
	}
	return func(path string) bool { return set[path] }
}
