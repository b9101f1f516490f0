package aio_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
)

// The tests in this and the next files are named after what gaio's README promises: nine
// features, seven conventions.

// TestFeatureSwapBuffer: a read without a buffer lands in the watcher's, and stays there until
// the next WaitIO.
func TestFeatureSwapBuffer(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		for _, text := range []string{"first", "second", "third"} {
			here, there := attached(t, w)
			_, err := io.WriteString(there, text)
			must(t, err)
			must(t, here.Read(text, nil, none))
		}
		for left := 3; left > 0; {
			results, err := w.WaitIO()
			must(t, err)
			left -= len(results)
			for _, r := range results { // all of one call are valid together
				if got := string(r.Buffer); got != r.Tag || !r.Swap || r.Size != len(got) || cap(r.Buffer) != r.Size ||
					r.Error != nil {
					t.Errorf("%q: size %d, capacity %d, swap %v, error %v; want %q", got, r.Size, cap(r.Buffer), r.Swap,
						r.Error, r.Tag)
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
		here, there := attached(t, w)
		reads := 0
		for total := 0; total < 10*size; reads++ {
			_, err := io.WriteString(there, "tick")
			must(t, err)
			must(t, here.Read(nil, nil, none))
			r := only(t, w)
			if r.Error != nil || !r.Swap {
				t.Fatalf("%+v", r)
			}
			total += r.Size
		}
		if s := w.Stats(); s.SwapFull != 0 {
			t.Errorf("%d of %d reads found the swap buffer full", s.SwapFull, reads)
		}
	})
}

// TestFeatureSwapBufferFull: what does not fit waits for the next WaitIO, and nothing is lost.
func TestFeatureSwapBufferFull(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b, SwapSize: 10})
		here, there := attached(t, w)
		want := []byte("ten bytes.ten bytes.the rest")
		_, err := there.Write(want)
		must(t, err)
		must(t, there.CloseWrite())
		must(t, here.Read(nil, nil, none))
		must(t, here.Read(nil, nil, none))
		var got []byte
		for {
			results, err := w.WaitIO()
			must(t, err)
			for _, r := range results {
				if r.Size > 10 {
					t.Errorf("%d bytes in a swap buffer of 10", r.Size)
				}
				got = append(got, r.Buffer[:r.Size]...)
				if r.Error == io.EOF {
					if !bytes.Equal(got, want) {
						t.Errorf("got %q, want %q", got, want)
					}
					return
				}
				must(t, r.Error)
				must(t, here.Read(nil, nil, none))
			}
		}
	})
}

