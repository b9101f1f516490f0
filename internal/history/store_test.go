package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/internal/leaks"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func open(t *testing.T, o Options) *Store {
	t.Helper()
	if o.Logger == nil {
		o.Logger = quiet
	}
	s := Open(o)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// addOne adds a request, and reports whether it is new.
func (s *Store) addOne(r Request) bool { return len(s.addAll(&Explained{Slow: []Request{r}})) > 0 }

func fill(s *Store, from, n int) {
	for i := range n {
		s.addOne(slow(from+i, night.Add(time.Duration(from+i)*time.Second), lockKey, 10*ms))
		s.Count(night, "GET /orders", Count{Slow: 1})
	}
}

func TestStoreReopened(t *testing.T) {
	leaks.Test(t)
	dir := filepath.Join(t.TempDir(), "new", "folder")
	var want string
	for i := range 3 {
		s := open(t, Options{Dir: dir, Build: fmt.Sprint("build ", i)})
		if i > 0 && text(t, s.Snapshot()) == want {
			t.Error("a new build is not new")
		}
		fill(s, 100*i, 50)
		if c := s.Snapshot().Coverage(time.Time{}); c.Seen != uint64(50*(i+1)) || c.Slow != c.Seen {
			t.Errorf("opened %d times: %v", i+1, c)
		}
		if i == 1 {
			if err := s.flush(); err != nil {
				t.Error(err)
			}
			fill(s, 100*i+50, 1) // after the first flush, lines are appended
			s.Count(night, "GET /orders", Count{Limited: 7})
		}
		want = text(t, s.Snapshot())
		if err := errors.Join(s.Close(), s.Close(), s.Err()); err != nil {
			t.Error(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, logName))
		if err != nil {
			t.Fatal(err)
		}
		h, good, lost, err := ReadLog(b)
		if err != nil || good != len(b) || lost != 0 || text(t, h) != want {
			t.Errorf("%v, %d lines lost: the file has\n%s\nwant\n%s", err, lost, text(t, h), want)
		}
		if i == 1 {
			break
		}
	}
}

