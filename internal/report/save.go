package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Save writes f to a file as SaveTo does.
func (f *File) Save(name string) error { return SaveTo(name, f.Write) }

// SaveTo makes a file of what write writes, whole or not at all. What is there and is no
// regular file (a pipe, a device) is written to as it is.
func SaveTo(name string, write func(io.Writer) error) error {
	name, special, err := target(name)
	if err != nil {
		return err
	}
	if special {
		out, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return unwritable(name, err)
		}
		return unwritable(name, errors.Join(write(out), out.Close()))
	}
	tmp := name + ".tmp"
	out, err := os.Create(tmp)
	if err != nil {
		return unwritable(name, err)
	}
	if err := errors.Join(write(out), out.Close()); err != nil {
		os.Remove(tmp)
		return unwritable(name, err)
	}
	if err := os.Rename(tmp, name); err != nil {
		os.Remove(tmp)
		return unwritable(name, err)
	}
	return nil
}

// CanSave says why SaveTo could not make this file: worth asking before work that takes long.
func CanSave(name string) error {
	name, special, err := target(name)
	if err != nil || special {
		return err
	}
	tmp := name + ".tmp"
	out, err := os.Create(tmp)
	if err != nil {
		return unwritable(name, err)
	}
	out.Close()
	return unwritable(name, os.Remove(tmp))
}

// target follows links, and says whether there is something special that must not be replaced.
func target(name string) (path string, special bool, err error) {
	fi, err := os.Stat(name)
	switch {
	case err != nil: // a link may lead to what is not there yet
		if to, err := os.Readlink(name); err == nil && filepath.IsAbs(to) {
			name = to
		} else if err == nil {
			name = filepath.Join(filepath.Dir(name), to)
		}
		return name, false, nil
	case fi.IsDir():
		return name, false, fmt.Errorf("cannot write %s: it is a folder; name a file", name)
	case !fi.Mode().IsRegular():
		return name, true, nil
	}
	name, err = filepath.EvalSymlinks(name)
	return name, false, err
}

// unwritable leaves out the temporary file's name, which nobody asked for.
func unwritable(name string, err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		err = le.Err
	}
	return fmt.Errorf("cannot write %s: %w", name, err)
}
