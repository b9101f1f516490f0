package aio_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// heard is a log that says when something was written to it.
type heard struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// TestForgotten drops a Watcher with a listener, an accepted connection, one that is attached and waits
// for a read, and one that is dialled. The collector closes them, and no descriptor is left.
func TestForgotten(t *testing.T) {
	for _, backend := range []aio.Backend{aio.BackendEpoll, aio.BackendIOUring} {
		t.Run(backend.String(), func(t *testing.T) {
			before := descriptors(t)
			log := &heard{}
			peers := forget(t, aio.Options{Backend: backend, Logger: slog.New(slog.NewTextHandler(log, nil))})
			eventually(t, "the log names the forgotten watcher", func() bool {
				runtime.GC()
				return strings.Contains(log.String(), "before it was closed")
			})
			if text := log.String(); !strings.Contains(text, "closed=4") {
				t.Errorf("the log says %q, want closed=4", text)
			}
			for i, p := range peers {
				must(t, p.SetReadDeadline(time.Now().Add(patience)))
				if n, err := p.Read(make([]byte, 1)); n != 0 || err != io.EOF {
					t.Errorf("peer %d: Read returned %d, %v; want the end", i, n, err)
				}
				must(t, p.Close())
			}
			eventually(t, "all descriptors are closed", func() bool {
				runtime.GC() // an os.File has a cleanup of its own
				return descriptors(t) <= before
			})
		})
	}
}

// forget returns the peers of the connections of a Watcher that nothing refers to afterwards.
func forget(t *testing.T, o aio.Options) (peers []net.Conn) {
	w, err := aio.New(o)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("needs this backend:", err)
	}
	must(t, err)
	l, err := w.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Accept(nil, none))
	client, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	must(t, only(t, w).Error)

	conn, there := attached(t, w)
	must(t, conn.Read(nil, nil, none))

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = ln.Close() }()
	must(t, w.Dial(nil, ln.Addr(), none))
	must(t, only(t, w).Error)
	dialled, err := ln.Accept()
	must(t, err)
	return []net.Conn{client, there, dialled}
}
