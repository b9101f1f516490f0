//go:build linux

package aio_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/leaks"
)

// TestDialPending: where a listener's queue is full Linux drops what asks to connect, so a dial waits. It ends at
// its deadline, and with the watcher, and leaves no descriptor.
func TestDialPending(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		leaks.Test(t)
		w, v := open(t, aio.Options{Backend: b}), open(t, aio.Options{Backend: b})
		l, err := w.Listen("tcp", "127.0.0.1:0", aio.ListenOptions{Backlog: 1})
		must(t, err)
		for range 4 {
			must(t, v.Dial("dial", l.Addr(), time.Now().Add(time.Second/5)))
		}
		late := 0
		for _, r := range wait(t, v, 4) {
			switch {
			case r.Op != aio.OpDial || r.Tag != "dial" || (r.Conn == nil) != (r.Error != nil):
				t.Errorf("%+v", r)
			case errors.Is(r.Error, aio.ErrDeadline):
				late++
			case r.Error != nil:
				t.Errorf("%+v", r)
			}
		}
		if s := v.Stats(); late == 0 || s.Conns != 4-late || s.Pending != 0 {
			t.Errorf("%d of 4 were late; %+v", late, s)
		}
		must(t, v.Dial("ends with the watcher", l.Addr(), none))
		must(t, v.Post("begun"))
		_ = wait(t, v, 1)
		must(t, v.Close())
		if r := only(t, v); r.Error != aio.ErrWatcherClosed || r.Conn != nil {
			t.Errorf("%+v, want ErrWatcherClosed", r)
		}
	})
}

// resolvedAddr is an address of a type that package aio does not know.
type resolvedAddr string

func (resolvedAddr) Network() string  { return "tcp" }
func (a resolvedAddr) String() string { return string(a) }

// TestDialAddresses: an unspecified address is this host's, one over IPv6 is kept in the types of package net,
// and one of another type is good if its text is.
func TestDialAddresses(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		l, err := w.Listen("tcp", ":0", aio.ListenOptions{})
		must(t, err)
		if l.Addr().(*net.TCPAddr).IP.To4() != nil {
			t.Skip("needs IPv6")
		}
		port := l.Addr().(*net.TCPAddr).Port
		for _, tt := range []struct {
			to   net.Addr
			want string
		}{
			{&net.TCPAddr{Port: port}, "127.0.0.1"},
			{&net.TCPAddr{IP: net.IPv4zero, Port: port}, "127.0.0.1"},
			{&net.TCPAddr{IP: net.IPv6zero, Port: port}, "::1"},
			{&net.TCPAddr{IP: net.IPv6loopback, Port: port}, "::1"},
			{resolvedAddr(net.JoinHostPort("127.0.0.1", l.Addr().String()[len("[::]:"):])), "127.0.0.1"},
		} {
			must(t, l.Accept(nil, none))
			must(t, w.Dial(nil, tt.to, none))
			for _, r := range wait(t, w, 2) {
				if r.Error != nil {
					t.Fatalf("%v: %+v", tt.to, r)
				}
				if r.Op != aio.OpAccept {
					continue
				}
				if got := r.Conn.RemoteAddr().(*net.TCPAddr); got.IP.String() != tt.want {
					t.Errorf("to %v: it came from %v", tt.to, got)
				}
			}
		}
	})
}
