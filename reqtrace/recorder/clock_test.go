package recorder

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace"
)

// TestClock: however the wall clock is set, snapshots are taken when requests were slow and at no
// other time, each is kept, and each slow request is accounted for.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 20 * time.Second
		f, dir := newFake(), t.TempDir()
		f.analysis = func(_ context.Context, j history.Trace) (*history.Explained, time.Duration, error) {
			q := seen(uint64(len(f.jobs)), reqtrace.CauseLock)
			q.Start = j.Taken
			return &history.Explained{Slow: []history.Request{q}}, 0, nil
		}
		r := begin(t, f, Options{Dir: dir, CPU: 1})
		if s := r.Stats(); !s.On || s.Window != 10*time.Second || s.Bytes != leastBytes {
			t.Errorf("at the beginning: %+v", s)
		}
		n := uint64(0)
		slow := func() {
			slowRequest(r, "GET /")
			n++
			time.Sleep(each)
			if s := r.Stats(); s.Snapshots != n || s.Analyzed != n || len(s.Failures) > 0 {
				t.Errorf("after %d slow requests, with the clock set by %v: %+v", n, time.Duration(f.set.Load()), s)
			}
		}
		const year = 365 * 24 * time.Hour
		for _, by := range []time.Duration{
			0, time.Hour, -2 * time.Hour, 10 * year, -10 * year, -50 * year, 50 * year,
			300 * 24 * time.Hour,
		} {
			f.set.Add(int64(by))
			slow()
		}
		for range 5 { // and it stands still
			f.set.Add(-int64(each))
			slow()
		}
		covered := r.Stats()
		if covered.Coverage() < .99 || covered.Coverage() > 1 {
			t.Errorf("coverage %v", covered.Coverage())
		}
		end(t, r)
		if c := coverage(r); c.Slow != n || c.Seen != n {
			t.Errorf("%d slow requests: %+v", n, c)
		}
		if list, err := filepath.Glob(filepath.Join(dir, "snapshots", "*-slow*"+traceSuffix)); err != nil ||
			len(list) != int(n) {
			t.Errorf("%d snapshots of %d are kept, %v", len(list), n, err)
		}
	})
}

// TestClockSetBack: what was taken before the clock was set back goes first, and what is new stays.
func TestClockSetBack(t *testing.T) {
	s := &files{dir: t.TempDir(), most: 3000, mine: func() bool { return true }}
	keep := func(at int64) string {
		t.Helper()
		f, err := s.create(time.Unix(at, 0), "slow")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		s.keep(f)
		return f.id
	}
	var before, after []string
	for i := range int64(3) {
		before = append(before, keep(1e9+i))
	}
	for i := range int64(3) {
		after = append(after, keep(i))
		if !s.has(after[i]) || s.has(before[i]) {
			t.Errorf("%d after the clock was set back: the new one is there: %v, the oldest too: %v", i,
				s.has(after[i]), s.has(before[i]))
		}
	}
	for _, id := range after {
		if !s.has(id) {
			t.Errorf("%s is gone", id)
		}
	}
}
