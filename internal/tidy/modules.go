package tidy

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// goMod is the part of "go mod edit -json" that the rules read.
type goMod struct {
	Module  struct{ Path string }
	Require []struct {
		Path, Version string
		Indirect      bool
	}
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// CheckModules finds go.work files, root dependencies that no arrow draws, and nested modules
// that do not take the modules of this repository from beside them.
func CheckModules(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.Files {
		base := path.Base(f.Path)
		switch {
		case base == "go.work" || base == "go.work.sum":
			found = append(found, f.atLine(1, "a workspace tests the root with the versions of its neighbours",
				"remove it; nested modules use replace lines"))
		case base == "go.mod" && !f.Testdata():
			mod, err := parseMod(f.Text)
			if err != nil {
				found = append(found, f.atLine(1, err.Error(), "mend it"))
			} else if f.Dir() == "." {
				found = append(found, checkRootMod(f, mod)...)
			} else {
				found = append(found, checkNestedMod(f, mod)...)
			}
		}
	}
	return found
}

// checkRootMod holds the direct dependencies of the root module to the table of arrows.
func checkRootMod(f *File, mod *goMod) []Finding {
	var found []Finding
	for _, req := range mod.Require {
		if !req.Indirect && !drawn(req.Path) {
			found = append(found, f.atLine(lineOf(f, req.Path), "requires "+req.Path+", which no arrow draws",
				"do without, or draw the arrow in internal/tidy/arrows.go and ARCHITECTURE.md"))
		}
	}
	return found
}

// drawn reports whether a package of the module at modPath is in the arrows.
func drawn(modPath string) bool {
	all := slices.Clone(testArrows)
	for _, a := range arrows {
		all = append(all, a.may...)
	}
	return slices.ContainsFunc(all, func(name string) bool { return covers(modPath+"/...", strings.TrimSuffix(name, "/...")) })
}

// checkNestedMod holds a nested module to its name, and to the modules of this repository
// at v0.0.0 from the directories where they are.
func checkNestedMod(f *File, mod *goMod) []Finding {
	var found []Finding
	if want := importPath(f.Dir()); mod.Module.Path != want {
		found = append(found, f.atLine(lineOf(f, mod.Module.Path), "names its module "+mod.Module.Path,
			"name it "+want+", after its directory"))
	}
	for _, req := range mod.Require {
		if !covers(module+"/...", req.Path) {
			continue
		}
		line := lineOf(f, req.Path)
		if req.Version != "v0.0.0" {
			found = append(found, f.atLine(line, "requires "+req.Path+" "+req.Version, "require v0.0.0"))
		}
		want := strings.Repeat("../", strings.Count(f.Dir(), "/")+1) + strings.TrimPrefix(strings.TrimPrefix(req.Path, module), "/")
		got := "" // what mod puts in its place
		for _, r := range mod.Replace {
			if r.Old.Path == req.Path {
				got = r.New.Path
			}
		}
		if filepath.IsAbs(got) || path.Clean(got) != path.Clean(want) {
			found = append(found, f.atLine(line, fmt.Sprintf("replaces %s by %q", req.Path, got),
				"write: replace "+req.Path+" => "+want))
		}
	}
	return found
}

// lineOf returns the first line of f that holds word as a field, or 1.
func lineOf(f *File, word string) int {
	return f.lineWith(func(line string) bool { return slices.Contains(strings.Fields(line), word) })
}

// parseMod parses the text of a go.mod with the go command.
func parseMod(text string) (*goMod, error) {
	dir, err := os.MkdirTemp("", "tidy")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "go.mod")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "mod", "edit", "-json", name)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		msg := strings.ReplaceAll(strings.TrimSpace(stderr.String()), name, "go.mod")
		return nil, fmt.Errorf("go mod edit: %w: %s", err, msg)
	}
	mod := new(goMod)
	return mod, json.Unmarshal(out, mod)
}
