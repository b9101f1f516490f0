//go:build unix

package aio_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/testutil"
)

const (
	many    = 10_500
	manyEnv = "AIO_TEST_MANY_ADDR" // has the child be the clients
)

// needDescriptors skips the test when the process may not open so many.
func needDescriptors(t testing.TB, n int) {
	t.Helper()
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	const others = 64
	if have := uint64(limit.Cur); have < uint64(n+others) {
		t.Skipf("needs %d descriptors, the limit is %d: raise it with ulimit -n (CONTRIBUTING.md)", n+others, have)
	}
}

// TestFeatureScalesBeyond10KConnections: one Watcher, in one goroutine, with more than 10,000
// connections at a time, each of which is answered. The clients are a process of their own: two
// ends would need twice the descriptors. Each backend by its name is make check's.
func TestFeatureScalesBeyond10KConnections(t *testing.T) {
	needDescriptors(t, many)
	each := onEach
	if !testutil.Checking() {
		each = func(t *testing.T, f func(*testing.T, aio.Backend)) { f(t, aio.BackendAuto) }
	}
	each(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		pump(t, w, func(r aio.Result) { echo(r) })
		addr := accept(t, func(c net.Conn) { echoes(w, c, 64) })

		start := time.Now()
		clients := child(t, "TestClientsOfScales", manyEnv+"="+addr.String())
		clients.Stderr = os.Stderr
		hold, err := clients.StdinPipe()
		must(t, err)
		out, err := clients.StdoutPipe()
		must(t, err)
		must(t, clients.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		if want := fmt.Sprintf("%d echoes\n", many); line != want {
			t.Errorf("the clients say %q, %v; want %q", line, err, want)
		}
		if n := w.Stats().Conns; n < many {
			t.Errorf("%d connections at a time, want %d", n, many)
		}
		t.Logf("%d connections, an echo on each: %v", many, time.Since(start).Round(time.Millisecond))
		must(t, hold.Close())
		_, _ = io.Copy(io.Discard, out)
		if err := clients.Wait(); err != nil {
			t.Errorf("the clients: %v", err)
		}
		eventually(t, "all connections are freed", func() bool { return w.Stats().Conns == 0 })
	})
}

// TestClientsOfScales is the child of the test above. It connects, and has echoes, in groups: the
// last answer of a group says that all of it was accepted, so no connect finds the queue full.
func TestClientsOfScales(t *testing.T) {
	addr, err := netip.ParseAddrPort(os.Getenv(manyEnv))
	if err != nil {
		return
	}
	var all []int
	defer func() {
		for _, fd := range all {
			_ = syscall.Close(fd)
		}
	}()
	const group = 500
	message := make([]byte, 64)
	for range many / group {
		var fds [group]int
		for i := range fds {
			fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
			must(t, err)
			all = append(all, fd)
			must(t, syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})) // no TIME_WAIT
			must(t, syscall.Connect(fd, &syscall.SockaddrInet4{Addr: addr.Addr().As4(), Port: int(addr.Port())}))
			_, err = syscall.Write(fd, message)
			must(t, err)
			fds[i] = fd
		}
		for _, fd := range fds {
			if n, err := syscall.Read(fd, message); n != len(message) {
				t.Fatalf("an echo of %d bytes, %v", n, err)
			}
		}
	}
	fmt.Printf("%d echoes\n", many)
	_, _ = io.Copy(io.Discard, os.Stdin) // keep them open until the parent has counted
}
