package httpd_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
)

// TestNoDescriptors: more connections than there are descriptors are all served, one after the other.
func TestNoDescriptors(t *testing.T) {
	const conns, spare = 40, 12
	onEach(t, func(t *testing.T, b aio.Backend) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var clients []net.Conn
		for range conns { // wait in the kernel's queue
			c := dial(t, ln.Addr().String())
			if _, err := io.WriteString(c,
				"GET /hello?n=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			clients = append(clients, c)
		}
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		scarce := syscall.Rlimit{Max: limit.Max}
		// An earlier test may have closed descriptors below the clients', so each is tried.
		for free := 0; free < spare; scarce.Cur++ {
			if syscall.Fstat(int(scarce.Cur), new(syscall.Stat_t)) == syscall.EBADF {
				free++
			}
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &scarce); err != nil {
			t.Fatal(err)
		}
		defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
		srv, began := &http.Server{Handler: mux()}, time.Now()
		ended := make(chan error)
		go func() { ended <- httpd.Serve(t.Context(), srv, ln, httpd.Options{Backend: b}) }()
		for i, c := range clients {
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatalf("connection %d: %v", i, err)
			}
			if body, err := io.ReadAll(res.Body); string(body) != "hello 1" || err != nil {
				t.Errorf("connection %d: %q, %v", i, body, err)
			}
		}
		// It is tried again each 10 ms and when a descriptor has become free, and not all the time.
		if s, most := httpd.StatsOf(srv).AcceptStalls,
			uint64(time.Since(began)/(10*time.Millisecond))+10*conns; s == 0 || s > most {
			t.Errorf("it was tried %d times to accept without a descriptor, want %d at the most", s, most)
		}
		srv.Close()
		if err := <-ended; err != http.ErrServerClosed {
			t.Error(err)
		}
	})
}

// TestNoDescriptorForAccepting: Serve ends with the reason if aio cannot have its duplicate of the listener.
func TestNoDescriptorForAccepting(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
		few := limit
		few.Cur = 4 // all below are taken
		srv := &http.Server{Handler: mux()}
		srv.BaseContext = func(net.Listener) context.Context { // the loop has begun
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
				t.Error(err)
			}
			return t.Context()
		}
		ended := begin(t, httpd.Options{Backend: b}, srv, ln)
		if err := wait(t, ended, "Serve's end"); !errors.Is(err, syscall.EMFILE) {
			t.Errorf("Serve: %v, want EMFILE", err)
		}
	})
}

// TestKeepAlive: an accepted connection has the probes that package net turns on.
func TestKeepAlive(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		addr := serve(t, b, &http.Server{Handler: mux()})
		var c net.Conn
		for range 2 { // the first may have come before Serve began
			c = dial(t, addr)
			get(t, c, bufio.NewReader(c), "/hello")
		}
		hex := func(a net.Addr) string { return fmt.Sprintf("0100007F:%04X", a.(*net.TCPAddr).Port) }
		served := func() string { // the line of the server's end
			table, err := os.ReadFile("/proc/net/tcp")
			if err != nil {
				t.Skip("needs /proc/net/tcp:", err)
			}
			for line := range strings.Lines(string(table)) {
				if f := strings.Fields(line); f[1] == hex(c.RemoteAddr()) && f[2] == hex(c.LocalAddr()) {
					return line
				}
			}
			t.Skip("needs a /proc/net/tcp that lists connections")
			panic("unreachable")
		}
		// sl local_address rem_address st tx_queue:rx_queue tr:tm->when ...; tr 2: the timer of
		// keep-alive probes, 1: that of what is not acknowledged yet
		line := served()
		for end := time.Now().Add(patience); strings.HasPrefix(strings.Fields(line)[5], "01:") &&
			time.Now().Before(end); line = served() {
			time.Sleep(time.Millisecond)
		}
		if !strings.HasPrefix(strings.Fields(line)[5], "02:") {
			t.Errorf("the server's end has no timer of probes: %s", line)
		}
	})
}

// TestEarlyConnections: those that came before Serve have the options that package net sets, as
// those that come later inherit them.
func TestEarlyConnections(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		early := []net.Conn{dial(t, ln.Addr().String()), dial(t, ln.Addr().String())}
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			nc, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer nc.Close()
			raw, err := nc.(*net.TCPConn).SyscallConn()
			if err != nil {
				t.Error(err)
			}
			raw.Control(func(fd uintptr) {
				for _, o := range [][2]int{
					{syscall.IPPROTO_TCP, syscall.TCP_NODELAY},
					{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE},
				} {
					if on, err := syscall.GetsockoptInt(int(fd), o[0], o[1]); on != 1 || err != nil {
						t.Errorf("option %d of level %d is %d, %v", o[1], o[0], on, err)
					}
				}
			})
		})}
		ended := make(chan error)
		go func() { ended <- httpd.Serve(t.Context(), srv, ln, httpd.Options{Backend: b}) }()
		for _, c := range append(early, dial(t, ln.Addr().String())) {
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			io.Copy(io.Discard, c)
		}
		srv.Close()
		if err := <-ended; err != http.ErrServerClosed {
			t.Error(err)
		}
	})
}

// TestPeerCredentials: ConnContext may ask who the peer of a unix socket is.
func TestPeerCredentials(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
		if err != nil {
			t.Fatal(err)
		}
		type key struct{}
		m := mux()
		m.HandleFunc("/pid", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Context().Value(key{})) })
		serveOn(t, b, &http.Server{Handler: m, ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			raw, err := c.(syscall.Conn).SyscallConn()
			if err != nil {
				t.Error(err)
				return ctx
			}
			var peer *syscall.Ucred
			var refused error
			if err := raw.Control(func(fd uintptr) {
				peer, refused = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
			}); err != nil || refused != nil {
				t.Error(err, refused)
				return ctx
			}
			return context.WithValue(ctx, key{}, peer.Pid)
		}}, ln)
		c, err := net.Dial("unix", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got, want := get(t, c, bufio.NewReader(c), "/pid"), fmt.Sprint(os.Getpid()); got != want {
			t.Errorf("the peer is %s, want %s", got, want)
		}
	})
}

// TestHijackWithoutDescriptors: where the connection cannot be had from aio, Hijack gives one that works nevertheless.
func TestHijackWithoutDescriptors(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var limit syscall.Rlimit
			if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
				t.Error(err)
			}
			few := limit
			few.Cur = 3 // all below are taken
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
				t.Error(err)
			}
			nc, rw, err := w.(http.Hijacker).Hijack()
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
				t.Error(err)
			}
			if err != nil {
				t.Error(err)
				return
			}
			for range 3 {
				line, err := rw.ReadString('\n')
				fmt.Fprintf(nc, "%T %q %v\n", nc, line, err)
			}
			nc.Close()
		})
		c := dial(t, serve(t, b, &http.Server{Handler: h}))
		r := bufio.NewReader(c)
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\nline 0\n")
		for i := range 3 {
			if got, err := r.ReadString('\n'); got != fmt.Sprintf("*httpd.worker %q <nil>\n",
				fmt.Sprintf("line %d\n", i)) {
				t.Fatalf("%q, %v", got, err)
			}
			fmt.Fprintf(c, "line %d\n", i+1)
		}
		if got, err := io.ReadAll(r); len(got) > 0 {
			t.Errorf("%q, %v", got, err)
		}
	})
}