// TestStoreFlushes: what was added is on the disk after 10 s, without a word.
func TestStoreFlushes(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{Dir: dir})
		fill(s, 0, 5)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		b, err := os.ReadFile(filepath.Join(dir, logName))
		if err != nil {
			t.Fatal(err)
		}
		h, _, _, err := ReadLog(b)
		if c := h.Coverage(time.Time{}); err != nil || c.Seen != 5 || c.Slow != 5 {
			t.Errorf("%v, %v", c, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestStoreShared: of two processes in one folder the second goes on in memory, and takes the
// folder over when the first is gone, with what both have.
func TestStoreShared(t *testing.T) {
	dir := t.TempDir()
	first := open(t, Options{Dir: dir})
	if f, _, err := openFile(dir); err == nil {
		_ = f.close()
		t.Skip("needs flock(2)")
	}
	var log bytes.Buffer
	second := open(t, Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !first.HasDir() || second.HasDir() {
		t.Errorf("the first has the folder: %v, the second: %v", first.HasDir(), second.HasDir())
	}
	fill(first, 0, 10)
	fill(second, 100, 5)
	if err := second.flush(); err == nil || !strings.Contains(err.Error(), "another process") || second.Err() == nil {
		t.Errorf("%v", err)
	}
	if c := second.Snapshot().Coverage(time.Time{}); c.Seen != 5 {
		t.Errorf("%v", c)
	}
	both := &History{}
	if err := errors.Join(both.Merge(first.Snapshot()), both.Merge(second.Snapshot())); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := second.flush(); err != nil || second.Err() != nil || !second.HasDir() {
		t.Error(err, second.Err(), second.HasDir())
	}
	if c := second.Snapshot().Coverage(time.Time{}); c.Seen != 15 || c.Slow != 15 {
		t.Errorf("%v", c)
	}
	if second.addOne(slow(100, night.Add(100*time.Second), lockKey, 10*ms)) {
		t.Error("what it has seen is forgotten")
	}
	if n := strings.Count(log.String(), "\n"); n != 2 {
		t.Errorf("%d lines in the log, want one for each change:\n%s", n, log.String())
	}
}

// TestStoreLeavesOthersAlone: of what is in its folder a store writes over its own files alone, and
// removes what a kill has left of them.
func TestStoreLeavesOthersAlone(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"history.log.tmp", tempName + "1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("a user's"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left := filepath.Join(dir, tempName)
	if err := os.WriteFile(left, []byte("half a line"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{Dir: dir})
	fill(s, 0, 5)
	if err := errors.Join(s.Err(), s.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a kill has left: %v", err)
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	theirs := 0
	for _, e := range list {
		switch b, err := os.ReadFile(filepath.Join(dir, e.Name())); {
		case err != nil:
			t.Error(err)
		case string(b) == "a user's":
			theirs++
		case e.Name() != logName && e.Name() != lockName:
			t.Errorf("%s: %q", e.Name(), b)
		}
	}
	if theirs != 2 {
		t.Errorf("%d files of 2 are as they were", theirs)
	}
}

// TestStoreWithoutDisk: a folder that cannot be used costs nothing that was added, and is written when it can be.
func TestStoreWithoutDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{Dir: dir})
	if s.Err() == nil {
		t.Error("a file is a folder")
	}
	fill(s, 0, 5)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.flush(); err != nil {
		t.Fatal(err)
	}
	fill(s, 5, 5)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(dir, nil, 0o600), s.flush()); err == nil || s.Err() == nil {
		t.Error("there is nowhere to write to, and it does not say so")
	}
	fill(s, 10, 5)
	if err := errors.Join(os.Remove(dir), s.flush()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, logName))
	if err != nil {
		t.Fatal(err)
	}
	h, _, lost, err := ReadLog(b)
	if c := h.Coverage(time.Time{}); err != nil || lost != 0 || c.Seen != 15 || c.Slow != 15 {
		t.Errorf("%v, %d lines lost, %v", c, lost, err)
	}
}

// TestStoreLaterVersion: a file that a newer release wrote stays as it is.
func TestStoreLaterVersion(t *testing.T) {
	dir := t.TempDir()
	name, later := filepath.Join(dir, logName), lineOf([]byte(`{"version":9}`))
	if err := os.WriteFile(name, later, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{Dir: dir})
	fill(s, 0, 1)
	if err := errors.Join(s.flush()); !errors.Is(err, errVersion) || !errors.Is(s.Err(), errVersion) {
		t.Errorf("%v", err)
	}
	_ = s.Close()
	if b, err := os.ReadFile(name); err != nil || !bytes.Equal(b, later) {
		t.Errorf("%s, %v", b, err)
	}
}

// TestStoreBounded: the file stays below its limit, and what goes for that are the oldest hours.
func TestStoreBounded(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, maxBytes: 1 << 20})
	id := 0
	const hours = 40
	for hour := range hours {
		for i := range 40 {
			id++
			s.addOne(slow(id, night.Add(time.Duration(hour)*time.Hour), longKey(i), 10*ms))
		}
		if err := s.flush(); err != nil {
			t.Fatal(err)
		}
		if fi, err := os.Stat(filepath.Join(dir, logName)); err != nil || fi.Size() > 1<<20 {
			t.Fatalf("%d bytes, %v", fi.Size(), err)
		}
	}
	order := s.Snapshot().order()
	if n := len(order); n < 3 || n > hours-5 || order[n-1]-order[0] != int64(n-1) ||
		order[n-1] != night.Unix()/3600+hours-1 {
		t.Errorf("%d hours, from %d to %d", len(order), order[0], order[len(order)-1])
	}
}

// longKey is one of many causes, that takes as many bytes as one may.
func longKey(i int) Key {
	k := lockKey
	k.Function, k.Class = fmt.Sprintf("main.f%d", i), strings.Repeat("x", maxText)
	return k
}

