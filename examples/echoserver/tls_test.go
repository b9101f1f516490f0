//go:build unix

package main

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/examples/internal/program"
	"evenkeel.dev/internal/leaks"
)

const patience = 30 * time.Second

// TestServesTLS tests lines and more than a record, in pieces, on each backend.
func TestServesTLS(t *testing.T) {
	path := os.Args[0]
	for _, backend := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
		t.Run(backend.String(), func(t *testing.T) {
			needs(t, backend)
			p := program.Start(t, path, "-backend", backend.String(), "-tls")
			var clients sync.WaitGroup
			for i := range 5 {
				// The certificate is new.
				c := tls.Client(p.Dial(), &tls.Config{InsecureSkipVerify: true})
				clients.Go(func() { converse(t, c, i) })
			}
			clients.Wait()
			idle := p.Dial()
			converse(t, tls.Client(inPieces{idle}, &tls.Config{InsecureSkipVerify: true}), 1)
			if log := p.Stop(syscall.SIGINT); !strings.Contains(log, "msg=stopped handshakes=6") {
				t.Errorf("the log ends so:\n%s", log)
			}
			if _, err := io.Copy(io.Discard, idle); err != nil {
				t.Errorf("an idle connection at the end: %v", err)
			}
		})
	}
}

// converse wants three messages back.
func converse(t *testing.T, c *tls.Conn, i int) {
	for round := range 3 {
		message := bytes.Repeat([]byte("to and fro "), 1+round*i*1000)
		sent := make(chan error, 1)
		go func() {
			_, err := c.Write(message)
			sent <- err
		}()
		got := make([]byte, len(message))
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, message) {
			t.Errorf("client %d, round %d: %v", i, round, err)
			return
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
	}
}

// inPieces sends a few bytes at a time.
type inPieces struct{ net.Conn }

func (c inPieces) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = c.Conn.Write(p[n:min(n+101, len(p))])
		n += more
	}
	return n, err
}

// TestParked tests that idle connections keep no goroutine.
func TestParked(t *testing.T) {
	const conns = 100
	own, err := certificate()
	if err != nil {
		t.Fatal(err)
	}
	w, err := aio.New(aio.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{own}}
	v := &service{watcher: w, log: slog.New(slog.DiscardHandler), config: config}
	ended := v.start(ln, func() {})
	started := leaks.Started()
	for range conns {
		c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		converse(t, c, 0)
	}
	for end := time.Now().Add(patience); started() > conns/10; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines for %d connections", started(), conns)
		}
	}
	ln.Close()
	w.Close()
	ended()
}

func TestWaitFailsTLS(t *testing.T) {
	testOccupied(t, func(w *aio.Watcher, _ *aio.Listener) error { return (&service{watcher: w}).drive() })
}
