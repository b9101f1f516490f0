package aio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/testutil"
)

// dialed connects to a listener. The connection is closed when the test ends.
func dialed(t testing.TB, a net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial(a.Network(), a.String())
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// accepted has l accept what has connected.
func accepted(t testing.TB, w *aio.Watcher, l *aio.Listener) *aio.Conn {
	t.Helper()
	must(t, l.Accept("accept", none))
	r := only(t, w)
	if r.Op != aio.OpAccept || r.Tag != "accept" || r.Error != nil || r.Conn == nil {
		t.Fatalf("%+v, want a connection", r)
	}
	return r.Conn
}

// TestListen: each network, with what both ends say of their addresses, which package net decides.
func TestListen(t *testing.T) {
	for _, tt := range []struct{ network, address, local, remote string }{
		{"tcp", "127.0.0.1:0", "127.0.0.1", "127.0.0.1"},
		{"tcp", ":0", "127.0.0.1", "127.0.0.1"},
		{"tcp4", ":0", "127.0.0.1", "127.0.0.1"},
		{"tcp", "[::1]:0", "::1", "::1"},
		{"tcp6", "[::]:0", "::1", "::1"},
		{"unix", filepath.Join(shortDir(t), "s"), "", ""},
		{"unix", fmt.Sprint("@evenkeel-aio-test-", os.Getpid()), "", ""},
	} {
		t.Run(tt.network+" "+strings.Map(nameRune, tt.address), func(t *testing.T) {
			if tt.address[0] == '@' && runtime.GOOS != "linux" {
				t.Skip("needs Linux, which has abstract addresses")
			}
			onEach(t, func(t *testing.T, b aio.Backend) {
				leaks.Test(t)
				w := open(t, aio.Options{Backend: b})
				l, err := w.Listen(tt.network, tt.address)
				if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
					t.Skip("needs IPv6")
				}
				must(t, err)
				at := l.Addr()
				if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
					at = &net.TCPAddr{IP: net.ParseIP(tt.local), Port: tcp.Port}
				}
				for range 2 { // the second finds the address of the first
					there := dialed(t, at)
					c := accepted(t, w, l)
					if c.LocalAddr().Network() != there.RemoteAddr().Network() ||
						c.LocalAddr().String() != there.RemoteAddr().String() {
						t.Errorf("the local address is %v, and %v to the peer", c.LocalAddr(), there.RemoteAddr())
					}
					tcp, ok := c.RemoteAddr().(*net.TCPAddr)
					if ip := c.RemoteAddrPort(); ip.IsValid() != ok || ok && ip.String() != tcp.String() {
						t.Errorf("the remote address is %v, and %v without its type", tcp, ip)
					}
					if ok && tcp.String() != there.LocalAddr().String() {
						t.Errorf("the remote address is %v, and %v to the peer", tcp, there.LocalAddr())
					}
					if c.RemoteAddr().Network() != there.LocalAddr().Network() {
						t.Errorf("the remote address is one of %v", c.RemoteAddr().Network())
					}
					must(t, c.Write(nil, []byte("hello"), none))
					must(t, only(t, w).Error)
					must(t, c.Close())
					if got, err := io.ReadAll(there); string(got) != "hello" || err != nil {
						t.Errorf("%q, %v", got, err)
					}
				}
				must(t, l.Close())
				if tt.network == "unix" && tt.address[0] != '@' {
					if _, err := os.Stat(tt.address); !errors.Is(err, os.ErrNotExist) {
						t.Errorf("the file of the socket is left: %v", err)
					}
				}
			})
		})
	}
}

// nameRune leaves out what go test's -run would take for a level.
func nameRune(r rune) rune {
	if r == '/' {
		return -1
	}
	return r
}

// shortDir returns a directory whose name fits into the address of a unix socket.
func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "aio")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestListenRefused: what cannot be done is said at once, and leaves nothing open.
func TestListenRefused(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		leaks.Test(t)
		w := open(t, aio.Options{Backend: b})
		for _, network := range []string{"udp", "unixgram", "unixpacket", "ip4:1", ""} {
			if l, err := w.Listen(network, filepath.Join(shortDir(t), "s")); l != nil ||
				!errors.As(err, new(*net.OpError)) {
				t.Errorf("network %q: %v, %v", network, l, err)
			}
		}
		used, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer used.Close()
		if l, err := w.Listen("tcp", used.Addr().String()); l != nil ||
			!errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("an address in use: %v, %v", l, err)
		}
		must(t, w.Close())
		if l, err := w.Listen("tcp", "127.0.0.1:0"); l != nil || err != aio.ErrWatcherClosed {
			t.Errorf("a closed watcher: %v, %v", l, err)
		}
	})
}

