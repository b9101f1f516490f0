package gaio_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/gaio"
	"evenkeel.dev/aio/internal/sys"
)

// option is a socket option as getsockopt reads it.
type option struct {
	name         string
	level, which int
}

var options = []option{
	{"TCP_NODELAY", syscall.IPPROTO_TCP, syscall.TCP_NODELAY},
	{"SO_KEEPALIVE", syscall.SOL_SOCKET, syscall.SO_KEEPALIVE},
	{"TCP_KEEPIDLE", syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE},
	{"SO_RCVBUF", syscall.SOL_SOCKET, syscall.SO_RCVBUF},
	{"SO_SNDBUF", syscall.SOL_SOCKET, syscall.SO_SNDBUF},
	{"SO_LINGER", syscall.SOL_SOCKET, syscall.SO_LINGER},
}

func (o option) get(t *testing.T, fd int) int {
	t.Helper()
	v, err := syscall.GetsockoptInt(fd, o.level, o.which)
	if err != nil {
		t.Fatal(o.name, err)
	}
	return v
}

// descriptorOf returns the descriptor in this process that is the end of a connection from local
// to remote.
func descriptorOf(t *testing.T, local, remote net.Addr) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	for _, e := range entries {
		fd, _ := strconv.Atoi(e.Name())
		name, err := syscall.Getsockname(fd)
		peer, err2 := syscall.Getpeername(fd)
		if err == nil && err2 == nil && port(name) == local.(*net.TCPAddr).Port &&
			port(peer) == remote.(*net.TCPAddr).Port {
			return fd
		}
	}
	t.Fatal("the delegated connection has no descriptor")
	return -1
}

func port(a syscall.Sockaddr) int {
	if in, ok := a.(*syscall.SockaddrInet4); ok {
		return in.Port
	}
	return -1
}

// TestConventionSocketOptionsInherited: what was set before the delegation holds after it, on the
// descriptor that the watcher has.
func TestConventionSocketOptionsInherited(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		here, there := pair(t)
		must(t, here.SetNoDelay(false)) // all of these differ from the defaults
		must(t, here.SetKeepAlive(true))
		must(t, here.SetKeepAlivePeriod(77*time.Second))
		must(t, here.SetReadBuffer(20_000))
		must(t, here.SetWriteBuffer(30_000))
		must(t, here.SetLinger(5))
		raw, err := here.SyscallConn()
		must(t, err)
		want := map[string]int{}
		must(t, raw.Control(func(fd uintptr) {
			for _, o := range options {
				want[o.name] = o.get(t, int(fd))
			}
		}))
		if want["TCP_NODELAY"] != 0 || want["TCP_KEEPIDLE"] != 77 || want["SO_RCVBUF"] != 40_000 ||
			want["SO_SNDBUF"] != 60_000 || want["SO_LINGER"] != 1 {
			t.Errorf("set: %v", want)
		}
		local, remote := here.LocalAddr(), here.RemoteAddr()
		must(t, w.Read(nil, here, make([]byte, 1)))
		fd := descriptorOf(t, local, remote)
		for _, o := range options {
			if got := o.get(t, fd); got != want[o.name] {
				t.Errorf("%s is %d after the delegation, %d before", o.name, got, want[o.name])
			}
		}
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if errno != 0 || flags&syscall.FD_CLOEXEC == 0 {
			t.Errorf("children inherit the descriptor: flags %#x, %v", flags, errno)
		}
		_, err = there.Write([]byte("x"))
		must(t, err)
		must(t, only(t, w).Error)
	})
}

// TestConventionReusePort: several listeners with SO_REUSEPORT on one address, each with a Watcher
// of its own; the kernel spreads the connections.
func TestConventionReusePort(t *testing.T) {
	const soReusePort = 15 // asm-generic/socket.h; package syscall does not have it everywhere
	const listeners, conns = 2, 64
	onEach(t, func(t *testing.T, b aio.Backend) {
		lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
			var err error
			if e := c.Control(func(fd uintptr) {
				err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, soReusePort, 1)
			}); e != nil {
				return e
			}
			return err
		}}
		address := "127.0.0.1:0"
		var all []*gaio.Watcher
		for range listeners {
			ln, err := lc.Listen(context.Background(), "tcp", address)
			must(t, err)
			address = ln.Addr().String()
			w := open(t, aio.Options{Backend: b})
			pump(t, w, func(r gaio.OpResult) { echo(w, r) })
			serve(t, ln, func(c net.Conn) { _ = w.Read(nil, c, make([]byte, 64)) })
			all = append(all, w)
		}
		for range conns {
			c, err := net.Dial("tcp", address)
			must(t, err)
			defer c.Close()
			answered(t, c, "hello")
		}
		sum := 0
		for i, w := range all {
			n := w.Stats().Conns
			sum += n
			if n == 0 { // by chance: once in 2^63
				t.Errorf("listener %d got none of %d connections", i, conns)
			}
		}
		if sum != conns {
			t.Errorf("%d connections, want %d", sum, conns)
		}
	})
}

