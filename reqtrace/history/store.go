package history

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Store is a [History] on disk, safe for concurrent use. What is added is in memory at once, and on
// the disk after Options.FlushEvery: a kill loses that much, a crash of the machine as much, as
// each write is synced.
//
// Where the disk fails, or another process has the folder, the store goes on in memory, Err says
// why, and each flush tries again: then it takes over what is in the folder, and writes all of its
// own.
type Store struct {
	o    Options
	stop chan struct{}
	gone chan struct{}
	once sync.Once

	// Lock order: disk, mu, counting. disk is held over writes, mu over work in memory (of
	// milliseconds where all is written anew), and counting over a few operations on a map.
	disk   sync.Mutex
	file   *file       // nil: the folder is not taken yet, or any more, or there is none
	has    atomic.Bool // whether it was taken
	closed bool        // written with disk and mu held

	mu      sync.Mutex
	history *History
	pending record // what is not on the disk yet
	behind  bool   // pending has not all of it: all has to be written anew
	err     error  // of the last flush

	counting sync.Mutex
	counts   map[countKey]Count
	over     countKey // of what came when counts was full
}

// countKey is a minute and a class.
type countKey struct {
	minute int64
	class  string
}

const (
	maxPending = 1 << 13 // requests that wait to be written
	maxCounts  = 1 << 10 // minutes and classes that wait to be counted
)

// Open opens the history in Options.Dir, or begins it. It fails for options that make no sense
// alone: a folder that cannot be used is said by Err, and tried again.
func Open(o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{
		o: o, stop: make(chan struct{}), gone: make(chan struct{}), counts: map[countKey]Count{},
		history: newHistory(o),
	}
	s.history.addSource(fmt.Sprintf("%016x", rand.Uint64()))
	if o.Build != "" {
		s.history.Built(o.Build, time.Now())
	}
	if o.Dir == "" {
		close(s.gone)
		return s, nil
	}
	s.behind = true // until it is known what is there
	_ = s.Flush()   // which Err says
	go s.flushes()
	return s, nil
}

func newHistory(o Options) *History { return &History{keepHours: o.Hours, keepKeys: o.Keys} }

// Add counts a slow request as [History.Add] does.
func (s *Store) Add(r Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(r)
}

func (s *Store) add(r Request) bool {
	if s.history.seen(r.ID) {
		return false
	}
	r = r.bounded()
	if worst := s.history.add(r); !worst { // details are of the worst alone
		r = Request{
			ID: r.ID, Start: r.Start, Duration: r.Duration, Cut: r.Cut, Key: r.Key, Lost: r.Lost,
			Build: r.Build,
		}
	}
	s.later(func(p *record) { p.Requests = append(p.Requests, r) })
	return true
}

// later has something written with the next flush.
func (s *Store) later(add func(*record)) {
	switch {
	case s.o.Dir == "" || s.closed || s.behind:
	case s.pending.size() >= maxPending:
		s.behind, s.pending = true, record{}
	default:
		add(&s.pending)
	}
}

// AddAll adds what a trace says: its slow requests, of which it returns those that no trace had
// before, and its usual ones. Requests that the trace had too many of count as failed, of the class
// [Others].
func (s *Store) AddAll(e *Explained) (added []Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	at := time.Now()
	for _, r := range e.Slow {
		if s.add(r) {
			added = append(added, r)
		}
		at = r.Start
	}
	if len(e.Usual) > 0 {
		s.history.AddUsual(at, e.Usual)
		s.later(func(p *record) { p.Usual = append(p.Usual, usualAt{wallClock(at), maps.Clone(e.Usual)}) })
	}
	if e.Dropped > 0 {
		s.count(at, Others, Count{Failed: e.Dropped})
	}
	return added
}

// Count adds slow requests that the service's own clock saw. It waits for no disk and no other work
// of the store, so requests may call it. Of more than 1,024 minutes and classes between two flushes
// or looks at the history, the rest are one, of the class [Others].
func (s *Store) Count(at time.Time, class string, c Count) {
	s.counting.Lock()
	defer s.counting.Unlock()
	k := countKey{at.Unix() / 60, class}
	if _, ok := s.counts[k]; !ok && len(s.counts) == maxCounts-1 {
		s.over = countKey{k.minute, Others}
		k = s.over
	} else if !ok && len(s.counts) >= maxCounts {
		k = s.over
	}
	sum := s.counts[k]
	all := Coverage{Count: sum}
	all.add(Coverage{Count: c})
	s.counts[k] = all.Count
}

// settle counts what Count was told.
func (s *Store) settle() {
	s.counting.Lock()
	counts := s.counts
	s.counts = map[countKey]Count{}
	s.counting.Unlock()
	for k, c := range counts {
		s.count(time.Unix(k.minute*60, 0), k.class, c)
	}
}

func (s *Store) count(at time.Time, class string, c Count) {
	s.history.Count(at, class, c)
	s.later(func(p *record) { p.Counts = append(p.Counts, classCount{wallClock(at), shorten(class), c}) })
}

// Usual returns what usual requests took, for a [Trace] that has few.
func (s *Store) Usual() Usual {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.Usual()
}

