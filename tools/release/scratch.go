package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// scratch makes a module that imports all public packages of the published modules, and builds it.
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
		list, err := output(filepath.Join(tree, m.dir), env, "go", "list", "-f", `{{if ne .Name "main"}}{{.ImportPath}}{{end}}`, "./...")
		if err != nil {
			return err
		}
		for path := range strings.FieldsSeq(list) {
			if strings.Contains(path, "/internal/") {
				continue
			}
			text += fmt.Sprintf("import _ %q\n", path)
			get = append(get, path+"@"+r.version) // go get adds the checksums of what the package imports
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
