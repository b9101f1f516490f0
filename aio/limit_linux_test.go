package aio_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
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
	"evenkeel.dev/internal/leaks"
)

const limitEnv = "EVENKEEL_TEST_LIMIT" // of the child: the backend

// TestDescriptorLimit has a child with few descriptors serve echo to clients in this process, more
// than it can: what it has established works, and the others are told.
func TestDescriptorLimit(t *testing.T) {
	if b := os.Getenv(limitEnv); b != "" {
		if err := serveLimited(b); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, b := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
		t.Run(b.String(), func(t *testing.T) {
			if w, err := aio.New(aio.Options{Backend: b}); err != nil {
				t.Skipf("needs the backend %v: %v", b, err)
			} else {
				_ = w.Close()
			}
			testLimit(t, b)
		})
	}
}

func testLimit(t *testing.T, b aio.Backend) {
	child := child(t, "TestDescriptorLimit", limitEnv+"="+b.String())
	stop, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	defer func() {
		_ = stop.Close()
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "refused ") {
				if strings.HasPrefix(lines.Text(), "refused 0 ") {
					t.Errorf("the child met no limit: %s", lines.Text())
				}
				t.Log(lines.Text())
			}
		}
		if err := child.Wait(); err != nil {
			t.Error("the child:", err)
		}
	}()
	if !lines.Scan() {
		t.Fatal("the child has not said its address")
	}
	at := lines.Text()
	established := 0
	var conns []net.Conn
	for range 120 {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		defer func() { _ = c.Close() }()
	}
	works := make([]bool, len(conns))
	for round := range 3 { // again once others were refused
		for i, c := range conns {
			if round > 0 && !works[i] {
				continue
			}
			ok := echoOnce(c, fmt.Sprintf("%d of %d", i, round))
			if round == 0 && ok {
				works[i] = true
				established++
			} else if round > 0 && !ok {
				t.Errorf("established connection %d was lost", i)
			}
		}
	}
	if established < 20 || established == len(conns) {
		t.Errorf("%d of %d connections were established", established, len(conns))
	}
	t.Logf("%d of %d connections were established", established, len(conns))
	// One that goes makes room for another.
	for i, c := range conns {
		if works[i] {
			_ = c.Close()
		}
	}
	deadline := time.Now().Add(patience)
	for {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		ok := echoOnce(c, "room again")
		_ = c.Close()
		if ok {
			break
		}
		if time.Now().After(deadline) {
			t.Error("connections were closed, and there is no room for another")
			break
		}
	}
}

func echoOnce(c net.Conn, message string) bool {
	_ = c.SetDeadline(time.Now().Add(patience)) // it is echoed, or closed
	if _, err := io.WriteString(c, message); err != nil {
		return false
	}
	buf := make([]byte, len(message))
	_, err := io.ReadFull(c, buf)
	return err == nil && string(buf) == message
}

// serveLimited is the child: it serves until its standard input ends.
func serveLimited(backend string) error {
	var b aio.Backend
	if err := b.UnmarshalText([]byte(backend)); err != nil {
		return err
	}
	w, err := aio.New(aio.Options{Backend: b})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}); err != nil {
		return err
	}
	if _, err := fmt.Println(l.Addr()); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = l.Close()
		_ = w.Close()
	}()
	refused, bad := make(chan int), make(chan error, 1)
	go func() { refused <- acceptLimited(l, w, bad) }()
	err = echoAll(w)
	n := <-refused
	select {
	case err = <-bad:
	default:
	}
	_, _ = fmt.Printf("refused %d connections\n", n)
	return err
}

// acceptLimited attaches what it accepts, and counts what it was refused. bad gets an error that
// does not say that it is the limit.
func acceptLimited(l net.Listener, w *aio.Watcher, bad chan<- error) (refused int) {
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			c, err := w.Attach(conn)
			if err == nil {
				err = c.Read(nil, nil, none)
			}
			if err == nil {
				continue
			}
			_ = conn.Close()
			if err != syscall.EMFILE {
				bad <- err
				return refused
			}
			refused++
		case errors.Is(err, net.ErrClosed):
			return refused
		case errors.Is(err, syscall.EMFILE):
			refused++
			time.Sleep(time.Millisecond)
		default:
			bad <- err
			return refused
		}
	}
}