// Watched records that Options.Build was watched, as [History.Watched] does.
func (s *Store) Watched(at time.Time, passed, covered time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.Watched(s.o.Build, at, passed, covered)
	s.later(func(p *record) {
		p.Watched = append(p.Watched, watchedAt{wallClock(at), shorten(s.o.Build), passed, covered})
	})
}

// New reports whether a cause is new in any class of requests: see [Summary].New.
func (s *Store) New(k Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.isNew(k.anyClass())
}

// Snapshot returns the history as it is now. The caller owns it.
func (s *Store) Snapshot() *History { return s.Since(time.Time{}) }

// Since returns that of the hours from that of a time on, as [History.Since] does.
func (s *Store) Since(t time.Time) *History {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	return s.history.Since(t)
}

// HasDir reports whether Options.Dir is this store's: false while another process has it, and where there is none.
func (s *Store) HasDir() bool { return s.has.Load() }

// Err says why the history is not kept on the disk; nil: it is, or there is no folder to keep it in.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Flush writes what is not on the disk yet, and waits for it.
func (s *Store) Flush() error {
	if s.o.Dir == "" {
		return nil
	}
	s.disk.Lock()
	defer s.disk.Unlock()
	if s.closed {
		return nil
	}
	err := s.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && s.err == nil:
		s.o.Logger.Warn("the history of slow requests is kept in memory alone", "dir", s.o.Dir, "error", err)
	case err == nil && s.err != nil:
		s.o.Logger.Warn("the history of slow requests is kept on the disk again", "dir", s.o.Dir)
	}
	s.err = err
	return err
}

// flush is called with disk held. Where it fails, what is written next is all of the history.
func (s *Store) flush() (err error) {
	defer func() {
		if err != nil {
			s.mu.Lock()
			s.behind, s.pending = true, record{}
			s.mu.Unlock()
		}
	}()
	if s.file == nil {
		if err := s.takeOver(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.settle()
	anew, next := s.behind, s.pending
	s.pending = record{}
	s.mu.Unlock()
	if anew || !s.file.there() {
		return s.rewrite()
	}
	if next.empty() {
		return nil
	}
	line, err := next.line()
	if err != nil || s.file.size+int64(len(line)) > s.o.MaxBytes {
		return s.rewrite()
	}
	return s.file.append(line)
}

// takeOver takes the folder, and adds what is in it to what the store has, once. It is called with disk held.
func (s *Store) takeOver() error {
	f, b, err := openFile(s.o.Dir)
	if err != nil {
		return err
	}
	there := newHistory(s.o)
	if len(b) > 0 {
		good, lost, err := there.readLog(b)
		if err != nil && errors.Is(err, ErrVersion) {
			return errors.Join(err, f.close())
		}
		if err != nil { // somebody else's, or damaged from the first line on
			if aside := f.setAside(); aside != nil {
				return errors.Join(err, aside, f.close())
			}
			s.o.Logger.Warn("the folder of the history of slow requests has a file that holds none: it is kept under another name", "dir", s.o.Dir, "name", asideName, "error", err)
		} else if lost > 0 {
			s.o.Logger.Warn("the history of slow requests lacks what a kill or a disk cut off", "dir", s.o.Dir, "lines",
				lost, "bytes", len(b)-good)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	mine := s.history
	if len(there.sources) > 0 { // the folder's name goes on
		mine.sources = nil
	}
	there.merge(mine)
	there.recent = mine.recent
	s.history, s.file, s.behind = there, f, true
	s.has.Store(true)
	return nil
}

// rewrite writes all of the history. It is called with disk held.
func (s *Store) rewrite() error {
	s.mu.Lock()
	s.settle()
	line, err := s.whole()
	s.behind, s.pending = false, record{}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.file.replace(line)
}

// whole returns all of the history as a line that leaves room for more. Where it takes too much,
// minutes of all but the last hours go, then the oldest hours, and then the rarest causes of the
// last one.
func (s *Store) whole() ([]byte, error) {
	h := s.history
	for hours, fine, keys, limit := s.o.Hours, fineHours, s.o.Keys, int(s.o.MaxBytes*3/4); ; {
		for _, x := range h.hours {
			x.foldAll(keys)
		}
		if order := h.order(); len(order) > 0 {
			h.prune(hours, fine, order[len(order)-1])
		}
		line, err := (&record{History: h}).line()
		switch {
		case err != nil || len(line) <= limit || len(h.hours) <= 1 && keys <= minKeys:
			return line, err
		case fine > 1:
			fine /= 4
		case len(h.hours) <= 1:
			keys = max(keys/2, minKeys)
		default:
			hours = max(min(len(h.hours)-1, len(h.hours)*limit/len(line)), 1)
		}
	}
}

// flushes flushes until the store is closed.
func (s *Store) flushes() {
	defer close(s.gone)
	t := time.NewTicker(s.o.FlushEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			_ = s.Flush() // which Err says
		case <-s.stop:
			return
		}
	}
}

// Close writes what is not on the disk yet, and lets the folder go. What is added afterwards is in memory alone.
func (s *Store) Close() (err error) {
	s.once.Do(func() {
		close(s.stop)
		<-s.gone
		err = s.Flush()
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
