// Command api writes down the public API of the toolkit, in the form of Go's own api/*.txt: a line
// for each thing that a user's code can name. The record is api/ at the root, a file a package.
//
//	api        # compare it with the code (make check)
//	api -write # write it again (make golden)
//
// A change of the API is thus a diff that a reviewer sees. The same walk finds internal types that
// a user would meet, and packages with an Options that refuse it in a form of their own.
//
// The packages are type-checked from source without the bodies of their functions, once for each
// of the systems; nothing is compiled but what cgo asks for. What not every system has is recorded
// with the systems that have it, as in Go's files: "pkg evenkeel.dev/aio (linux-amd64), ...".
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// nothingRefused are the packages in whose Options nothing can be wrong.
var nothingRefused []string

func main() {
	top := flag.String("top", "..", "the root of the repository")
	write := flag.Bool("write", false, "write the record again")
	flag.Parse()
	wrong, err := check(*top, *write)
	if err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
	for _, w := range wrong {
		fmt.Println(w)
	}
	if wrong != nil {
		os.Exit(1)
	}
}

// check returns what is wrong with the public API of the modules that users import, the root and those
// of contrib: changes that the record does not have, and what breaks the forms that all packages share.
func check(top string, write bool) (wrong []string, err error) {
	dirs, _ := filepath.Glob(filepath.Join(top, "contrib", "*", "go.mod")) // the pattern is well-formed
	inner, _ := filepath.Glob(filepath.Join(top, "contrib", "*", "*", "go.mod"))
	dirs = append(dirs, inner...)
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	loaded, err := loadAll(append(dirs, top), systems)
	if err != nil {
		return nil, err
	}
	lines, folder := record(loaded), filepath.Join(top, "api")
	if write {
		if err := writeRecord(folder, lines); err != nil {
			return nil, err
		}
	}
	recorded, err := readRecord(folder)
	if err != nil {
		return nil, err
	}
	if wrong = difference(recorded, lines); wrong != nil {
		wrong = append(wrong, "the public API is not what api/ says (- api/, + code): run make golden, and read the diff of api/ as a user will")
	}
	return append(wrong, faults(loaded, nothingRefused)...), nil
}

// faults returns the internal types that the packages show, and what is wrong with how they refuse an
// Options. Those in nothingRefused need not, and must not stay on that list when they do.
func faults(loaded map[system][]*apiPackage, nothingRefused []string) (found []string) {
	for sys, pkgs := range loaded {
		for _, p := range pkgs {
			for _, shown := range internalTypes(p) {
				found = append(found, fmt.Sprintf("%v: %s: users cannot name it; give it a public type, or keep it inside", sys, shown))
			}
			wrong, known := optionErrors(p), slices.Contains(nothingRefused, p.Path())
			switch {
			case wrong != "" && !known:
				found = append(found, p.Path()+" "+wrong)
			case wrong == "" && known:
				found = append(found, p.Path()+" refuses what is wrong: take it off the list in tools/api")
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// internalTypes returns the features of a package that show a type of an internal package, each with
// that type. Users cannot name it: they can neither make nor keep one, nor read its documentation.
func internalTypes(p *apiPackage) (found []string) {
	for text, shows := range features(p) {
		if shows != nil {
			found = append(found, fmt.Sprintf("pkg %s, %s: shows %s", p.Path(), text, strings.Join(shows, ", ")))
		}
	}
	slices.Sort(found)
	return found
}

// optionErrors returns what is wrong with how a package with an Options refuses it: "" is nothing.
// All packages have the same form, so that who knows one knows the others.
func optionErrors(p *apiPackage) string {
	if p.Scope().Lookup("Options") == nil {
		return ""
	}
	const want = "type OptionError struct { Option, Reason string }, whose *OptionError is an error"
	obj, ok := p.Scope().Lookup("OptionError").(*types.TypeName)
	if !ok {
		return "has an Options but no OptionError; write " + want
	}
	fields := types.NewStruct([]*types.Var{
		types.NewField(0, p.Package, "Option", types.Typ[types.String], false),
		types.NewField(0, p.Package, "Reason", types.Typ[types.String], false),
	}, nil)
	if !types.Identical(obj.Type().Underlying(), fields) {
		return "its OptionError has other fields; write " + want
	}
	errorType := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	if !types.Implements(types.NewPointer(obj.Type()), errorType) || types.Implements(obj.Type(), errorType) {
		return "its OptionError is no error by pointer alone; write " + want
	}
	return ""
}

// difference returns the lines that only one of the two has: "-" before before's, "+" before after's.
func difference(before, after []string) (lines []string) {
	for _, line := range before {
		if _, ok := slices.BinarySearch(after, line); !ok {
			lines = append(lines, "-"+line)
		}
	}
	for _, line := range after {
		if _, ok := slices.BinarySearch(before, line); !ok {
			lines = append(lines, "+"+line)
		}
	}
	return lines
}

// readRecord returns the lines of all files below folder, sorted.
func readRecord(folder string) (lines []string, err error) {
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		lines = append(lines, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
		return err
	})
	slices.Sort(lines)
	return lines, err
}

// writeRecord writes each package's lines into a file of its own, and nothing else stays below folder.
func writeRecord(folder string, lines []string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	texts := map[string]string{} // by file
	for _, line := range lines {
		path := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ',' })[1]
		texts[filepath.Join(folder, strings.TrimPrefix(path, module+"/")+".txt")] += line + "\n"
	}
	var errs []error
	for name, text := range texts {
		errs = append(errs, os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644))
	}
	return errors.Join(errs...)
}
