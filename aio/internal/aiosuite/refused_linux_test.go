package aiosuite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// refusals says what becomes of a Watcher of each backend where the kernel refuses some system calls:
// "served", with the backend that did, or what the error has to name.
var refusals = []struct {
	calls              string
	auto, uring, epoll string
}{
	{"", "io_uring served", "io_uring served", "epoll served"},
	// Docker's default profile
	{"io_uring_setup,io_uring_enter,io_uring_register", "epoll served", "io_uring_setup", "epoll served"},
	{"io_uring_setup", "epoll served", "io_uring_setup", "epoll served"},
	{"io_uring_enter", "epoll served", "io_uring_enter(2)", "epoll served"},
	{"io_uring_register", "io_uring served", "io_uring served", "epoll served"},
	{"mmap: shared", "epoll served", "mmap(2)", "epoll served"},
	{"eventfd2", "eventfd2(2)", "eventfd2(2)", "eventfd2(2)"},
	{"epoll_create1", "epoll_create1(2)", "epoll_create1(2)", "epoll_create1(2)"},
	{"epoll_ctl", "epoll_ctl(2)", "epoll_ctl(2)", "epoll_ctl(2)"},
	{"epoll_pwait", "netpoll failed", "", ""},                       // it ends every Go program
	{"socketpair", "epoll served", "socketpair(2)", "epoll served"}, // with which the ring is tried
	{"accept4", "Result.Error of an accept", "Result.Error of an accept", "Result.Error of an accept"},
	{"getsockopt", "io_uring served", "io_uring served", "epoll served"},
	{"setsockopt", "io_uring served", "io_uring served", "epoll served"},
	{"ioctl", "io_uring served", "io_uring served", "epoll served"},
	{"recvfrom", "io_uring served", "io_uring served", "Result.Error"},
	{"sendto", "io_uring served", "io_uring served", "Result.Error"},
	{"sendmsg", "io_uring served", "io_uring served", "Result.Error of a write"}, // a Writev's
}

