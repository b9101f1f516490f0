package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
)

const ToStdout = "-"

const StdinName = "standard input"

// Open opens a file, or standard input for -. Messages use shown.
func Open(name string) (in io.ReadCloser, shown string, err error) {
	if name == "-" {
		return io.NopCloser(os.Stdin), StdinName, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, name, err
	}
	if fi, err := f.Stat(); err == nil && fi.IsDir() {
		f.Close()
		return nil, name, fmt.Errorf("%s is a folder; name a file", name)
	}
	return f, name, nil
}

func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(v)
}

// CanSave checks that outputs can be written, and overwrite no other file of these.
func CanSave(inputs []string, outputs ...string) error {
	var errs []error
	for i, out := range outputs {
		if out == "" || out == ToStdout {
			continue
		}
		is := func(name string) bool { return sameFile(name, out) }
		switch {
		case slices.ContainsFunc(inputs, is):
			errs = append(errs, fmt.Errorf("%s is read, and would be written over: name another file for the result",
				out))
		case slices.ContainsFunc(outputs[:i], is):
			errs = append(errs, fmt.Errorf("%s would be written twice: give each result a file of its own", out))
		default:
			errs = append(errs, runfile.CanSave(out))
		}
	}
	return errors.Join(errs...)
}

func sameFile(a, b string) bool {
	is, err := os.Stat(a)
	if err != nil {
		x, errX := filepath.Abs(a)
		y, errY := filepath.Abs(b)
		return a != "" && errX == nil && errY == nil && x == y
	}
	other, err := os.Stat(b)
	return err == nil && is.Mode().IsRegular() && os.SameFile(is, other)
}

// Save is SaveAs for a run.json.
func (a *App) Save(f *runfile.File, name string) error {
	return a.SaveAs(name, "evenkeel compare reads it", f.Write)
}

// SavePage is SaveAs for a page.
func (a *App) SavePage(name string, write func(io.Writer) error) error {
	return a.SaveAs(name, "open it in a browser", write)
}

// SaveAs writes a result to a file and says its use, unless name is "".
func (a *App) SaveAs(name, use string, write func(io.Writer) error) error {
	switch name {
	case "":
		return nil
	case ToStdout:
		return write(a.Stdout)
	}
	if err := runfile.Save(name, write); err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "wrote %s (%s)\n", name, use)
	return nil
}
