package httpd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// TestLongAnswersPassTheLoop: what is long, and on epoll what is short too, is sent by the worker
// itself, so that a request is one operation, a read, and hardly ever more: where the loop works at
// that moment. So the handlers wait until it has nothing to do.
func TestLongAnswersPassTheLoop(t *testing.T) {
	const requests = 200
	for _, tt := range []struct {
		b    aio.Backend
		size int
	}{{aio.BackendEpoll, 64 << 10}, {aio.BackendIOUring, 64 << 10}, {aio.BackendEpoll, 10}} {
		t.Run(fmt.Sprint(tt.b, tt.size), func(t *testing.T) {
			if n := operations(t, tt.b, tt.size, requests); n > 3*requests/2+acceptTurn {
				t.Errorf("%d operations for %d requests: their answers went through the loop", n, requests)
			}
		})
	}
}

// operations returns how many operations it takes to answer requests of one connection with so many bytes each.
func operations(t *testing.T, b aio.Backend, size, requests int) uint64 {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, size)
	srv := &http.Server{}
	stats := func() aio.Stats {
		wrapping.Lock()
		defer wrapping.Unlock()
		return srv.Handler.(*hooks).serving[0].watcher.Stats()
	}
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(size))
		// The next read was submitted before this request was given to a worker. The loop waits when that has begun.
		for s := stats(); s.Operations-s.Results < uint64(s.Pending) && r.Context().Err() == nil; s = stats() {
			time.Sleep(10 * time.Microsecond)
		}
		_, _ = w.Write(body)
	})
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), srv, ln, Options{Backend: b}) }()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	r := bufio.NewReader(c)
	for range requests {
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			select {
			case err = <-ended:
			default:
			}
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, res.Body); n != int64(size) || err != nil {
			t.Fatal(n, err)
		}
	}
	s := stats()
	if s.BytesWritten < uint64(requests*size) {
		t.Errorf("%d bytes were written, want %d and more", s.BytesWritten, requests*size)
	}
	_ = srv.Close()
	if err := <-ended; err != http.ErrServerClosed {
		t.Error(err)
	}
	return s.Operations
}
