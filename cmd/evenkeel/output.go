package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"evenkeel.dev/internal/report"
	"evenkeel.dev/loadgen"
)

// toStdout as the name of an output is standard output.
const toStdout = "-"

// canSave looks at where results shall go before they are worked for: not over what is read, nor
// over each other.
func canSave(inputs []string, outputs ...string) error {
	var errs []error
	for i, out := range outputs {
		if out == "" || out == toStdout {
			continue
		}
		is := func(name string) bool { return sameFile(name, out) }
		switch {
		case slices.ContainsFunc(inputs, is):
			errs = append(errs, fmt.Errorf("%s is read, and would be written over: name another file for the result", out))
		case slices.ContainsFunc(outputs[:i], is):
			errs = append(errs, fmt.Errorf("%s is to be written twice: give each result a file of its own", out))
		default:
			errs = append(errs, report.CanSave(out))
		}
	}
	return errors.Join(errs...)
}

// sameFile reports whether two names are of one file; a device or a pipe is none.
func sameFile(a, b string) bool {
	is, err := os.Stat(a)
	if err != nil {
		return a != "" && filepath.Clean(a) == filepath.Clean(b) // not there yet
	}
	other, err := os.Stat(b)
	return err == nil && is.Mode().IsRegular() && os.SameFile(is, other)
}

// save writes run.json where asked to.
func (a *app) save(f *report.File, name string) error {
	switch name {
	case "":
		return nil
	case toStdout:
		return f.Write(a.stdout)
	}
	if err := f.Save(name); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "wrote %s (evenkeel compare reads it)\n", name)
	return nil
}

// page writes the comparison's page where asked to.
func (a *app) page(c *report.Comparison, name string) error {
	if name == "" {
		return nil
	}
	if err := report.SaveTo(name, func(w io.Writer) error { return c.HTML(w) }); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "wrote %s (open it in a browser)\n", name)
	return nil
}

// verdict says whether the runs were any good.
func verdict(f *report.File) error {
	for _, r := range f.Runs {
		switch {
		case r.Load.Interrupted:
			return errInterrupted
		case r.Load.Answered == 0 && len(r.Load.Failures) > 0:
			return fmt.Errorf("no request was answered: %s", r.Load.Failures[0].Example)
		case r.Load.Answered == 0:
			return errors.New("no request was answered")
		case !anyGood(r.Load):
			return fmt.Errorf("none of %s answers had a status of 2xx or 3xx: is the URL, the method or the scheme (http, https) right?",
				report.FormatCount(float64(r.Load.Answered)))
		}
	}
	return nil
}

// anyGood reports whether any answer did what was asked for.
func anyGood(l *loadgen.Result) bool {
	for status := range l.Statuses {
		if status >= 200 && status < 400 {
			return true
		}
	}
	return false
}
