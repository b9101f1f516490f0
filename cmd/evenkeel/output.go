package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/page"
	"evenkeel.dev/cmd/evenkeel/internal/perfetto"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace/verdict"
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
			errs = append(errs, runfile.CanSave(out))
		}
	}
	return errors.Join(errs...)
}

// sameFile reports whether two names are of one file; a device or a pipe is none.
func sameFile(a, b string) bool {
	is, err := os.Stat(a)
	if err != nil {
		return a != "" && wholeName(a) == wholeName(b) // not there yet
	}
	other, err := os.Stat(b)
	return err == nil && is.Mode().IsRegular() && os.SameFile(is, other)
}

// wholeName is the name of a file from the root on, with the links of its folder resolved, if that is there.
func wholeName(name string) string {
	whole, err := filepath.Abs(name)
	if err != nil {
		return filepath.Clean(name)
	}
	dir, file := filepath.Split(whole)
	if to, err := filepath.EvalSymlinks(dir); err == nil {
		dir = to
	}
	return filepath.Join(dir, file)
}

// save writes run.json where asked to.
func (a *app) save(f *runfile.File, name string) error {
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
func (a *app) page(c *compare.Comparison, name string) error {
	if name == "" {
		return nil
	}
	return a.savePage(name, func(w io.Writer) error { return page.Compare(w, c) })
}

// savePage makes a file of a page, and says where it is.
func (a *app) savePage(name string, write func(io.Writer) error) error {
	if err := runfile.Save(name, write); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "wrote %s (open it in a browser)\n", name)
	return nil
}

// checkRuns says whether the runs were any good.
func checkRuns(f *runfile.File) error {
	for _, r := range f.Runs {
		switch {
		case r.Load.Interrupted:
			return errInterrupted
		case r.Load.FailedBy(loadgen.ClassGenerator) > 0:
			return generatorLimit(r.Load)
		case r.Load.Answered == 0 && len(r.Load.Failures) > 0:
			return fmt.Errorf("no request was answered: %s", r.Load.Failures[0].Example)
		case r.Load.Answered == 0:
			return errors.New("no request was answered")
		case !anyGood(r.Load):
			return fmt.Errorf("none of %s answers had a status of 2xx or 3xx: is the URL, the method or the scheme (http, https) right?",
				textfmt.Count(float64(r.Load.Answered)))
		}
	}
	return nil
}

// errGenerator says that the load generator was at its own limit, so that nothing is judged.
var errGenerator = errors.New("the load generator is at its own limit, and not the service")

func generatorLimit(l *loadgen.Result) error {
	i := slices.IndexFunc(l.Failures, func(f loadgen.Failure) bool { return f.Class == loadgen.ClassGenerator })
	return fmt.Errorf("%w: %s of %s requests failed here (%s); nothing is judged. Raise ulimit -n or net.ipv4.ip_local_port_range, lower -c, or use several machines (-share)",
		errGenerator, textfmt.Count(float64(l.Failures[i].Count)), textfmt.Count(float64(l.Requests())), l.Failures[i].Example)
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

// stdinName is standard input in messages.
const stdinName = "standard input"

// newExplained says what trace a verdict is on: where it is a file, pages lead into it.
func newExplained(name, source string) page.Trace {
	t := page.Trace{Name: source}
	if name == source && name != stdinName && name != demoName { // no URL either
		t.File = name
	}
	return t
}

// explainPage writes the page of a verdict where asked to.
func (a *app) explainPage(t page.Trace, v *verdict.Verdict, name string) error {
	switch name {
	case "":
		return nil
	case toStdout:
		return page.Explain(a.stdout, t, v)
	}
	return a.savePage(name, func(w io.Writer) error { return page.Explain(w, t, v) })
}

// explainTracks writes the tracks of the slowest requests where asked to.
func (a *app) explainTracks(source string, v *verdict.Verdict, name string) error {
	write := func(w io.Writer) error { return perfetto.Write(w, source, v.Report()) }
	switch name {
	case "":
		return nil
	case toStdout:
		return write(a.stdout)
	}
	if err := runfile.Save(name, write); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "wrote %s (open it at https://ui.perfetto.dev or in chrome://tracing)\n", name)
	return nil
}
