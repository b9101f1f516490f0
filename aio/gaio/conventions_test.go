package gaio_test

import (
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/gaio"
)

// TestConventionDelegated: after the first operation the watcher owns the descriptor, and the
// connection's own methods say so.
func TestConventionDelegated(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		here, there := pair(t)
		local, remote := here.LocalAddr().String(), here.RemoteAddr().String()
		must(t, w.Read(nil, here, make([]byte, 1)))
		for name, call := range map[string]func() error{
			"Read":        func() error { _, err := here.Read(make([]byte, 1)); return err },
			"Write":       func() error { _, err := here.Write([]byte("x")); return err },
			"SetNoDelay":  func() error { return here.SetNoDelay(true) },
			"SetDeadline": func() error { return here.SetDeadline(time.Now()) },
			"Close":       here.Close,
		} {
			if err := call(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: %v, want %v", name, err, net.ErrClosed)
			}
		}
		if l, r := here.LocalAddr().String(), here.RemoteAddr().String(); l != local || r != remote {
			t.Errorf("addresses %s, %s became %s, %s", local, remote, l, r)
		}
		_, err := there.Write([]byte("x"))
		must(t, err)
		if r := only(t, w); r.Error != nil || string(r.Buffer) != "x" { // none of it did harm
			t.Errorf("%q, %v", r.Buffer, r.Error)
		}
	})
}

// TestConventionFree: Free closes at once, delegated or not, and again without harm.
func TestConventionFree(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		here, there := pair(t)
		must(t, w.Read("read", here, make([]byte, 1)))
		must(t, w.Free(here))
		if !ended(there) {
			t.Error("the peer does not see the end")
		}
		if r := only(t, w); r.Error != io.ErrClosedPipe || r.Context != "read" || r.Conn != here {
			t.Errorf("%+v, want %v", r, io.ErrClosedPipe)
		}
		must(t, w.Free(here))

		never, peer := pair(t)
		must(t, w.Free(never))
		if !ended(peer) {
			t.Error("freed before it was delegated: the peer does not see the end")
		}
		must(t, w.Read(nil, never, make([]byte, 1)))
		if r := only(t, w); r.Error != gaio.ErrConnClosed {
			t.Errorf("a read after Free: %v, want %v", r.Error, gaio.ErrConnClosed)
		}
		if n := w.Stats().Conns; n != 0 {
			t.Errorf("%d connections left", n)
		}
	})
}

// forgotten makes a connection and hands it to use; nothing of the test refers to it when it
// returns its peer.
func forgotten(t *testing.T, use func(net.Conn)) net.Conn {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	there, err := net.Dial("tcp", ln.Addr().String())
	must(t, err)
	t.Cleanup(func() { there.Close() })
	must(t, there.SetDeadline(time.Now().Add(patience)))
	here, err := ln.Accept()
	must(t, err)
	use(here)
	return there
}

// TestConventionForgottenConnIsCollected: the garbage collector frees a connection that was
// delegated and then forgotten; one with an operation pending is not forgotten.
func TestConventionForgottenConnIsCollected(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		const conns = 20
		var peers []net.Conn
		for range conns {
			there := forgotten(t, func(c net.Conn) {
				must(t, w.Write(nil, c, []byte("x")))
				must(t, only(t, w).Error)
			})
			_, err := io.ReadFull(there, make([]byte, 1))
			must(t, err)
			peers = append(peers, there)
		}
		peer := forgotten(t, func(c net.Conn) { must(t, w.Read("still here", c, make([]byte, 1))) })
		done := make(chan gaio.OpResult)
		go func() { // also forgets the last results
			results, err := w.WaitIO()
			if err != nil {
				t.Error(err)
				results = make([]gaio.OpResult, 1)
			}
			done <- results[0]
		}()
		eventually(t, "all are collected", func() bool {
			runtime.GC()
			found, closed := w.GetGC()
			return found == conns && closed == conns
		})
		for _, p := range peers {
			if !ended(p) {
				t.Error("the peer of a collected connection does not see the end")
			}
		}
		if n := w.Stats().Conns; n != 1 {
			t.Errorf("%d connections left, want the one with a read pending", n)
		}
		_, err := peer.Write([]byte("x"))
		must(t, err)
		if r := <-done; r.Context != "still here" || r.Error != nil {
			t.Errorf("the pending read: %+v", r)
		}
	})
}

// TestConventionForgottenWatcherIsCollected: with its descriptors, pending operations or not.
func TestConventionForgottenWatcherIsCollected(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		here, there := pair(t)
		func() {
			inner, err := aio.New(aio.Options{Backend: b})
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skipf("needs %v: %v", b, err)
			}
			must(t, err)
			w := gaio.Over(inner)
			must(t, w.Write(nil, here, []byte("x")))
			must(t, only(t, w).Error)
			must(t, w.Read(nil, here, make([]byte, 1))) // for ever
		}()
		must(t, there.SetReadDeadline(time.Now().Add(patience)))
		_, err := there.Read(make([]byte, 1))
		must(t, err)
		end := make(chan bool)
		go func() { end <- ended(there) }()
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case ok := <-end:
				if !ok {
					t.Error("the peer of a forgotten watcher does not see the end")
				}
				tick.Stop()
				return
			case <-tick.C:
				runtime.GC()
			}
		}
	})
}

// TestConventionSafeReadBuffers: a slice of the swap buffer ends where its data does, so an append
// to it cannot reach its neighbour's.
func TestConventionSafeReadBuffers(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		for _, text := range []string{"left.", "right"} {
			here, there := pair(t)
			_, err := io.WriteString(there, text)
			must(t, err)
			must(t, w.Read(text, here, nil))
		}
		for left := 2; left > 0; {
			results, err := w.WaitIO()
			must(t, err)
			left -= len(results)
			for _, r := range results {
				_ = append(r.Buffer, "overwritten"...)
			}
			for _, r := range results {
				if string(r.Buffer) != r.Context {
					t.Errorf("%q, want %q", r.Buffer, r.Context)
				}
			}
		}
	})
}

// TestConventionManyQueued: a program may submit more than it takes back, by far.
func TestConventionManyQueued(t *testing.T) {
	const writes = 5000
	w, err := gaio.NewWatcher()
	must(t, err)
	defer w.Close()
	here, there := pair(t)
	got := make(chan []byte)
	go func() {
		data, _ := io.ReadAll(there)
		got <- data
	}()
	for i := range writes {
		must(t, w.Write(i, here, []byte{byte(i), byte(i >> 8)}))
	}
	for i, r := range wait(t, w, writes) {
		if r.Context != i || r.Error != nil || r.Size != 2 {
			t.Fatalf("write %d: %+v", i, r)
		}
	}
	must(t, w.Free(here))
	for i, data := 0, <-got; i < writes; i++ {
		if len(data) != 2*writes || data[2*i] != byte(i) || data[2*i+1] != byte(i>>8) {
			t.Fatalf("the peer got %d bytes, and at write %d others", len(data), i)
		}
	}
}