// echoAll sends back what comes, until the watcher is closed.
func echoAll(w *aio.Watcher) error {
	for {
		results, err := w.WaitIO()
		if err == aio.ErrWatcherClosed {
			return nil
		}
		if err != nil {
			return err
		}
		for _, r := range results {
			switch {
			case r.Error != nil:
				_ = r.Conn.Close()
			case r.Op == aio.OpRead:
				_ = r.Conn.Write(nil, append([]byte(nil), r.Buffer...), none)
			default:
				_ = r.Conn.Read(nil, nil, none)
			}
		}
	}
}

const acceptLimitEnv = "EVENKEEL_TEST_ACCEPT_LIMIT" // of the child: the backend

// TestAcceptLimit: without a descriptor for it a connection waits, and is accepted when there is one.
func TestAcceptLimit(t *testing.T) {
	if name := os.Getenv(acceptLimitEnv); name != "" {
		var b aio.Backend
		must(t, b.UnmarshalText([]byte(name)))
		acceptAtTheLimit(t, b)
		return
	}
	onEach(t, func(t *testing.T, b aio.Backend) {
		_ = open(t, aio.Options{Backend: b}) // or skips
		if out, err := child(t, "TestAcceptLimit", acceptLimitEnv+"="+b.String()).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// acceptAtTheLimit is the child.
func acceptAtTheLimit(t *testing.T, b aio.Backend) {
	const all, room = 20, 5
	var log lockedBuffer
	w := open(t, aio.Options{Backend: b, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	l, err := w.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	for range all {
		dialed(t, l.Addr())
	}
	leaveDescriptors(t, room)
	arrived := make(chan *aio.Conn, all)
	for range all {
		must(t, l.Accept(nil, none))
	}
	pump(t, w, func(r aio.Result) {
		if r.Error == nil {
			arrived <- r.Conn
		} else if r.Error != aio.ErrWatcherClosed {
			t.Errorf("%+v", r)
		}
	})
	eventually(t, "there is no descriptor", func() bool { return w.Stats().AcceptStalls > 2 })
	if n := w.Stats().Accepted; n == 0 || n > room {
		t.Errorf("%d connections were accepted, with room for %d", n, room)
	}
	for range all {
		must(t, (<-arrived).Close())
	}
	if s := w.Stats(); s.Accepted != all || s.Conns != 0 {
		t.Errorf("%+v, want %d connections, and none left", s, all)
	}
	must(t, w.Close())
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings, want one: %s", n, log.String())
	}
}

// leaveDescriptors has this process open n descriptors more at the utmost.
func leaveDescriptors(t *testing.T, n int) {
	t.Helper()
	next, err := syscall.Dup(0)
	must(t, err)
	must(t, syscall.Close(next))
	limit := uint64(next + n)
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: limit}))
}

// lockedBuffer is written by one goroutine and read by another.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestDialPending: where a listener's queue is full Linux drops what asks to connect, so a dial waits. It ends at
// its deadline, and with the watcher, and leaves no descriptor.
func TestDialPending(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		leaks.Test(t)
		w, v := open(t, aio.Options{Backend: b}), open(t, aio.Options{Backend: b})
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		onFd(t, ln.(*net.TCPListener), func(fd int) { must(t, syscall.Listen(fd, 1)) })
		l, err := w.AttachListener(ln)
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

// TestDialAddresses: an unspecified address is this host's, and one over IPv6 is kept in the types of package net.
func TestDialAddresses(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		l, err := w.Listen("tcp", ":0")
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

// TestListenAtTheLimit: the error is package net's if there is a descriptor for the socket, and none for the
// Watcher's duplicate.
func TestListenAtTheLimit(t *testing.T) {
	const env = "AIO_LISTEN_LIMIT"
	if os.Getenv(env) == "" {
		if out, err := child(t, t.Name(), env+"=yes").CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	w := open(t, aio.Options{})
	leaveDescriptors(t, 1)
	_, err := w.Listen("tcp", "127.0.0.1:0")
	var wrapped *net.OpError
	if !errors.As(err, &wrapped) || wrapped.Op != "listen" || wrapped.Net != "tcp" || wrapped.Addr == nil ||
		!errors.Is(err, syscall.EMFILE) {
		t.Errorf("%#v (%v); want a *net.OpError of listen, with its network and address, for EMFILE", err, err)
	}
}
