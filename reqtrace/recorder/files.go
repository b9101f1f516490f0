package recorder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// files are the snapshots on disk. Each method fails alone where the disk or the directory fails, and works again when these do.
// Any goroutine may call any of them.
type files struct {
	dir  string      // "": none is kept
	most int64       // bytes
	mine func() bool // whether dir is this process's: nothing is kept or removed in that of another
}

const traceSuffix = ".trace"

const (
	maxListed = 1000 // snapshots in dir
	maxSame   = 100  // that are called by the same millisecond
)

// snapshotFile is a snapshot's trace. Whoever has it keeps or drops it.
type snapshotFile struct {
	*os.File
	id   string
	path string // ""; it has no name on disk, and lasts until it is closed
}

// create makes the file of a new snapshot.
func (s *files) create(now time.Time, why string) (*snapshotFile, error) {
	if s.dir == "" || !s.mine() {
		return createTemporary()
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	name := now.UTC().Format("20060102-150405.000") + "-" + why
	for id, i := name, 1; ; i++ {
		path := filepath.Join(s.dir, id+traceSuffix)
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil || !errors.Is(err, fs.ErrExist) || i == maxSame {
			return &snapshotFile{f, id, path}, err
		}
		id = name + "-" + strconv.Itoa(i) // the clock was set back to what it was before
	}
}

// createTemporary makes a file that is not kept.
func createTemporary() (*snapshotFile, error) {
	f, err := os.CreateTemp("", "evenkeel-*"+traceSuffix)
	if err != nil {
		return nil, err
	}
	file := &snapshotFile{File: f}
	if os.Remove(f.Name()) != nil { // as on systems that do not remove what is open
		file.path = f.Name()
	}
	return file, nil
}

// copyTo writes the whole file to w.
func (f *snapshotFile) copyTo(w io.Writer) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(w, f.File)
	return err
}

// drop closes and removes the file.
func (f *snapshotFile) drop() {
	f.Close()
	if f.path != "" {
		_ = os.Remove(f.path)
	}
}

// keep closes the file, and makes room for it.
func (s *files) keep(f *snapshotFile) {
	if s.dir == "" || f.id == "" { // which has no name there
		f.drop()
		return
	}
	f.Close()
	s.prune(f.id + traceSuffix)
}

// prune removes the oldest snapshots, until the rest fits. What is called by a later time than the newest was taken before the clock was set
// back, and is older than all others.
func (s *files) prune(newest string) {
	list, sum := s.list()
	i, found := slices.BinarySearchFunc(list, newest, func(a fs.FileInfo, name string) int { return strings.Compare(a.Name(), name) })
	if found {
		i++
	}
	list = slices.Concat(list[i:], list[:i])
	for len(list) > maxListed || sum > s.most && len(list) > 1 {
		sum -= list[0].Size()
		_ = os.Remove(filepath.Join(s.dir, list[0].Name()))
		list = list[1:]
	}
}

// list returns the snapshots, the oldest first, and what they take.
func (s *files) list() (list []fs.FileInfo, sum int64) {
	entries, _ := os.ReadDir(s.dir) // as far as it can be read
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), traceSuffix) {
			list = append(list, info)
			sum += info.Size()
		}
	}
	slices.SortFunc(list, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) }) // which begin with their time
	return list, sum
}

// open opens a snapshot to read it.
func (s *files) open(id string) (io.ReadSeekCloser, error) {
	if s.dir == "" {
		return nil, errors.New("snapshots are kept where Options.Dir says, and it is empty")
	}
	if !s.has(id) {
		return nil, fmt.Errorf("there is no snapshot %q any more: the oldest go when they take more than Options.KeepBytes", id)
	}
	return os.Open(filepath.Join(s.dir, id+traceSuffix))
}

// has reports whether a snapshot is there.
func (s *files) has(id string) bool {
	if s.dir == "" || id == "" || strings.ContainsFunc(id, func(c rune) bool { return !strings.ContainsRune("0123456789-.abcdefghijklmnopqrstuvwxyz", c) }) {
		return false
	}
	info, err := os.Lstat(filepath.Join(s.dir, id+traceSuffix))
	return err == nil && info.Mode().IsRegular()
}
