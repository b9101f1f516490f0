package runfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Save writes a file whole or not at all. It renames a new file, which has the same permissions.
// It follows a link to a file, replaces one that leads nowhere, and writes directly to a pipe or a
// device. A kill may leave .evenkeel-*.tmp.
//
// Save overwrites a file that it cannot replace, such as a mounted one. If that fails too, the
// error names the new file.
func Save(name string, write func(io.Writer) error) error {
	t, err := lookAt(name)
	if err != nil {
		return unwritable(name, err)
	}
	if t.special {
		out, err := os.OpenFile(t.path, os.O_WRONLY, 0)
		if err != nil {
			return unwritable(name, err)
		}
		return unwritable(name, errors.Join(write(out), out.Close()))
	}
	out, err := t.beside()
	if err != nil {
		return unwritable(name, err)
	}
	if err = write(out); err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		os.Remove(out.Name())
		return unwritable(name, err)
	}
	if err = t.place(out.Name()); err != nil {
		return fmt.Errorf("%w; what it should hold is in %s", unwritable(name, err), out.Name())
	}
	return nil
}

// CanSave says early why Save could not write this file.
func CanSave(name string) error {
	t, err := lookAt(name)
	if err != nil || t.special {
		return unwritable(name, err)
	}
	out, err := t.beside()
	if err != nil {
		return unwritable(name, err)
	}
	return unwritable(name, errors.Join(out.Close(), os.Remove(out.Name())))
}

type target struct {
	path    string // with links followed
	old     fs.FileInfo
	special bool // not a regular file, which must not be replaced
}

func lookAt(name string) (target, error) {
	t := target{path: name}
	fi, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t, nil
	case err != nil:
		return t, err
	case fi.IsDir():
		return t, errors.New("it is a folder; name a file")
	}
	if t.special = !fi.Mode().IsRegular(); t.special {
		return t, nil
	}
	t.old = fi
	f, err := os.OpenFile(name, os.O_WRONLY, 0) // only who may write to it may replace it
	if err != nil {
		return t, err
	}
	f.Close()
	t.path, err = filepath.EvalSymlinks(name)
	return t, err
}

func (t *target) beside() (*os.File, error) {
	dir, mode := filepath.Dir(t.path), fs.FileMode(0o666)
	if t.old != nil {
		mode = t.old.Mode().Perm()
	}
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf(".evenkeel-%016x.tmp", rand.Uint64())),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("no file can be made in %s: %w", dir, plain(err))
	case err != nil || t.old == nil:
		return f, err
	}
	if err := f.Chmod(mode); err != nil { // the umask took some of them
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}

var rename = os.Rename // for tests

func (t *target) place(whole string) error {
	err := rename(whole, t.path)
	if err == nil || t.old == nil {
		return err
	}
	if err := overwrite(t.path, whole); err != nil {
		return err
	}
	return os.Remove(whole)
}

func overwrite(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

func unwritable(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot write %s: %w", name, plain(err))
}

func plain(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}
