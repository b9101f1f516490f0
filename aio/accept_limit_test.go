//go:build linux

package aio_test

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"evenkeel.dev/aio"
)

const acceptLimitEnv = "EVENKEEL_TEST_ACCEPT_LIMIT" // of the child: the backend

// TestAcceptLimit: without a descriptor for it a connection waits, and is accepted when there is one.
func TestAcceptLimit(t *testing.T) {
	if name := os.Getenv(acceptLimitEnv); name != "" {
		var b aio.Backend
		must(t, b.UnmarshalText([]byte(name)))
		acceptAtTheLimit(t, b)
		return
	}
	onEach(t, func(t *testing.T, b aio.Backend) {
		_ = open(t, aio.Options{Backend: b}) // or skips
		if out, err := child(t, "TestAcceptLimit", acceptLimitEnv+"="+b.String()).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// acceptAtTheLimit is the child.
func acceptAtTheLimit(t *testing.T, b aio.Backend) {
	const all, room = 20, 5
	var log lockedBuffer
	w := open(t, aio.Options{Backend: b, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	l, err := w.Listen("tcp", "127.0.0.1:0", aio.ListenOptions{})
	must(t, err)
	for range all {
		dialed(t, l.Addr())
	}
	leaveDescriptors(t, room)
	arrived := make(chan *aio.Conn, all)
	for range all {
		must(t, l.Accept(nil, none))
	}
	pump(t, w, func(r aio.Result) {
		if r.Error == nil {
			arrived <- r.Conn
		} else if r.Error != aio.ErrWatcherClosed {
			t.Errorf("%+v", r)
		}
	})
	eventually(t, "there is no descriptor", func() bool { return w.Stats().AcceptStalls > 2 })
	if n := w.Stats().Accepted; n == 0 || n > room {
		t.Errorf("%d connections were accepted, with room for %d", n, room)
	}
	for range all {
		must(t, (<-arrived).Close())
	}
	if s := w.Stats(); s.Accepted != all || s.Conns != 0 {
		t.Errorf("%+v, want %d connections, and none left", s, all)
	}
	must(t, w.Close())
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings, want one: %s", n, log.String())
	}
}

// leaveDescriptors has this process open n descriptors more at the utmost.
func leaveDescriptors(t *testing.T, n int) {
	t.Helper()
	next, err := syscall.Dup(0)
	must(t, err)
	must(t, syscall.Close(next))
	limit := uint64(next + n)
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: limit}))
}

// lockedBuffer is written by one goroutine and read by another.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
