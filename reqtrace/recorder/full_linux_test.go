package recorder

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace"
)

// smallDisk returns a folder that is a disk of some KiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("needs a small file system, which root may mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestDiskFull: while the disk is full snapshots are lost, and counted, the history is in memory,
// and all comes back with room on it.
func TestDiskFull(t *testing.T) {
	dir := smallDisk(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.perByte = func() int64 { return int64(time.Since(f.began).Seconds() * 1000) }
		var r *Recorder
		f.analysis = func(context.Context, history.Trace) (*history.Explained, time.Duration, error) {
			return &history.Explained{Slow: []history.Request{seen(r.slow.Load(), reqtrace.CauseLock)}}, 0, nil
		}
		r = begin(t, f, Options{Dir: dir, CPU: 1})
		slow := func(n int) Stats {
			for range n {
				slowRequest(r, "GET /")
				time.Sleep(20 * time.Second)
			}
			return r.Stats()
		}
		if s := slow(1); s.Analyzed != 1 || s.Why != "" {
			t.Errorf("%+v", s)
		}
		filler, err := os.Create(filepath.Join(dir, "filler"))
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = filler.Write(make([]byte, 4096))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		const lost = 50 // whose causes and counts do not fit in what is left of a page
		if s := slow(lost); s.Analyzed != 1 || s.Failures[string(failWrite)] != lost || s.Why == "" {
			t.Errorf("a full disk: %+v", s)
		}
		if err := errors.Join(filler.Close(), os.Remove(filler.Name())); err != nil {
			t.Fatal(err)
		}
		if s := slow(2); s.Analyzed != 3 || s.Why != "" {
			t.Errorf("there is room again: %+v", s)
		}
		end(t, r)
		want := history.Coverage{Count: history.Count{Slow: lost + 3, Failed: lost}, Seen: 3}
		if c := coverage(r); c != want {
			t.Errorf("%+v, not %+v", c, want)
		}
		b, err := os.ReadFile(filepath.Join(dir, "history.log"))
		if err != nil {
			t.Fatal(err)
		}
		if h, _, lines, err := history.ReadLog(b); err != nil || lines > 0 || h.Coverage(time.Time{}) != want {
			t.Errorf("on the disk: %d lines are lost, %v, %+v", lines, err, h.Coverage(time.Time{}))
		}
	})
}
