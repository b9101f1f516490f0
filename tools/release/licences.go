package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// licences are known by a text. The longer ones of a family come first.
var licences = []struct{ name, says string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"BSD-3-Clause", "Neither the name of"},
	{"BSD-2-Clause", "Redistribution and use in source and binary forms"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software"},
}

func licenceOf(text string) string {
	text = strings.ToLower(strings.NewReplacer(",", "").Replace(strings.Join(strings.Fields(text), " ")))
	for _, l := range licences {
		if strings.Contains(text, strings.ToLower(strings.ReplaceAll(l.says, ",", ""))) {
			return l.name
		}
	}
	return ""
}

// A dependency is linked into programs that import a published module.
type dependency struct{ path, version, licence string }

// dependencies returns the other modules that public packages import. What only tests import is
// left out.
func dependencies(dir string) ([]dependency, error) {
	env := append(os.Environ(), "GOWORK=off", "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=1")
	all, err := output(dir, env, "go", "list", "./...")
	if err != nil {
		return nil, err
	}
	public := slices.DeleteFunc(strings.Fields(all),
		func(path string) bool { return strings.Contains(path+"/", "/internal/") })
	out, err := output(dir, env, append([]string{"go", "list", "-deps", "-json=Module"}, public...)...)
	if err != nil {
		return nil, err
	}
	var deps []dependency
	for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
		var p struct {
			Module *struct{ Path, Version, Dir string }
		}
		if err := dec.Decode(&p); err != nil {
			return nil, err
		}
		m := p.Module
		if m == nil || m.Path == root || strings.HasPrefix(m.Path, root+"/") ||
			slices.ContainsFunc(deps, func(d dependency) bool { return d.path == m.Path }) {
			continue
		}
		d := dependency{path: m.Path, version: m.Version}
		files, err := filepath.Glob(filepath.Join(m.Dir, "LICEN[SC]E*"))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			if d.licence = licenceOf(string(text)); d.licence != "" {
				break
			}
		}
		if d.licence == "" {
			return nil, fmt.Errorf("%s %s, in %s: unknown licence: read it, and teach tools/release its words",
				d.path, d.version, m.Dir)
		}
		deps = append(deps, d)
	}
	slices.SortFunc(deps, func(a, b dependency) int { return strings.Compare(a.path, b.path) })
	return deps, nil
}

const licencesPage = "docs/reference/licences.md"

func (r *releaser) page() (string, error) {
	mods, err := published(r.top)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`# Licences of the dependencies

Evenkeel is under the [Apache License 2.0](../../LICENSE). What follows are the modules of others that its
packages and commands import, tests left out; who imports one package only gets what that imports.
` + "`make golden` writes this page, `make release-check` compares it.\n")
	for _, m := range mods {
		deps, err := dependencies(filepath.Join(r.top, m.dir))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n## %s\n\n| module | version | licence |\n|---|---|---|\n", m.path)
		for _, d := range deps {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", d.path, d.version, d.licence)
		}
	}
	return b.String(), nil
}

func (r *releaser) printLicences() error {
	text, err := r.page()
	if err == nil {
		_, err = os.Stdout.WriteString(text)
	}
	return err
}

func (r *releaser) checkLicences() error {
	want, err := r.page()
	if err != nil {
		return err
	}
	got, err := os.ReadFile(filepath.Join(r.top, licencesPage))
	if err != nil {
		return err
	}
	if string(got) != want {
		return fmt.Errorf("%s is not the list of what is linked: run make golden", licencesPage)
	}
	fmt.Println(licencesPage, "lists what is linked")
	return nil
}
