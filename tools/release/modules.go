package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const root = "evenkeel.dev"

type mod struct {
	path string
	dir  string // with slashes
}

// published returns the root and the modules of contrib.
func published(tree string) ([]mod, error) {
	mods := []mod{{root, "."}}
	for _, depth := range []string{"*", "*/*"} { // modules may be nested
		files, err := filepath.Glob(filepath.Join(tree, "contrib", depth, "go.mod"))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			dir, err := filepath.Rel(tree, filepath.Dir(f))
			if err != nil {
				return nil, err
			}
			dir = filepath.ToSlash(dir)
			mods = append(mods, mod{root + "/" + dir, dir})
		}
	}
	return mods, nil
}

// publishable returns a go.mod that requires the repository's modules at version, without
// replacements.
func publishable(text []byte, version string) ([]byte, error) {
	f, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return nil, err
	}
	ours := func(path string) bool { return path == root || strings.HasPrefix(path, root+"/") }
	for _, req := range f.Require {
		if ours(req.Mod.Path) {
			if err := f.AddRequire(req.Mod.Path, version); err != nil {
				return nil, err
			}
		}
	}
	for _, rep := range f.Replace {
		if !ours(rep.Old.Path) {
			return nil, fmt.Errorf("replaces %s, which users of the module will have as it is", rep.Old.Path)
		}
		if err := f.DropReplace(rep.Old.Path, rep.Old.Version); err != nil {
			return nil, err
		}
	}
	f.Cleanup()
	return f.Format()
}

func (r *releaser) checkVersion() error {
	err := module.Check(root, r.version)
	if err == nil && module.CanonicalVersion(r.version) != r.version {
		err = errors.New(r.version + " is no whole version")
	}
	if err != nil {
		return fmt.Errorf("-version: %w: write it as v0.1.0", err)
	}
	return nil
}

func (r *releaser) writeMods() error {
	if err := r.checkVersion(); err != nil {
		return err
	}
	return r.writeModsOf(r.top)
}

func (r *releaser) writeModsOf(tree string) error {
	mods, err := published(tree)
	if err != nil {
		return err
	}
	for _, m := range mods[1:] {
		name := filepath.Join(tree, m.dir, "go.mod")
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if text, err = publishable(text, r.version); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// export writes what is committed to dir, with go.mod files as they are published. The tree is
// clean, so that is what git's index has.
func (r *releaser) export(dir string) error {
	prefix := "--prefix=" + dir + string(filepath.Separator)
	if _, err := output(r.top, nil, "git", "checkout-index", "--all", prefix); err != nil {
		return err
	}
	return r.writeModsOf(dir)
}

// zip writes a module to a proxy's folder. A nested module without a LICENSE gets the root's, as
// the go command does.
func (r *releaser) zip(tree, proxy string, m mod) (size int64, err error) {
	from := filepath.Join(tree, m.dir)
	license := filepath.Join(from, "LICENSE")
	if _, err := os.Stat(license); os.IsNotExist(err) {
		text, err := os.ReadFile(filepath.Join(tree, "LICENSE"))
		if err != nil {
			return 0, err
		}
		if err := os.WriteFile(license, text, 0o644); err != nil {
			return 0, err
		}
	}
	goMod, err := os.ReadFile(filepath.Join(from, "go.mod"))
	if err != nil {
		return 0, err
	}
	to := filepath.Join(proxy, filepath.FromSlash(m.path), "@v")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return 0, err
	}
	info, err := json.Marshal(map[string]any{"Version": r.version, "Time": time.Now().UTC()})
	if err != nil {
		return 0, err
	}
	for name, text := range map[string][]byte{"list": []byte(r.version + "\n"), r.version + ".mod": goMod, r.version +
		".info": info} {
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return 0, err
		}
	}
	f, err := os.Create(filepath.Join(to, r.version+".zip"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := zip.CreateFromDir(f, module.Version{Path: m.path, Version: r.version}, from); err != nil {
		return 0, fmt.Errorf("the zip of %s: %w", m.path, err)
	}
	stat, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return stat.Size(), f.Close()
}