// TestStoreBoundedInAnHour tests that one hour fits into the file, whatever its requests are.
func TestStoreBoundedInAnHour(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	text := strings.Repeat("x", maxText)
	for i := range maxKeys + 1 {
		k := longKey(i)
		k.Class = fmt.Sprint(i, text)
		for minute := range 60 {
			r := slow(60*i+minute, night.Add(time.Duration(minute)*time.Minute), k, ms)
			r.Mark, r.Words, r.Place, r.HolderPlace, r.Breakdown, r.TraceID = text, text, text, text, text, text
			s.addOne(r)
		}
	}
	line, err := s.whole()
	if err != nil || int64(len(line)) > s.o.maxBytes*3/4 || len(s.Snapshot().hours) != 1 {
		t.Errorf("%d bytes, %v", len(line), err)
	}
}

// TestStoreSmallerLimit: of what was written with a higher limit, only what the new one has no room for goes.
func TestStoreSmallerLimit(t *testing.T) {
	dir := t.TempDir()
	const hours = 60
	s := open(t, Options{Dir: dir})
	for hour := range hours {
		for i := range 40 {
			s.addOne(slow(40*hour+i, night.Add(time.Duration(hour)*time.Hour), longKey(i), 10*ms))
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(filepath.Join(dir, logName)); err != nil || fi.Size() <= 2<<20 {
		t.Fatalf("%d bytes, %v", fi.Size(), err)
	}
	s = open(t, Options{Dir: dir, maxBytes: 1 << 20})
	if order := s.Snapshot().order(); len(order) == 0 || order[len(order)-1] != night.Unix()/3600+hours-1 {
		t.Errorf("hours %v", order)
	}
}

// TestStoreKeepsWhatIsNone: a file that holds no history keeps its bytes, under another name, and a second one its own.
func TestStoreKeepsWhatIsNone(t *testing.T) {
	dir := t.TempDir()
	name, kept := filepath.Join(dir, logName), filepath.Join(dir, "history.log.damaged")
	for i, text := range []string{"not ours\n", "nor this"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, Options{Dir: dir})
		fill(s, 0, 1)
		if err := s.flush(); (err == nil) != (i == 0) || i > 0 &&
			!strings.Contains(err.Error(), "history.log.damaged") {
			t.Errorf("%q: %v", text, err)
		}
		if i > 0 {
			kept = name
		}
		if b, err := os.ReadFile(kept); err != nil || string(b) != text {
			t.Errorf("%q, %v, want %q", b, err, text)
		}
		_ = s.Close()
	}
}

// TestStoreConcurrent is for the race detector, and none of what goroutines add is lost.
func TestStoreConcurrent(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	var wg sync.WaitGroup
	const each = 200
	for g := range 4 {
		wg.Go(func() {
			for i := range each {
				s.addOne(slow(g*each+i, night.Add(time.Duration(i)*time.Second), lockKey, ms))
				s.Count(night, fmt.Sprint("GET /", i%5), Count{Slow: 1})
				if i%50 == 0 {
					_ = s.Snapshot().Summaries(time.Time{})
					_, _, _ = s.Usual(), s.Err(), s.flush()
				}
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	s.addOne(slow(1<<20, night, lockKey, ms)) // in memory alone
	if c := s.Snapshot().Coverage(time.Time{}); c.Seen != 4*each+1 || c.Slow != 4*each {
		t.Errorf("%v", c)
	}
}

func TestStoreInMemory(t *testing.T) {
	s := open(t, Options{})
	e := explained(t, nil, Trace{Threshold: ms})
	e.Slow, e.Dropped, e.Usual = []Request{
		slow(1, night, lockKey, ms), slow(1, night, lockKey, ms),
		slow(2, night, runKey, ms),
	}, 4, Usual{"GET /": {3, e.Usual[""].Parts}}
	if added := s.addAll(e); len(added) != 2 || added[1].Key != runKey {
		t.Errorf("%+v", added)
	}
	if c := s.Since(night).CoverageByClass(night); c[Others].Failed != 4 || c["GET /orders"].Seen != 1 ||
		s.flush() != nil || s.Err() != nil || s.Usual()["GET /"].Requests != 3 {
		t.Errorf("%v", c)
	}
}