// TestListenAgain: an address is free when its Listener was closed, though an accept was pending.
// Another process may have taken the port: then it is begun anew, with another one.
func TestListenAgain(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		at := testutil.Loopback() + ":0"
		for n, taken := 0, 0; n < 20; n++ {
			w := open(t, aio.Options{Backend: b})
			l, err := w.Listen("tcp", at)
			if taken < 3 && n > 0 && errors.Is(err, syscall.EADDRINUSE) {
				taken++
				n, at = -1, testutil.Loopback()+":0"
				must(t, w.Close())
				continue
			}
			must(t, err)
			at = l.Addr().String()
			there := dialed(t, l.Addr())
			c := accepted(t, w, l)
			must(t, l.Accept("pending", none))
			must(t, w.Post("begun"))
			must(t, only(t, w).Error)
			must(t, l.Close())
			if r := only(t, w); r.Tag != "pending" || r.Error != aio.ErrClosed || r.Conn != nil {
				t.Errorf("%+v, want ErrClosed", r)
			}
			must(t, there.(*net.TCPConn).SetLinger(0)) // no TIME_WAIT
			must(t, there.Close())
			must(t, c.Close())
			must(t, w.Close())
		}
	})
}

// TestListenUnix: the file of a unix socket goes with the Listener, and with its Watcher.
func TestListenUnix(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		leaks.Test(t)
		for name, end := range map[string]func(*aio.Watcher, *aio.Listener) error{
			"Listener": func(_ *aio.Watcher, l *aio.Listener) error { return l.Close() },
			"Watcher":  func(w *aio.Watcher, _ *aio.Listener) error { return w.Close() },
		} {
			w := open(t, aio.Options{Backend: b})
			at := filepath.Join(shortDir(t), "s")
			l, err := w.Listen("unix", at)
			must(t, err)
			dialed(t, l.Addr())
			_ = accepted(t, w, l)
			must(t, end(w, l))
			if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: the file of the socket is left: %v", name, err)
			}
		}
	})
}

// TestAcceptAllocates: a connection over IPv4 is one allocation, of the Conn; over IPv6 its address is another.
func TestAcceptAllocates(t *testing.T) {
	const all = 400
	onEach(t, func(t *testing.T, b aio.Backend) {
		for _, tt := range []struct {
			at   string
			want float64
		}{{"127.0.0.1:0", 2}, {"[::1]:0", 3}} {
			t.Run(strings.TrimSuffix(tt.at, ":0"), func(t *testing.T) {
				w := open(t, aio.Options{Backend: b})
				l, err := w.Listen("tcp", tt.at)
				if err != nil {
					t.Skip("needs IPv6:", err)
				}
				for range all {
					dialed(t, l.Addr())
				}
				accept := func() {
					if err := l.Accept(nil, none); err != nil {
						t.Fatal(err)
					}
					if r, err := w.WaitIO(); err != nil || len(r) != 1 || r[0].Error != nil {
						t.Fatalf("%v, %v", r, err)
					}
				}
				for range all / 2 {
					accept()
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for range all / 2 {
					accept()
				}
				runtime.ReadMemStats(&after)
				each := float64(after.Mallocs-before.Mallocs) / (all / 2)
				t.Logf("%.2f allocations an accepted connection", each)
				if each > tt.want {
					t.Errorf("%.2f allocations an accepted connection, want %v at the most", each, tt.want)
				}
			})
		}
	})
}

// ends is a slog.Handler that ends in its own way.
type ends struct {
	slog.Handler
	end func()
}

func (ends) Enabled(context.Context, slog.Level) bool    { return true }
func (e ends) Handle(context.Context, slog.Record) error { e.end(); return nil }

// TestLoggerPanics: a Logger that panics, or ends the goroutine, as an accept has to wait, leaves
// the Watcher to the next WaitIO.
func TestLoggerPanics(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		for name, end := range map[string]func(){"panic": func() { panic("the Logger") }, "Goexit": runtime.Goexit} {
			t.Run(name, func(t *testing.T) {
				w := open(t, aio.Options{Backend: b, MaxConns: 1, Logger: slog.New(ends{slog.DiscardHandler, end})})
				l, err := w.Listen("tcp", "127.0.0.1:0")
				must(t, err)
				dialed(t, l.Addr())
				dialed(t, l.Addr())
				first := accepted(t, w, l)
				must(t, l.Accept("second", none))
				var waiting sync.WaitGroup
				returned := false
				waiting.Go(func() {
					defer func() { _ = recover() }()
					_, _ = w.WaitIO()
					returned = true
				})
				waiting.Wait()
				if returned || w.Stats().AcceptStalls == 0 {
					t.Fatalf("the Logger was not called; %+v", w.Stats())
				}
				must(t, first.Close())
				if r := only(t, w); r.Tag != "second" || r.Error != nil {
					t.Errorf("%+v, want the second connection", r)
				}
			})
		}
	})
}

// connecting is how many connects are under way at once: what the kernel's accept queue holds.
const connecting = 1000

// dialAll connects n times and hands each connection to f.
func dialAll(t testing.TB, addr string, n int, f func(net.Conn)) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, n)
	slots := make(chan struct{}, connecting)
	var all sync.WaitGroup
	for i := range conns {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			conns[i] = c
			f(c)
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return conns
}
