package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	logName  = "history.log"
	lockName = "history.lock"

	tempName  = ".evenkeel-history.tmp" // a kill may leave it
	asideName = "history.log.damaged"
)

// file is that of a store. The holder of Store.disk owns it.
type file struct {
	dir  string
	lock *os.File
	log  *os.File // nil: nothing was written yet
	size int64
}

func openFile(dir string) (*file, []byte, error) {
	f := &file{dir: dir}
	if err := f.take(); err != nil {
		if f.lock != nil {
			err = errors.Join(err, f.close())
		}
		return nil, nil, err
	}
	b, err := os.ReadFile(f.path(logName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errors.Join(wrap(err), f.close())
	}
	return f, b, nil
}

func (f *file) take() error {
	if f.lock != nil && same(f.lock, f.path(lockName)) {
		return nil
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return wrap(err)
	}
	lock, err := os.OpenFile(f.path(lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return wrap(err)
	}
	if err := take(lock); err != nil {
		return errors.Join(fmt.Errorf("history: another process keeps its history in %s: give each a folder of its "+
			"own (%w)", f.dir, err), lock.Close())
	}
	if f.lock != nil {
		err = f.lock.Close()
	}
	f.lock = lock
	return wrap(err)
}

func (f *file) setAside() error {
	if _, err := os.Lstat(f.path(asideName)); err == nil {
		return fmt.Errorf("history: %s has %s already: move it, or %s, elsewhere", f.dir, asideName, logName)
	}
	return wrap(errors.Join(os.Rename(f.path(logName), f.path(asideName)), syncFolder(f.dir)))
}

// there reports whether the open file is still in the folder.
func (f *file) there() bool { return f.log != nil && same(f.log, f.path(logName)) }

func same(f *os.File, name string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(name)
	return err == nil && os.SameFile(a, b)
}

func (f *file) path(name string) string { return filepath.Join(f.dir, name) }

func (f *file) append(line []byte) error {
	n, err := f.log.Write(line)
	f.size += int64(n)
	if err == nil {
		err = f.log.Sync()
	}
	return wrap(err)
}

func (f *file) replace(line []byte) error {
	if err := f.take(); err != nil {
		return err
	}
	temp, err := os.OpenFile(f.path(tempName), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return wrap(err)
	}
	if _, err = temp.Write(line); err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return wrap(errors.Join(err, os.Remove(temp.Name())))
	}
	if f.log != nil { // some systems cannot rename over an open file
		err = f.log.Close()
		f.log = nil
	}
	if err = errors.Join(err, os.Rename(temp.Name(), f.path(logName)), syncFolder(f.dir)); err != nil {
		return wrap(err)
	}
	if f.log, err = os.OpenFile(f.path(logName), os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return wrap(err)
	}
	f.size = int64(len(line))
	return nil
}

func (f *file) close() error {
	err := f.lock.Close()
	if f.log != nil {
		err = errors.Join(err, f.log.Close())
	}
	return wrap(err)
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("history: %w", err)
}
