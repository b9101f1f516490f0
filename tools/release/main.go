// Command release tries a version before it is tagged: make release-check.
//
//	release [-top DIR] [-version v0.1.0] check     # all of what follows
//	release [-top DIR] licences > docs/reference/licences.md
//
// The check wants a clean tree and a current list of licences. It builds the commands and all public
// packages from the zips of the published modules only.
//
// The tag of a nested module belongs on a commit whose go.mod requires the version, as
// `release -version v0.1.0 mods` writes it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	r := releaser{}
	flag.StringVar(&r.top, "top", "..", "the root of the repository")
	flag.StringVar(&r.version, "version", "v0.1.0", "the version that is tried")
	flag.Parse()
	do := map[string]func() error{"check": r.check, "licences": r.printLicences, "mods": r.writeMods}[flag.Arg(0)]
	if do == nil || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "release: write check, licences or mods")
		os.Exit(2)
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

type releaser struct{ top, version string }

func (r *releaser) check() error {
	if err := r.checkVersion(); err != nil {
		return err
	}
	if out, err := output(r.top, nil, "git", "status", "--porcelain"); err != nil {
		return err
	} else if out != "" {
		return fmt.Errorf("the tree is not clean: commit, or remove\n%s", out)
	}
	fmt.Println("the tree is clean")
	if err := r.checkLicences(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "evenkeel-release-")
	if err != nil {
		return err
	}
	return errors.Join(r.try(dir), os.RemoveAll(dir))
}

// try makes and serves the zips in dir, and builds with them.
func (r *releaser) try(dir string) error {
	tree, proxy := filepath.Join(dir, "tree"), filepath.Join(dir, "proxy")
	if err := r.export(tree); err != nil {
		return err
	}
	mods, err := published(tree)
	if err != nil {
		return err
	}
	for _, m := range mods {
		size, err := r.zip(tree, proxy, m)
		if err != nil {
			return err
		}
		fmt.Printf("%s %s: a zip of %d kB\n", m.path, r.version, (size+999)/1000)
	}
	env, err := environment(dir, proxy)
	if err != nil {
		return err
	}
	if err := r.install(dir, env); err != nil {
		return err
	}
	return r.scratch(filepath.Join(dir, "scratch"), tree, mods, env)
}

// environment has the published modules come from proxy alone, and a new module cache, so that no
// version is kept that was not published.
func environment(dir, proxy string) ([]string, error) {
	out, err := output(".", nil, "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return nil, err
	}
	cache, others, _ := strings.Cut(out, "\n")
	from := []string{"file://" + filepath.ToSlash(proxy), "file://" +
		filepath.ToSlash(filepath.Join(cache, "cache", "download")), others}
	return append(os.Environ(),
		"GOPROXY="+strings.Join(from, ","), "GOSUMDB=off", "GONOSUMDB=", "GONOPROXY=", "GOPRIVATE=",
		"GOMODCACHE="+filepath.Join(dir, "modules"), "GOBIN="+filepath.Join(dir, "bin"),
		"GOFLAGS=-modcacherw", "GOWORK=off",
	), nil
}

func (r *releaser) install(dir string, env []string) error {
	for _, name := range []string{"evenkeel", "fastcgen"} {
		if _, err := output(dir, env, "go", "install", root+"/cmd/"+name+"@"+r.version); err != nil {
			return err
		}
	}
	said, err := output(dir, nil, filepath.Join(dir, "bin", "evenkeel"), "version")
	if err != nil {
		return err
	}
	if want := "evenkeel " + r.version; said != want {
		return fmt.Errorf("evenkeel version says %q, not %q", said, want)
	}
	fmt.Println("go install: evenkeel version says", said)
	return nil
}

func output(dir string, env []string, args ...string) (string, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// scratch builds a module that imports all public packages.
func (r *releaser) scratch(dir, tree string, mods []mod, env []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if _, err := output(dir, env, "go", "mod", "init", "scratch"); err != nil {
		return err
	}
	get := []string{"go", "get"}
	text := "package main\n\n"
	for _, m := range mods {
		get = append(get, m.path+"@"+r.version)
		list, err := output(filepath.Join(tree, m.dir), env, "go", "list", "-mod=mod", "-f",
			`{{if ne .Name "main"}}{{.ImportPath}}{{end}}`, "./...")
		if err != nil {
			return err
		}
		for path := range strings.FieldsSeq(list) {
			if strings.Contains(path, "/internal/") {
				continue
			}
			text += fmt.Sprintf("import _ %q\n", path)
			get = append(get, path+"@"+r.version) // for the checksums of its imports
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text+"\nfunc main() {}\n"), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{get, {"go", "build", "-o", os.DevNull, "."}} {
		if _, err := output(dir, env, args...); err != nil {
			return fmt.Errorf("a module that uses the published ones: %w", err)
		}
	}
	fmt.Println("a user's module builds with", strings.Count(text, "import"), "packages")
	return nil
}
