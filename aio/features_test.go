package aio_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// The tests in this and the next files are named after what gaio's README promises: nine
// features, seven conventions.

// TestFeatureSwapBuffer: a read without a buffer lands in the watcher's, and stays there until
// the next WaitIO.
func TestFeatureSwapBuffer(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		for _, text := range []string{"first", "second", "third"} {
			here, there := pair(t)
			_, err := io.WriteString(there, text)
			must(t, err)
			must(t, w.Read(text, here, nil))
		}
		for left := 3; left > 0; {
			results, err := w.WaitIO()
			must(t, err)
			left -= len(results)
			for _, r := range results { // all of one call are valid together
				if got := string(r.Buffer); got != r.Context || !r.IsSwapBuffer || r.Size != len(got) || cap(r.Buffer) != r.Size || r.Error != nil {
					t.Errorf("%q: size %d, capacity %d, swap %v, error %v; want %q", got, r.Size, cap(r.Buffer), r.IsSwapBuffer, r.Error, r.Context)
				}
			}
		}
	})
}

// TestFeatureSwapBufferIsUsedAnew: ten times its size goes through it, and never finds it full.
func TestFeatureSwapBufferIsUsedAnew(t *testing.T) {
	const size = 1 << 10
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b, SwapSize: size})
		here, there := pair(t)
		reads := 0
		for total := 0; total < 10*size; reads++ {
			_, err := io.WriteString(there, "tick")
			must(t, err)
			must(t, w.Read(nil, here, nil))
			r := only(t, w)
			if r.Error != nil || !r.IsSwapBuffer {
				t.Fatalf("%+v", r)
			}
			total += r.Size
		}
		if s := w.Stats(); s.SwapFull != 0 {
			t.Errorf("%d of %d reads found the swap buffer full", s.SwapFull, reads)
		}
	})
}

// TestFeatureSwapBufferFull: what does not fit comes in pieces of 16 bytes, and nothing is lost.
func TestFeatureSwapBufferFull(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b, SwapSize: 10})
		here, there := pair(t)
		want := []byte("ten bytes.sixteen bytes ..the rest")
		_, err := there.Write(want)
		must(t, err)
		must(t, there.CloseWrite())
		must(t, w.Read(nil, here, nil))
		must(t, w.Read(nil, here, nil))
		var got []byte
		for {
			results, err := w.WaitIO()
			must(t, err)
			for _, r := range results {
				if r.Size > 16 || r.IsSwapBuffer && r.Size > 10 {
					t.Errorf("%d bytes, swap %v", r.Size, r.IsSwapBuffer)
				}
				got = append(got, r.Buffer[:r.Size]...)
				if r.Error == io.EOF {
					if !bytes.Equal(got, want) {
						t.Errorf("got %q, want %q", got, want)
					}
					return
				}
				must(t, r.Error)
				must(t, w.Read(nil, here, nil))
			}
		}
	})
}

// TestFeatureNonIntrusive: an ordinary net.Listener and net.Conn, with a RawConn of its own and
// an ordinary handshake before; what the peer sent on meanwhile is not lost.
func TestFeatureNonIntrusive(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		for _, network := range []string{"tcp", "unix"} {
			t.Run(network, func(t *testing.T) {
				address := "127.0.0.1:0"
				if network == "unix" {
					address = filepath.Join(t.TempDir(), "s")
				}
				ln, err := net.Listen(network, address)
				must(t, err)
				w := open(t, aio.Options{Backend: b})
				pump(t, w, func(r aio.OpResult) { echo(w, r) })
				serve(t, ln, func(c net.Conn) {
					if raw, err := c.(syscall.Conn).SyscallConn(); err != nil || raw.Control(func(uintptr) {}) != nil {
						t.Errorf("RawConn: %v", err)
					}
					hello := make([]byte, len("HELLO\n"))
					if _, err := io.ReadFull(c, hello); err != nil || string(hello) != "HELLO\n" {
						t.Errorf("handshake: %q, %v", hello, err)
					}
					_, _ = io.WriteString(c, "WELCOME\n")
					if err := w.Read(nil, c, make([]byte, 64)); err != nil { // in mid-stream
						t.Error(err)
					}
				})
				c, err := net.Dial(network, ln.Addr().String())
				must(t, err)
				defer c.Close()
				must(t, c.SetDeadline(time.Now().Add(patience)))
				_, err = io.WriteString(c, "HELLO\nearly\n")
				must(t, err)
				lines := bufio.NewScanner(c)
				for _, want := range []string{"WELCOME", "early"} {
					if !lines.Scan() || lines.Text() != want {
						t.Fatalf("got %q, %v; want %q", lines.Text(), lines.Err(), want)
					}
				}
			})
		}
	})
}

// TestFeatureDelegationWhenTheApplicationDecides: a connection is the application's, with all
// that it can set, until the first operation, and no longer.
func TestFeatureDelegationWhenTheApplicationDecides(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		mine, peer := pair(t)
		theirs, other := pair(t)
		for _, c := range []*net.TCPConn{mine, theirs} {
			must(t, c.SetNoDelay(false))
			must(t, c.SetDeadline(time.Now().Add(patience)))
		}
		if n := w.Stats().Conns; n != 0 {
			t.Errorf("%d connections delegated before an operation", n)
		}
		must(t, w.Write(nil, theirs, []byte("delegated")))
		if n := w.Stats().Conns; n != 1 {
			t.Errorf("%d connections delegated, want 1", n)
		}
		must(t, only(t, w).Error)
		_, err := io.WriteString(mine, "ordinary!")
		must(t, err)
		for c, want := range map[net.Conn]string{peer: "ordinary!", other: "delegated"} {
			got := make([]byte, len(want))
			if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
		}
	})
}

// TestFeatureLinuxAndBSD: each backend has its name, which the command lines of programs use, and
// a foreign one says what it needs.
func TestFeatureLinuxAndBSD(t *testing.T) {
	here := map[aio.Backend]bool{aio.Auto: true}
	for _, b := range backends() {
		here[b] = true
	}
	for name, want := range map[string]aio.Backend{"auto": aio.Auto, "io_uring": aio.IOUring, "epoll": aio.Epoll, "kqueue": aio.Kqueue} {
		b, err := aio.ParseBackend(name)
		if err != nil || b != want || b.String() != name {
			t.Errorf("ParseBackend(%q) = %v, %v", name, b, err)
		}
		w, err := aio.New(aio.Options{Backend: b})
		var unsupported *aio.UnsupportedError
		switch {
		case err == nil:
			if got := w.Stats().Backend; b != aio.Auto && got != name || !here[b] {
				t.Errorf("%v opened %s", b, got)
			}
			w.Close()
		case !errors.As(err, &unsupported), !errors.Is(err, errors.ErrUnsupported), unsupported.Feature == "", unsupported.Need == "":
			t.Errorf("%v: %v", b, err)
		case b == aio.Auto:
			t.Errorf("no backend here: %v", err)
		}
	}
	if _, err := aio.ParseBackend("iocp"); err == nil {
		t.Error("iocp is a backend")
	}
}