// cpus returns the numbers of the CPUs that this process may run on.
func cpus(t *testing.T) (all []int) {
	t.Helper()
	for cpu := range 1024 {
		may, err := sys.MayRunOn(cpu)
		must(t, err)
		if may {
			all = append(all, cpu)
		}
	}
	return all
}

// TestGaioAffinity: both calls bind the thread of the goroutine in WaitIO, to each CPU that there
// is and to no other.
func TestGaioAffinity(t *testing.T) {
	allowed := cpus(t)
	for name, set := range map[string]func(*gaio.Watcher, int) error{
		"SetLoopAffinity":   (*gaio.Watcher).SetLoopAffinity,
		"SetPollerAffinity": (*gaio.Watcher).SetPollerAffinity,
	} {
		w := open(t, aio.Options{})
		here, _ := pair(t)
		for _, cpu := range allowed {
			must(t, set(w, cpu))
			must(t, w.Write(nil, here, []byte("x")))
			if got := boundTo(t, w); got != strconv.Itoa(cpu) {
				t.Errorf("%s(%d): the thread may run on %s", name, cpu, got)
			}
		}
		for cpu := range allowed[len(allowed)-1] + 2 { // the gaps, and the one after the last
			if err := set(w, cpu); (err == nil) != slices.Contains(allowed, cpu) || err != nil && err != gaio.ErrCPUID {
				t.Errorf("%s(%d), may run on %v: %v", name, cpu, allowed, err)
			}
		}
	}
}

// boundTo has a goroutine wait for one result, and returns the CPUs that its thread may run on.
// The thread ends with the goroutine, since that is locked to it.
func boundTo(t *testing.T, w *gaio.Watcher) string {
	t.Helper()
	list := make(chan string)
	go func() {
		_, err := w.WaitIO()
		text, err2 := os.ReadFile("/proc/thread-self/status")
		if err := errors.Join(err, err2); err != nil {
			t.Error(err)
		}
		_, after, _ := strings.Cut(string(text), "Cpus_allowed_list:")
		line, _, _ := strings.Cut(after, "\n")
		list <- strings.TrimSpace(line)
	}()
	return <-list
}

// TestAffinityOfTheLastCPU runs the test above in a child that may run on the last CPU alone, as
// under taskset: there its number is beyond the count.
func TestAffinityOfTheLastCPU(t *testing.T) {
	allowed := cpus(t)
	last := allowed[len(allowed)-1]
	if last == 0 {
		t.Skip("needs a CPU whose number is not 0: this process may run on CPU 0 only")
	}
	child := child(t, "TestGaioAffinity")
	child.Args = append(child.Args, "-test.v")
	ended := make(chan error)
	go func() { // the child inherits the affinity of the thread, which ends with the goroutine
		runtime.LockOSThread()
		if err := sys.SetAffinity(last); err != nil {
			ended <- err
			return
		}
		out, err := child.CombinedOutput()
		if err == nil && !strings.Contains(string(out), "--- PASS: TestGaioAffinity") {
			err = errors.New("the child has run no test")
		}
		if err != nil {
			t.Logf("the child, on CPU %d only:\n%s", last, out)
		}
		ended <- err
	}()
	must(t, <-ended)
}

// TestConventionMessagesWhole: a read without a buffer returns what has come, and does not end where a part of
// the swap buffer does.
func TestConventionMessagesWhole(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		here, there := pair(t)
		fd, err := sys.Dup(here)
		must(t, err)
		t.Cleanup(func() { sys.Close(fd) })
		for _, size := range []int{100, 1000, 4000, 8000, 30_000} {
			short := 0
			for i := range 200 {
				data := bytes.Repeat([]byte{byte(i), byte(i >> 1), 7}, size)[:size]
				_, err := there.Write(data)
				must(t, err)
				eventually(t, "all has come", func() bool { return sys.Unread(fd) == size })
				must(t, w.Read(nil, here, nil))
				r := only(t, w)
				if r.Error != nil || !r.IsSwapBuffer || !bytes.HasPrefix(data, r.Buffer) {
					t.Fatalf("%d bytes: read %d, %v, swap %t", size, r.Size, r.Error, r.IsSwapBuffer)
				}
				if r.Size == size {
					continue
				}
				short++
				rest := make([]byte, size-r.Size)
				must(t, w.ReadFull(nil, here, rest, time.Time{}))
				must(t, only(t, w).Error)
			}
			if short > 0 {
				t.Errorf("%d bytes: %d of 200 reads ended short", size, short)
			}
		}
	})
}
