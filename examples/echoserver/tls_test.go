//go:build unix

package main

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/examples/internal/program"
)

// TestServesTLS tests lines and more than a record, in pieces, on each backend and in each way of
// waiting.
func TestServesTLS(t *testing.T) {
	path := os.Args[0]
	for _, backend := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
		for _, wait := range waits {
			t.Run(backend.String()+"/"+wait, func(t *testing.T) {
				needs(t, backend)
				p := program.Start(t, path, "-backend", backend.String(), "-tls", wait)
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

var says = regexp.MustCompile(`msg=idle connections=100 goroutines=(\d+) rss_bytes_each=-?\d+ heap_bytes_each=\d+ `)

// TestSays tests what the program says, and which ways keep a goroutine.
func TestSays(t *testing.T) {
	path := os.Args[0]
	for _, wait := range waits {
		t.Run(wait, func(t *testing.T) {
			out, err := exec.Command(path, "-addr", "127.0.0.1:0", "-n", "100", "-tls", wait).CombinedOutput()
			m := says.FindSubmatch(out)
			if err != nil || m == nil || !strings.Contains(string(out), "echoes=110") {
				t.Fatalf("%v\n%s", err, out)
			}
			if n, _ := strconv.Atoi(string(m[1])); (n >= 100) != (wait != waitParked) {
				t.Errorf("%d goroutines for 100 connections", n)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	program.Start(t, os.Args[0], "-n", "5000", "-tls", waitParked).Stop(syscall.SIGINT)
}

func TestWaitFailsTLS(t *testing.T) {
	testOccupied(t, func(w *aio.Watcher, _ *aio.Listener) error { return (&service{watcher: w}).drive() })
}
