package recorder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/internal/history"
)

// files are the snapshots on disk. Any goroutine may call any method.
type files struct {
	dir         string
	most        int64
	mine        func() bool // dir is this process's
	temporaries bool        // keep snapshots without dir

	mu        sync.Mutex
	temporary []temporary
}

type temporary struct {
	file  *snapshotFile
	bytes int64
	head  []byte
}

const (
	traceSuffix = ".trace"
	headSuffix  = ".json"
)

const (
	maxListed    = 1000 // snapshots in dir
	maxSame      = 100  // of a millisecond
	maxTemporary = 64
	mostTogether = 16 << 20 // bytes of temporaries
)

// snapshotFile is a trace. The owner keeps or drops it.
type snapshotFile struct {
	*os.File
	id   string
	path string // "": it lasts until it is closed
}

func (s *files) create(now time.Time, why string) (*snapshotFile, error) {
	name := history.SnapshotID(now, why)
	id := name
	for i := 1; i <= maxSame && s.has(id); i++ { // the clock was set back
		id = name + "-" + strconv.Itoa(i)
	}
	if s.dir == "" || !s.mine() {
		f, err := createTemporary()
		if err == nil && s.temporaries {
			f.id = id
		}
		return f, err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir, id+traceSuffix)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	return &snapshotFile{f, id, path}, err
}

func createTemporary() (*snapshotFile, error) {
	f, err := os.CreateTemp("", "evenkeel-*"+traceSuffix)
	if err != nil {
		return nil, err
	}
	file := &snapshotFile{File: f}
	if os.Remove(f.Name()) != nil { // some systems do not remove what is open
		file.path = f.Name()
	}
	return file, nil
}

func (f *snapshotFile) copyTo(w io.Writer) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(w, f.File)
	return err
}

func (f *snapshotFile) drop() {
	f.Close()
	if f.path != "" {
		_ = os.Remove(f.path)
	}
}

// keep keeps a snapshot in dir that needs no analysis, and drops others.
func (s *files) keep(f *snapshotFile) {
	if !s.named(f) {
		f.drop()
		return
	}
	f.Close()
	s.prune(f.id)
}

func (s *files) named(f *snapshotFile) bool { return f.path != "" && filepath.Dir(f.path) == s.dir }

// keepHead keeps a snapshot with its head. The file is the caller's if it fails.
func (s *files) keepHead(f *snapshotFile, h *history.Head) error {
	head, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if !s.named(f) {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		s.keepTemporary(temporary{f, info.Size(), head})
		return nil
	}
	if err := os.WriteFile(filepath.Join(s.dir, f.id+headSuffix), head, 0o600); err != nil {
		return err
	}
	f.Close()
	s.prune(f.id)
	return nil
}

func (s *files) keepTemporary(t temporary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.temporary = append(s.temporary, t)
	sum := int64(0)
	for _, t := range s.temporary {
		sum += t.bytes + int64(len(t.head))
	}
	for len(s.temporary) > maxTemporary || sum > mostTogether && len(s.temporary) > 1 {
		oldest := s.temporary[0]
		sum -= oldest.bytes + int64(len(oldest.head))
		oldest.file.drop()
		s.temporary = slices.Delete(s.temporary, 0, 1)
	}
}

func (s *files) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.temporary {
		t.file.drop()
	}
	s.temporary = nil
}

// prune removes the oldest snapshots until the rest fits. A name with a later time than newest is
// from before the clock was set back, so it is the oldest.
func (s *files) prune(newest string) {
	list, sum := s.list()
	i, found := slices.BinarySearchFunc(list, newest,
		func(a stored, id string) int { return strings.Compare(a.id, id) })
	if found {
		i++
	}
	list = slices.Concat(list[i:], list[:i])
	for len(list) > maxListed || sum > s.most && len(list) > 1 {
		sum -= list[0].trace + list[0].head
		_ = os.Remove(filepath.Join(s.dir, list[0].id+headSuffix))
		_ = os.Remove(filepath.Join(s.dir, list[0].id+traceSuffix))
		list = list[1:]
	}
}

type stored struct {
	id          string
	trace, head int64
}

func (s *files) list() (list []stored, sum int64) {
	entries, _ := os.ReadDir(s.dir)
	heads := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if id, ok := strings.CutSuffix(e.Name(), headSuffix); ok {
			heads[id] = info.Size()
		} else if id, ok := strings.CutSuffix(e.Name(), traceSuffix); ok {
			list = append(list, stored{id: id, trace: info.Size()})
		}
	}
	for i := range list {
		list[i].head = heads[list[i].id]
		sum += list[i].trace + list[i].head
	}
	slices.SortFunc(list, func(a, b stored) int { return strings.Compare(a.id, b.id) }) // by their time
	return list, sum
}

// kept returns the snapshots that are not analysed, the oldest first.
func (s *files) kept() []string {
	ids := []string{}
	if s.dir != "" && s.mine() {
		there, _ := s.list()
		for _, l := range there {
			if l.head > 0 {
				ids = append(ids, l.id)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.temporary {
		ids = append(ids, t.file.id)
	}
	return ids
}

// open opens a snapshot, or its head if name ends in headSuffix.
func (s *files) open(name string) (io.ReadSeekCloser, error) {
	id, head := strings.CutSuffix(name, headSuffix)
	s.mu.Lock()
	i := slices.IndexFunc(s.temporary, func(t temporary) bool { return t.file.id == id })
	if i >= 0 {
		t := s.temporary[i]
		s.mu.Unlock()
		var text io.ReadSeeker = io.NewSectionReader(t.file, 0, t.bytes)
		if head {
			text = bytes.NewReader(t.head)
		}
		return struct {
			io.ReadSeeker
			io.Closer
		}{text, io.NopCloser(nil)}, nil
	}
	s.mu.Unlock()
	if !s.inDir(id) {
		return nil, fmt.Errorf("there is no snapshot %q any more: the oldest go when they take more than "+
			"Options.KeepBytes, or 16 MiB without Options.Dir", id)
	}
	if !head {
		name += traceSuffix
	}
	return os.Open(filepath.Join(s.dir, name))
}

func (s *files) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.temporary, func(t temporary) bool { return t.file.id == id }) || s.inDir(id)
}

func (s *files) inDir(id string) bool {
	if s.dir == "" || id == "" || strings.ContainsFunc(id,
		func(c rune) bool { return !strings.ContainsRune("0123456789-.abcdefghijklmnopqrstuvwxyz", c) }) {
		return false
	}
	info, err := os.Lstat(filepath.Join(s.dir, id+traceSuffix))
	return err == nil && info.Mode().IsRegular()
}
