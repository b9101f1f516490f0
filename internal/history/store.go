package history

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	maxKeys    = 64 // in an hour
	flushEvery = 5 * time.Second
)

// Options configure [Open]. The zero value works.
type Options struct {
	// Dir is the folder of the history's files, for one process at a time. Open creates it if
	// necessary, and renames a history.log that holds no history. Default: "", which keeps the
	// history in memory.
	Dir string

	Build string

	// Logger gets a warning when the disk fails, and when it works again. Default: slog.Default().
	Logger *slog.Logger

	maxBytes int64 // of the file; while it is replaced there are two
}

// Store is a [History] on disk, safe for concurrent use. It writes and syncs every 5 seconds. If it
// cannot write, or if another process has the folder, it goes on in memory and tries again.
type Store struct {
	o     Options
	stop  chan struct{}
	ended chan struct{}
	once  sync.Once

	// disk is held during writes, mu during work in memory. Lock disk before mu.
	disk sync.Mutex
	file *file // nil: the folder is not taken

	mu      sync.Mutex
	history *History
	pending *History // added after the last write; nil: write all of history
	taken   bool
	closed  bool // written with disk held too
	err     error
}

// Open opens or begins the history. [Store.Err] says if the folder cannot be used.
func Open(o Options) *Store {
	o.maxBytes = cmp.Or(o.maxBytes, 8<<20)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	s := &Store{o: o, stop: make(chan struct{}), ended: make(chan struct{}), history: &History{}}
	s.history.addSource(fmt.Sprintf("%016x", rand.Uint64()))
	if o.Build != "" {
		s.history.built(o.Build, time.Now())
	}
	if o.Dir == "" {
		close(s.ended)
		return s
	}
	_ = s.flush()
	go s.flushes()
	return s
}

// change changes the history, and what the next write adds. Hold mu.
func (s *Store) change(f func(*History)) {
	f(s.history)
	if s.pending != nil && !s.closed {
		f(s.pending)
	}
}

// addAll adds what a trace says, and returns the requests that are new.
func (s *Store) addAll(e *Explained) (added []Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Now()
	for _, r := range e.Slow {
		if at = r.Start; !s.history.seen(r.ID) {
			added = append(added, r)
		}
	}
	s.change(func(h *History) {
		for _, r := range added {
			h.insert(r.bounded())
		}
		h.addUsual(at, e.Usual)
		if e.Dropped > 0 {
			h.count(at, Others, Count{Failed: e.Dropped})
		}
	})
	return added
}

func (s *Store) Count(at time.Time, class string, c Count) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(func(h *History) { h.count(at, class, c) })
}

func (s *Store) Usual() Usual {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.usual()
}

// Watched records that this build was watched for a time, and recorded for covered of it.
func (s *Store) Watched(at time.Time, passed, covered time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(func(h *History) { h.addWatched(s.o.Build, at, passed, covered) })
}

// News returns a function that says which causes are new now, in any class. See [Summary.New].
func (s *Store) News() func(Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.history.newness()
	return func(k Key) bool {
		isNew, _ := n.of(k.anyClass())
		return isNew
	}
}

func (s *Store) Snapshot() *History { return s.Since(time.Time{}) }

// Since returns a copy of the history from the hour of a time on.
func (s *Store) Since(t time.Time) *History {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.since(t)
}

func (s *Store) HasDir() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}

// Err says why the history is not kept on the disk. It is nil without Options.Dir.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *Store) flush() error {
	if s.o.Dir == "" {
		return nil
	}
	s.disk.Lock()
	defer s.disk.Unlock()
	if s.closed {
		return nil
	}
	err := s.write()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && s.err == nil:
		s.o.Logger.Warn("the history of slow requests is kept only in memory", "dir", s.o.Dir, "error", err)
	case err == nil && s.err != nil:
		s.o.Logger.Warn("the history of slow requests is kept on the disk again", "dir", s.o.Dir)
	}
	if s.err = err; err != nil {
		s.pending = nil
	}
	return err
}

func (s *Store) write() error {
	if s.file == nil {
		if err := s.takeOver(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	next := s.pending
	s.pending = &History{}
	s.mu.Unlock()
	if next == nil || !s.file.there() {
		return s.rewrite()
	}
	if len(next.hours) == 0 && len(next.builds) == 0 {
		return nil
	}
	line, err := next.line()
	if err != nil || s.file.size+int64(len(line)) > s.o.maxBytes {
		return s.rewrite()
	}
	return s.file.append(line)
}

// takeOver takes the folder, and adds what is in it. Hold disk.
func (s *Store) takeOver() error {
	f, b, err := openFile(s.o.Dir)
	if err != nil {
		return err
	}
	there := &History{}
	if len(b) > 0 {
		var good, lost int
		there, good, lost, err = ReadLog(b)
		if errors.Is(err, errVersion) {
			return errors.Join(err, f.close())
		}
		if err != nil { // not a history, or damaged from the first line on
			if aside := f.setAside(); aside != nil {
				return errors.Join(err, aside, f.close())
			}
			s.o.Logger.Warn("the folder of the history of slow requests has a file that holds none: it is kept "+
				"under another name",
				"dir", s.o.Dir, "name", asideName, "error", err)
		} else if lost > 0 {
			s.o.Logger.Warn("the history of slow requests lacks what a kill or a disk cut off", "dir", s.o.Dir, "lines",
				lost, "bytes", len(b)-good)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.history
	if len(there.sources) > 0 { // the folder's name goes on
		mine.sources = nil
	}
	there.merge(mine)
	there.recent = mine.recent
	s.history, s.file, s.pending, s.taken = there, f, nil, true
	return nil
}

func (s *Store) rewrite() error {
	s.mu.Lock()
	line, err := s.whole()
	s.pending = &History{}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.file.replace(line)
}

// whole returns the history as a line that leaves room for more. It drops the oldest hours for that.
// One hour always fits.
func (s *Store) whole() ([]byte, error) {
	h := s.history
	for _, x := range h.hours {
		x.foldAll()
	}
	for hours, limit := maxHours, int(s.o.maxBytes*3/4); ; {
		if order := h.order(); len(order) > 0 {
			h.prune(hours, order[len(order)-1])
		}
		line, err := h.line()
		if err != nil || len(line) <= limit || len(h.hours) <= 1 {
			return line, err
		}
		hours = max(min(len(h.hours)-1, len(h.hours)*limit/len(line)), 1)
	}
}

func (s *Store) flushes() {
	defer close(s.ended)
	t := time.NewTicker(flushEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			_ = s.flush()
		case <-s.stop:
			return
		}
	}
}

// Close writes what is left, and releases the folder. Later additions stay in memory.
func (s *Store) Close() (err error) {
	s.once.Do(func() {
		close(s.stop)
		<-s.ended
		err = s.flush()
		s.disk.Lock()
		defer s.disk.Unlock()
		if s.file != nil {
			err = errors.Join(err, s.file.close())
			s.file = nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = true
	})
	return err
}