// TestFeatureSwapBufferFullCostsFewReads: messages of many connections at once, ten times what the
// swap buffer holds, take hardly more reads than there are messages.
func TestFeatureSwapBufferFullCostsFewReads(t *testing.T) {
	const conns, size, swap = 400, 1000, 40_000
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b, SwapSize: swap})
		left := map[*aio.Conn]int{}
		for range conns {
			here, there := attached(t, w)
			_, err := there.Write(make([]byte, size))
			must(t, err)
			must(t, here.Read(nil, nil, none))
			left[here] = size
		}
		reads := 0
		for len(left) > 0 {
			results, err := w.WaitIO()
			must(t, err)
			for _, r := range results {
				must(t, r.Error)
				reads++
				if left[r.Conn] -= r.Size; left[r.Conn] == 0 {
					delete(left, r.Conn)
				} else {
					must(t, r.Conn.Read(nil, nil, none))
				}
			}
		}
		if limit := conns * 3 / 2; reads > limit {
			t.Errorf("%d reads of %d messages, want %d at the most", reads, conns, limit)
		}
		if s := w.Stats(); s.SwapFull == 0 {
			t.Errorf("%d bytes, and the swap buffer of %d was never full: %+v", conns*size, swap, s)
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
				pump(t, w, func(r aio.Result) { echo(r) })
				serve(t, ln, func(c net.Conn) {
					if raw, err := c.(syscall.Conn).SyscallConn(); err != nil || raw.Control(func(uintptr) {}) != nil {
						t.Errorf("RawConn: %v", err)
					}
					hello := make([]byte, len("HELLO\n"))
					if _, err := io.ReadFull(c, hello); err != nil || string(hello) != "HELLO\n" {
						t.Errorf("handshake: %q, %v", hello, err)
					}
					_, _ = io.WriteString(c, "WELCOME\n")
					echoes(w, c, 64) // in mid-stream
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
// that it can set, until it is attached, and no longer.
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
			t.Errorf("%d connections before Attach", n)
		}
		must(t, attach(t, w, theirs).Write(nil, []byte("attached"), none))
		if n := w.Stats().Conns; n != 1 {
			t.Errorf("%d connections attached, want 1", n)
		}
		must(t, only(t, w).Error)
		_, err := io.WriteString(mine, "ordinary!")
		must(t, err)
		for c, want := range map[net.Conn]string{peer: "ordinary!", other: "attached"} {
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
	here := map[aio.Backend]bool{aio.BackendAuto: true}
	for _, b := range aiosuite.Backends() {
		here[b] = true
	}
	for name, want := range map[string]aio.Backend{
		"auto": aio.BackendAuto, "io_uring": aio.BackendIOUring,
		"epoll": aio.BackendEpoll, "kqueue": aio.BackendKqueue,
	} {
		var b aio.Backend
		err := b.UnmarshalText([]byte(name))
		text, err2 := b.MarshalText()
		if err != nil || err2 != nil || b != want || b.String() != name || string(text) != name {
			t.Errorf("%q: %v, %v; back to %q, %v", name, b, err, text, err2)
		}
		w, err := aio.New(aio.Options{Backend: b})
		switch {
		case err == nil:
			if got := w.Stats().Backend; b != aio.BackendAuto && got != name || !here[b] {
				t.Errorf("%v opened %s", b, got)
			}
			w.Close()
		case !errors.Is(err, errors.ErrUnsupported), !strings.Contains(err.Error(), " is not available here: "):
			t.Errorf("%v: %v", b, err)
		case b == aio.BackendAuto:
			t.Errorf("no backend here: %v", err)
		}
	}
	b := aio.BackendEpoll
	if err := b.UnmarshalText([]byte("iocp")); b != aio.BackendEpoll || err == nil ||
		err.Error() != `aio: "iocp" is not a backend: write auto, io_uring, epoll or kqueue` {
		t.Errorf("iocp: %v, %v", b, err)
	}
	if text, err := aio.Backend(9).MarshalText(); err == nil {
		t.Errorf("a backend of no name: %q", text)
	}
	for name, op := range map[string]aio.Op{"read": aio.OpRead, "write": aio.OpWrite, "dial": aio.OpDial} {
		if op.String() != name {
			t.Errorf("%v, want %s", op, name)
		}
	}
}

// TestOptionsRefused: each field that has a limit says it.
func TestOptionsRefused(t *testing.T) {
	for option, o := range map[string]aio.Options{
		"SwapSize": {SwapSize: -1}, "MaxQueued": {MaxQueued: 1<<20 + 1}, "MaxEvents": {MaxEvents: 1},
		"Backend": {Backend: 9},
	} {
		var refused *evenkeel.OptionError
		w, err := aio.New(o)
		if w != nil || !errors.As(err, &refused) || refused.Option != option ||
			!strings.HasPrefix(err.Error(), "aio.Options."+option+": ") {
			t.Errorf("%s: %v", option, err)
		}
	}
}

// TestMaxEvents: of many messages that have come WaitIO reads no more at a time.
func TestMaxEvents(t *testing.T) {
	const conns, most = 10, 3
	w, err := aio.New(aio.Options{Backend: aio.BackendEpoll, MaxEvents: most})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	must(t, err)
	aiosuite.CloseAtEnd(t, w)
	var peers []net.Conn
	for range conns {
		conn, there := attached(t, w)
		must(t, conn.Read(nil, make([]byte, 1), none))
		peers = append(peers, there)
	}
	must(t, w.Post(nil)) // returned by a turn that finds nothing to read
	only(t, w)
	for _, there := range peers {
		_, err := there.Write([]byte("x"))
		must(t, err)
	}
	for left := conns; left > 0; {
		results, err := w.WaitIO()
		if err != nil || len(results) > most {
			t.Fatalf("%d results at once, %v: want %d at the utmost", len(results), err, most)
		}
		left -= len(results)
	}
}