// TestRefused: what a container's filter refuses is done without, or named by New with what to do, or
// by a Result. Nothing hangs, and BackendAuto takes io_uring only where it serves.
func TestRefused(t *testing.T) {
	if calls := os.Getenv("AIO_REFUSE"); calls != "" {
		refused(t, strings.TrimPrefix(calls, "no "))
		return
	}
	if w, err := aio.New(aio.Options{Backend: aio.BackendIOUring}); err != nil {
		t.Skip("needs io_uring:", err)
	} else {
		Must(t, w.Close())
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	Must(t, err)
	var major, minor int
	_, err = fmt.Sscanf(string(release), "%d.%d", &major, &minor)
	Must(t, err)
	for _, errno := range []syscall.Errno{syscall.EPERM, syscall.ENOSYS} {
		for _, tt := range refusals {
			if tt.calls == "recvfrom" && (major < 6 || major == 6 && minor < 12) {
				tt.auto, tt.uring = "Result.Error of a read", "Result.Error of a read" // without buffers of the ring's
			}
			t.Run(fmt.Sprintf("%v/%s", errno, tt.calls), func(t *testing.T) {
				c := Child(t, "TestRefused", "AIO_REFUSE=no "+tt.calls, fmt.Sprintf("AIO_ERRNO=%d", errno))
				c.Args = append(c.Args, "-test.v")
				out, _ := c.CombinedOutput()
				said := map[string]string{}
				for line := range strings.Lines(string(out)) {
					if backend, what, ok := strings.Cut(strings.TrimSpace(line), " => "); ok {
						said[backend] = what
					}
				}
				if said["skip"] != "" {
					t.Skip("needs", said["skip"])
				}
				if tt.uring == "" {
					if !strings.Contains(string(out), tt.auto) {
						t.Errorf("it does not say %q:\n%s", tt.auto, out)
					}
					return
				}
				for backend, want := range map[string]string{"auto": tt.auto, "io_uring": tt.uring, "epoll": tt.epoll} {
					got := said[backend]
					if !strings.Contains(got, want) {
						t.Errorf("%s: %q, want %q", backend, got, want)
					}
					if strings.HasPrefix(got, "New: ") && !(strings.Contains(got, "have it allow") &&
						strings.Contains(got, "not available here")) {
						t.Errorf("%s: %q does not say what to do", backend, got)
					}
				}
				if fell := strings.Contains(said["log"],
					"using epoll instead of io_uring"); fell != (tt.auto == "epoll served") {
					t.Errorf("BackendAuto's log: %q", said["log"])
				}
				if t.Failed() {
					t.Logf("%s", out)
				}
			})
		}
	}
}

// refused is the child: it has calls refused, and says what each backend does.
func refused(t *testing.T, calls string) {
	var errno syscall.Errno
	_, err := fmt.Sscan(os.Getenv("AIO_ERRNO"), (*uintptr)(&errno))
	Must(t, err)
	backends := []aio.Backend{aio.BackendAuto, aio.BackendIOUring, aio.BackendEpoll}
	var listeners [3]net.Listener
	var peers [3]net.Conn
	for i := range listeners {
		listeners[i], peers[i] = called(t)
	}
	if err := refuseAll(t, errno, calls); err != nil {
		fmt.Println("skip =>", err)
		return
	}
	var log bytes.Buffer
	for i, b := range backends {
		fmt.Println(b, "=>", servedBy(b, listeners[i], peers[i], slog.New(slog.NewTextHandler(&log, nil))))
	}
	fmt.Println("log =>", log.String())
}

// alone reports true in a process of its own, which runs the test then; the caller has no more to do.
func alone(t *testing.T, env string) bool {
	if os.Getenv(env) != "" {
		return true
	}
	c := Child(t, t.Name(), env+"=yes")
	c.Args = append(c.Args, "-test.v")
	out, err := c.CombinedOutput()
	if err == nil && strings.Contains(string(out), "--- SKIP") {
		t.Skipf("in a process of its own:\n%s", out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// TestDialFamilyRefused: a family of addresses that the system does not have is no fault of the address.
func TestDialFamilyRefused(t *testing.T) {
	if !alone(t, "AIO_NO_SOCKET") {
		return
	}
	var watchers []*aio.Watcher
	for _, b := range Backends() {
		if w, err := aio.New(aio.Options{Backend: b}); err == nil {
			CloseAtEnd(t, w)
			watchers = append(watchers, w)
		}
	}
	if err := refuseAll(t, syscall.EAFNOSUPPORT, "socket"); err != nil {
		t.Skip("needs", err)
	}
	for _, w := range watchers {
		Must(t, w.Dial(nil, &net.TCPAddr{IP: net.IPv6loopback, Port: 1}, aio.NoDeadline))
		if results, err := w.WaitIO(); err != nil || len(results) != 1 || results[0].Error != syscall.EAFNOSUPPORT {
			t.Errorf("%s: %+v, %v; want %v", w.Stats().Backend, results, err, syscall.EAFNOSUPPORT)
		}
	}
}

// called returns a listener and a peer that has connected to it.
func called(t *testing.T) (net.Listener, net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	peer, err := net.Dial("tcp", ln.Addr().String())
	Must(t, err)
	Must(t, peer.SetDeadline(time.Now().Add(Patience)))
	return ln, peer
}

// servedBy accepts a connection and echoes one message twice over a backend, and says how far it came.
func servedBy(b aio.Backend, ln net.Listener, there net.Conn, log *slog.Logger) string {
	w, err := aio.New(aio.Options{Backend: b, Logger: log})
	if err != nil {
		if !errors.Is(err, errors.ErrUnsupported) {
			return fmt.Sprintf("New: %v, no ErrUnsupported", err)
		}
		return fmt.Sprint("New: ", err)
	}
	defer func() { _ = w.Close() }()
	stop := time.AfterFunc(Patience/2, func() { _ = w.Close() })
	defer stop.Stop()
	l, err := w.AttachListener(ln)
	if err != nil {
		return fmt.Sprint("AttachListener: ", err)
	}
	if err := l.Accept(nil, aio.NoDeadline); err != nil {
		return fmt.Sprint("submit: ", err)
	}
	results, err := w.WaitIO()
	if err != nil {
		return fmt.Sprint("WaitIO: ", err)
	}
	c := results[0].Conn
	if c == nil {
		return fmt.Sprint("Result.Error of an accept: ", results[0].Error)
	}
	say := make(chan error, 1)
	go func() {
		_, err := there.Write([]byte("hello"))
		say <- err
	}()
	for _, submit := range []func() error{
		func() error { return c.Read(nil, nil, aio.NoDeadline) },
		func() error { return c.Write(nil, []byte("hello"), aio.NoDeadline) },
		func() error { return c.Writev(nil, [][]byte{[]byte("hel"), []byte("lo")}, aio.NoDeadline) },
	} {
		if err := submit(); err != nil {
			return fmt.Sprint("submit: ", err)
		}
		results, err := w.WaitIO()
		if err != nil {
			return fmt.Sprint("WaitIO: ", err)
		}
		if r := results[0]; r.Error != nil || r.Size != 5 {
			return fmt.Sprintf("Result.Error of a %v: %v, size %d", r.Op, r.Error, r.Size)
		}
	}
	if err := <-say; err != nil {
		return fmt.Sprint("the peer's Write: ", err)
	}
	if n, err := io.ReadFull(there, make([]byte, 10)); err != nil {
		return fmt.Sprintf("the peer read %d bytes, %v", n, err)
	}
	return w.Stats().Backend + " served"
}

// TestNoLockedMemory: io_uring serves a user without privileges whose limit of locked memory is 0, as since
// Linux 5.12 its rings do not count, or New says that this is it.
func TestNoLockedMemory(t *testing.T) {
	if os.Getenv("AIO_MEMLOCK") == "" {
		c := Child(t, "TestNoLockedMemory", "AIO_MEMLOCK=0")
		c.Args = append(c.Args, "-test.v")
		out, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "=> ") {
			t.Fatalf("%v\n%s", err, out)
		}
		_, got, _ := strings.Cut(string(out), "=> ")
		got, _, _ = strings.Cut(got, "\n")
		if strings.Contains(got, "permission for io_uring") || strings.Contains(got, "kernel.io_uring_disabled") {
			t.Skip("needs io_uring:", got)
		}
		if got != "io_uring served" && !strings.Contains(got, "raise the limit (ulimit -l)") {
			t.Errorf("with no locked memory: %q", got)
		}
		return
	}
	ln, peer := called(t)
	const memlock = 8 // RLIMIT_MEMLOCK, on amd64 and arm64
	Must(t, syscall.Setrlimit(memlock, &syscall.Rlimit{}))
	if os.Getuid() == 0 { // whom no such limit holds
		const nobody = 65534
		Must(t, syscall.Setgid(nobody))
		Must(t, syscall.Setuid(nobody))
	}
	fmt.Println("=>", servedBy(aio.BackendIOUring, ln, peer, nil))
}
