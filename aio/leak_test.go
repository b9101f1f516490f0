package aio_test

import (
	"bytes"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
	"evenkeel.dev/aio/internal/proactor"
)

// keeping is a backend that does not get back what it has in flight.
type keeping struct{ *aiosuite.Backend }

func (b keeping) Close(done []*proactor.Op) []*proactor.Op {
	done = b.Backend.Close(done)
	for _, op := range done {
		op.Buf, op.Size, op.Leaked, op.Err = nil, 0, true, syscall.ECANCELED
	}
	return done
}

// TestCloseSaysWhatLeaked: an operation that the kernel did not return is returned, without the
// buffer; one that it never had brings its buffer. The log says so once, when nothing is locked.
func TestCloseSaysWhatLeaked(t *testing.T) {
	var log bytes.Buffer
	var w *aio.Watcher
	handler := slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		_ = w.Stats() // as a user's handler may
		return a
	}})
	w, err := aiosuite.NewWatcher(aio.Options{Logger: slog.New(handler)},
		keeping{aiosuite.NewBackend(aiosuite.Options{})})
	must(t, err)
	end, peer := aiosuite.Pair(100)
	defer peer.Close()
	idleEnd, idlePeer := aiosuite.Pair(100)
	defer idlePeer.Close()
	conn, idle := attach(t, w, end), attach(t, w, idleEnd)
	must(t, idle.Write("done", []byte("x"), none))
	must(t, only(t, w).Error)
	mine := make([]byte, 9)
	must(t, conn.Read("in flight", make([]byte, 9), none))
	must(t, conn.Read("behind it", mine, none))
	must(t, idle.Write("wakes", []byte("x"), none)) // has WaitIO begin all three
	must(t, only(t, w).Error)

	must(t, w.Close())
	results := wait(t, w, 2)
	if r := results[0]; r.Tag != "in flight" || r.Buffer != nil || r.Size != 0 || r.Error != aio.ErrWatcherClosed {
		t.Errorf("what the kernel kept: %+v; want no buffer, and %v", r, aio.ErrWatcherClosed)
	}
	if r := results[1]; r.Tag != "behind it" || &r.Buffer[0] != &mine[0] || r.Size != 0 ||
		r.Error != aio.ErrWatcherClosed {
		t.Errorf("what the kernel never had: %+v; want its buffer, and %v", r, aio.ErrWatcherClosed)
	}
	if s := w.Stats(); s.Leaked != 1 || s.Pending != 0 {
		t.Errorf("%+v; want one operation leaked", s)
	}
	must(t, w.Close())
	if text := log.String(); strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, "operations=1") {
		t.Errorf("the log says %q, want one warning of one operation", text)
	}
}
