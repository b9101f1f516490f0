package aio_test

import (
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// options are those of a detached connection: package net's, and that of the test.
var options = []struct{ level, name, value int }{
	{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
	{syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1},
	{syscall.SOL_SOCKET, syscall.SO_LINGER, 1}, // its first member, l_onoff
}

// onFd calls f with the descriptor of c.
func onFd(t *testing.T, c syscall.Conn, f func(fd int)) {
	t.Helper()
	raw, err := c.SyscallConn()
	must(t, err)
	must(t, raw.Control(func(fd uintptr) { f(int(fd)) }))
}

// TestDetachOptions: a detached connection has the options that package net sets, and keeps the others.
func TestDetachOptions(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		here, _ := pair(t)
		must(t, here.SetLinger(9))
		conn := attach(t, w, here)
		onFd(t, conn, func(fd int) {
			for _, o := range options[:len(options)-1] {
				must(t, syscall.SetsockoptInt(fd, o.level, o.name, 0))
			}
		})
		c, err := conn.Detach()
		must(t, err)
		defer func() { _ = c.Close() }()
		onFd(t, c.(*net.TCPConn), func(fd int) {
			for _, o := range options {
				if got, err := syscall.GetsockoptInt(fd, o.level, o.name); err != nil || got != o.value {
					t.Errorf("option %d of level %d is %d, %v; want %d", o.name, o.level, got, err, o.value)
				}
			}
		})
	})
}

// TestDetachWithoutDescriptors: the connection stays with the Watcher, and works.
func TestDetachWithoutDescriptors(t *testing.T) {
	const env = "EVENKEEL_TEST_DETACH" // of the child: the backend
	if b := os.Getenv(env); b != "" {
		detachWithout(t, b)
		return
	}
	onEach(t, func(t *testing.T, b aio.Backend) {
		open(t, aio.Options{Backend: b})
		if out, err := child(t, "TestDetachWithoutDescriptors", env+"="+b.String()).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

const fewDescriptors = 64

// detachWithout is the child.
func detachWithout(t *testing.T, backend string) {
	var b aio.Backend
	must(t, b.UnmarshalText([]byte(backend)))
	w := open(t, aio.Options{Backend: b})
	conn, there := attached(t, w)
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: fewDescriptors, Max: fewDescriptors}))
	var spare []int
	defer func() {
		for _, fd := range spare[2:] {
			_ = syscall.Close(fd)
		}
	}()
	for {
		fd, err := syscall.Dup(0)
		if err == syscall.EMFILE {
			break
		}
		must(t, err)
		spare = append(spare, fd)
	}
	for free := range 2 {
		before := sockets(t)
		if c, err := conn.Detach(); c != nil || err != syscall.EMFILE {
			t.Errorf("with %d descriptors free: %v, %v; want EMFILE", free, c, err)
		}
		if after := sockets(t); after != before {
			t.Errorf("%d sockets, %d before", after, before)
		}
		_, err := there.Write([]byte("ping"))
		must(t, err)
		must(t, conn.Read(nil, nil, none))
		if r := wait(t, w, 1)[0]; string(r.Buffer) != "ping" {
			t.Errorf("after it: %q, %v", r.Buffer, r.Error)
		}
		_ = syscall.Close(spare[free])
	}
	before := sockets(t)
	c, err := conn.Detach()
	must(t, err)
	defer func() { _ = c.Close() }()
	if after := sockets(t); after != before {
		t.Errorf("%d sockets, %d before", after, before)
	}
	must(t, c.SetDeadline(time.Now().Add(patience)))
	_, err = c.Write([]byte("pong"))
	must(t, err)
	if n, err := there.Read(make([]byte, 9)); n != 4 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// sockets counts the process's descriptors of sockets, none of which may block.
func sockets(t *testing.T) (n int) {
	t.Helper()
	for fd := range fewDescriptors {
		var s syscall.Stat_t
		if syscall.Fstat(fd, &s) != nil || s.Mode&syscall.S_IFMT != syscall.S_IFSOCK || fd < 3 {
			continue
		}
		n++
		if flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0); errno != 0 ||
			flags&syscall.O_NONBLOCK == 0 {
			t.Errorf("descriptor %d blocks: flags %#x, %v", fd, flags, errno)
		}
	}
	return n
}
