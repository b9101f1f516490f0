//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/examples/internal/occupied"
	"evenkeel.dev/examples/internal/program"
)

// number returns the number of the next line.
func number(t *testing.T, r *bufio.Reader) int {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if _, err := fmt.Sscan(line, &n); err != nil {
		t.Fatalf("%.40q: %v", line, err)
	}
	return n
}

func TestMain(m *testing.M) { program.Main(m, main) }

func TestPushserver(t *testing.T) {
	path := program.Path(t)
	t.Run("pushes", func(t *testing.T) {
		p := program.Start(t, path, "-every", "10ms", "-backlog", "65536") // whatever the machine does, none is full
		a, b := p.Dial(), p.Dial()
		for _, r := range []*bufio.Reader{bufio.NewReader(a), bufio.NewReader(b)} {
			first := number(t, r)
			for i := 1; i < 10; i++ {
				if n := number(t, r); n != first+i {
					t.Fatalf("line %d follows line %d", n, first+i-1)
				}
			}
		}
		if log := p.Stop(syscall.SIGTERM); !strings.Contains(log, "msg=stopped") || !strings.Contains(log, "dropped=0 disconnected=0") {
			t.Errorf("the log ends so:\n%s", log)
		}
	})
	t.Run("refuses", func(t *testing.T) {
		program.Refuses(t, path, 2, "flag provided but not defined: -port", "-port", "7001")
		program.Refuses(t, path, 2, "-every 0s: it must be a millisecond or more", "-every", "0s")
		program.Refuses(t, path, 2, "-backlog 0: it must be 1 to 65536", "-backlog", "0")
		program.Refuses(t, path, 2, "-size -1: it must be 0 to 1048576", "-size", "-1")
		program.Refuses(t, path, 2, "-slow wait: it must be drop or disconnect", "-slow", "wait")
		program.Refuses(t, path, 2, `no backend "poll"`, "-backend", "poll")
		p := program.Start(t, path)
		program.Refuses(t, path, 1, "address already in use; choose another address with -addr", "-addr", p.Addr)
		p.Stop(syscall.SIGINT)
	})
}

// patience bounds every wait.
const patience = 30 * time.Second

// TestSlowReader: somebody who never reads does not delay the others, and has a bounded backlog.
// It pushes a line when the others have the one before, so none of them is slow.
func TestSlowReader(t *testing.T) {
	const size, backlog = 256 << 10, 8 // the kernel buffers some megabytes of a connection: lines are large
	for _, tt := range []struct {
		name, slow string
		bytes      int64 // MaxQueuedBytes
	}{
		{"drop", "drop", size * backlog},
		{"disconnect", "disconnect", size * backlog},
		{"drop by bytes", "drop", size * backlog / 2},
		{"disconnect by bytes", "disconnect", size * backlog / 2},
	} {
		slow := tt.slow
		t.Run(tt.name, func(t *testing.T) {
			s := settings{size: size, backlog: backlog, slow: slow}
			o := s.options(slog.New(slog.DiscardHandler))
			if o.MaxQueuedBytes != size*backlog {
				t.Errorf("MaxQueuedBytes is %d", o.MaxQueuedBytes)
			}
			o.MaxQueuedBytes = tt.bytes
			p, dial := start(t, s, o)
			never := dial()
			if err := never.SetReadBuffer(64 << 10); err != nil {
				t.Fatal(err)
			}
			readers := []*bufio.Reader{bufio.NewReader(dial()), bufio.NewReader(dial())}
			push := func(line int) {
				t.Helper()
				p.pushLine(time.Now())
				for i, r := range readers {
					if n := number(t, r); n != line {
						t.Fatalf("reader %d: line %d, want %d", i, n, line)
					}
				}
				for int64(p.most())*size > tt.bytes { // what was refused is on its way back
					time.Sleep(time.Millisecond)
				}
			}
			full := 0 // lines that were pushed until the backlog was full
			for p.given() == 0 {
				if full++; full > 1000 {
					t.Fatal("the backlog of who never reads has 1000 lines, and is not full")
				}
				push(full)
			}
			for line := full + 1; line <= full+10; line++ {
				push(line)
			}
			lines := bufio.NewReader(never)
			if slow == "disconnect" {
				if n, err := io.Copy(io.Discard, lines); n > int64(full)*int64(p.size) || err != nil && !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("who never reads got %d bytes of %d lines, and then %v; want its end", n, full, err)
				}
				if n := p.given(); n != 1 {
					t.Errorf("%d were disconnected, want one", n)
				}
				return
			}
			for want := 1; want < full; want++ { // what waited for it
				if n := number(t, lines); n != want {
					t.Fatalf("who never read got line %d, want %d", n, want)
				}
			}
			for !p.idle() {
				time.Sleep(time.Millisecond)
			}
			push(full + 11)
			if n := number(t, lines); n <= full {
				t.Errorf("who never read got line %d, which was pushed when its backlog was full", n)
			}
		})
	}
}

// given returns how often a full backlog had its consequence.
func (p *pusher) given() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped + p.disconnected
}

// most returns how many lines wait for a client at the most.
func (p *pusher) most() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.clients {
		n = max(n, c.waiting)
	}
	return n
}

// idle reports whether no line waits for anybody.
func (p *pusher) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.clients {
		if c.waiting > 0 {
			return false
		}
	}
	return true
}

// start serves without a clock until the test ends. dial connects, and waits until that is known.
func start(t *testing.T, s settings, o aio.Options) (p *pusher, dial func() *net.TCPConn) {
	t.Helper()
	w, err := aio.New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.Listen("tcp", "127.0.0.1:0", aio.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p = &pusher{settings: s, log: o.Logger, clients: map[*client]bool{}}
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := p.serve(w, l); err != aio.ErrWatcherClosed {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		w.Close()
		ended.Wait()
	})
	clients := 0
	return p, func() *net.TCPConn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		for clients++; ; time.Sleep(time.Millisecond) {
			p.mu.Lock()
			n := len(p.clients)
			p.mu.Unlock()
			if n == clients {
				return c.(*net.TCPConn)
			}
		}
	}
}

// TestWaitFails: where WaitIO cannot wait, serve ends with its error.
func TestWaitFails(t *testing.T) {
	occupied.Test(t, func(w *aio.Watcher, l *aio.Listener) error { return new(pusher).serve(w, l) })
}
