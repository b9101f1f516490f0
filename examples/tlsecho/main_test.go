//go:build unix

package main

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/examples/internal/occupied"
	"evenkeel.dev/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// TestServes: on each backend and in each way of waiting, lines and much more than a record come back, in
// whatever pieces; then it stops, and an idle connection ends.
func TestServes(t *testing.T) {
	path := program.Path(t)
	for _, backend := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
		for _, wait := range waits {
			t.Run(backend.String()+"/"+wait, func(t *testing.T) {
				if w, err := aio.New(aio.Options{Backend: backend}); err != nil {
					t.Skipf("needs %v: %v", backend, err)
				} else {
					w.Close()
				}
				p := program.Start(t, path, "-n", "0", "-backend", backend.String(), "-wait", wait)
				var clients sync.WaitGroup
				for i := range 5 {
					c := tls.Client(p.Dial(), &tls.Config{InsecureSkipVerify: true}) // it has made its certificate just now
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

// converse says something three times, resting between, and wants it back.
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

// inPieces sends a few bytes at a time, so that a record's parts come one by one.
type inPieces struct{ net.Conn }

func (c inPieces) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = c.Conn.Write(p[n:min(n+101, len(p))])
		n += more
	}
	return n, err
}

var idle = regexp.MustCompile(`msg=idle connections=100 goroutines=(\d+) rss_bytes_each=-?\d+ heap_bytes_each=\d+ `)

// TestSays runs it with few connections of its own: it says what one holds, and which ones keep a goroutine.
func TestSays(t *testing.T) {
	path := program.Path(t)
	for _, wait := range waits {
		t.Run(wait, func(t *testing.T) {
			out, err := exec.Command(path, "-addr", "127.0.0.1:0", "-n", "100", "-wait", wait).CombinedOutput()
			m := idle.FindSubmatch(out)
			if err != nil || m == nil || !strings.Contains(string(out), "echoes=110") {
				t.Fatalf("%v\n%s", err, out)
			}
			if n, _ := strconv.Atoi(string(m[1])); (n >= 100) != (wait != waitParked) {
				t.Errorf("%d goroutines for 100 connections", n)
			}
		})
	}
}

func TestInterruptedAndRefused(t *testing.T) {
	path := program.Path(t)
	p := program.Start(t, path, "-n", "5000")
	program.Refuses(t, path, 1, "address already in use; choose another address with -addr", "-addr", p.Addr)
	p.Stop(syscall.SIGINT) // with its load under way
	program.Refuses(t, path, 2, "flag provided but not defined: -port", "-port", "7000")
	program.Refuses(t, path, 2, `unexpected argument "7000"`, "7000")
	program.Refuses(t, path, 2, "-wait long: it must be one of parked, goroutine, net", "-wait", "long")
	program.Refuses(t, path, 2, "-n -1: it must be 0 to", "-n", "-1")
	program.Refuses(t, path, 1, "-load: the certificate is not base64", "-load", "?")
	if out, err := exec.Command(path, "-h").CombinedOutput(); err != nil || !strings.Contains(string(out), "-wait how") {
		t.Errorf("-h: %v\n%s", err, out)
	}
}

// TestWaitFails: where WaitIO cannot wait, drive ends with its error.
func TestWaitFails(t *testing.T) {
	occupied.Test(t, func(w *aio.Watcher, _ *aio.Listener) error { return (&service{watcher: w}).drive() })
}
