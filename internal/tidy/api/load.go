package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// module is the path of the root module, and the beginning of those of the nested ones.
const module = "evenkeel.dev"

// System is what a build is for.
type System struct {
	OS, Arch string
	Cgo      bool
}

// String is as in Go's own records: "linux-amd64", "linux-amd64-cgo".
func (s System) String() string {
	if s.Cgo {
		return s.OS + "-" + s.Arch + "-cgo"
	}
	return s.OS + "-" + s.Arch
}

// Systems are those that the record speaks of: one for each of what may make a difference.
var Systems = []System{
	{"linux", "amd64", true},
	{"linux", "amd64", false},
	{"darwin", "arm64", false},
	{"windows", "amd64", false},
}

// Package is a public package as one system has it.
type Package struct {
	*types.Package
	defined map[string]types.Type // by the name of a type: what its declaration says on the right
}

// listed is the part of go list's answer that is used.
type listed struct {
	Dir, ImportPath, Name string
	Standard, DepOnly     bool
	GoFiles, CgoFiles     []string
	ImportMap             map[string]string
	Module                *struct{ GoVersion string }
	Error                 *struct{ Err string }
}

// Load returns the public packages of the modules in dirs, sorted by their paths. A package that
// has no file for the system is left out.
func Load(dirs []string, sys System) ([]*Package, error) {
	l := &loader{
		fset:  token.NewFileSet(),
		sizes: types.SizesFor("gc", sys.Arch),
		known: map[string]*types.Package{"unsafe": types.Unsafe},
	}
	var pkgs []*Package
	for _, dir := range dirs {
		list, err := goList(dir, sys)
		if err != nil {
			return nil, err
		}
		for _, one := range list { // a package comes after what it imports
			p, err := l.check(one)
			if err != nil {
				return nil, fmt.Errorf("%s for %v: %w", one.ImportPath, sys, err)
			}
			if p != nil && !one.DepOnly && public(one) {
				pkgs = append(pkgs, p)
			}
		}
	}
	slices.SortFunc(pkgs, func(a, b *Package) int { return strings.Compare(a.Path(), b.Path()) })
	return pkgs, nil
}

// public reports whether users can import the package.
func public(p listed) bool { return p.Name != "main" && !isInternal(p.ImportPath) }

// ours reports whether the path is of this repository.
func ours(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// isInternal reports whether the path is of this repository and closed to others.
func isInternal(path string) bool {
	return ours(path) && slices.Contains(strings.Split(path, "/"), "internal")
}

func goList(dir string, sys System) ([]listed, error) {
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=Dir,ImportPath,Name,Standard,DepOnly,GoFiles,CgoFiles,ImportMap,Module,Error", "./...")
	cmd.Dir = dir
	cgo := "CGO_ENABLED=0"
	if sys.Cgo {
		cgo = "CGO_ENABLED=1"
	}
	cmd.Env = append(os.Environ(), "GOOS="+sys.OS, "GOARCH="+sys.Arch, "GOFLAGS=", "GOWORK=off", cgo)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w: %s", dir, err, stderr.String())
	}
	var list []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
}

// loader type-checks packages and keeps them for those that import them.
type loader struct {
	fset  *token.FileSet
	sizes types.Sizes
	known map[string]*types.Package
}

// check type-checks a package whose imports are known; nil: the system has no file of it. Errors
// count in this repository only: elsewhere a declaration may be missing that nobody here needs.
func (l *loader) check(p listed) (*Package, error) {
	if l.known[p.ImportPath] != nil && !ours(p.ImportPath) {
		return nil, nil // another module has needed it too
	}
	names := slices.Concat(p.GoFiles, p.CgoFiles)
	if len(names) == 0 {
		if p.Error != nil && !strings.Contains(p.Error.Err, "build constraints exclude all Go files") {
			return nil, errors.New(p.Error.Err)
		}
		return nil, nil
	}
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(l.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil && ours(p.ImportPath) {
			return nil, err
		}
		files = append(files, f)
	}
	var errs []error
	conf := types.Config{
		FakeImportC: true, IgnoreFuncBodies: true, Sizes: l.sizes,
		Importer: importerFunc(func(path string) (*types.Package, error) {
			if to, ok := p.ImportMap[path]; ok {
				path = to
			}
			if got := l.known[path]; got != nil {
				return got, nil
			}
			return nil, fmt.Errorf("no package %s", path)
		}),
		Error: func(err error) { errs = append(errs, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		conf.GoVersion = "go" + p.Module.GoVersion
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	pkg, _ := conf.Check(p.ImportPath, l.fset, files, info)
	l.known[p.ImportPath] = pkg
	if ours(p.ImportPath) && len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Package{Package: pkg, defined: definitions(files, info)}, nil
}

// definitions returns what the declarations of types say on their right: go/types keeps only the
// underlying type of a defined one, and the type after it may be internal.
func definitions(files []*ast.File, info *types.Info) map[string]types.Type {
	right := map[string]types.Type{}
	for _, f := range files {
		for _, decl := range f.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, spec := range gen.Specs {
				spec := spec.(*ast.TypeSpec)
				right[spec.Name.Name] = info.TypeOf(spec.Type)
			}
		}
	}
	return right
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }
