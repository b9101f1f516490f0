package httpd_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/testutil"
)

// speaker is a client's end that takes no memory of the Go heap.
type speaker int

func speak(t *testing.T, at *syscall.SockaddrInet4) speaker {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		err = syscall.Connect(fd, at)
	}
	if err != nil {
		t.Fatal(err)
	}
	return speaker(fd)
}

// socket is a speaker for a tls.Conn.
type socket struct {
	net.Conn // none
	end      speaker
}

func (s socket) Read(p []byte) (int, error)  { return syscall.Read(int(s.end), p) }
func (s socket) Write(p []byte) (int, error) { return syscall.Write(int(s.end), p) }

var (
	question = []byte("GET /quiet HTTP/1.1\r\nHost: x\r\n\r\n")
	answer   [1 << 10]byte
)

// ask sends a request, and returns when an answer comes.
func (c speaker) ask(t *testing.T) {
	if _, err := syscall.Write(int(c), question); err != nil {
		t.Fatal(err)
	}
	if n, err := syscall.Read(int(c), answer[:]); n == 0 || err != nil {
		t.Fatal(n, err)
	}
}

// TestIdleBytes: what a connection costs that has had an answer, and what it takes to accept one:
// in the loop, and by a listener of the user's.
func TestIdleBytes(t *testing.T) {
	const conns, warm, most = 2000, 200, 360
	if raceDetector {
		t.Skip("needs no -race, which takes memory of its own")
	}
	onEach(t, func(t *testing.T, b aio.Backend) {
		for _, loop := range []bool{true, false} {
			tcp, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ln := tcp
			if !loop {
				ln = &counting{TCPListener: tcp.(*net.TCPListener)}
			}
			m := http.NewServeMux()
			m.HandleFunc("/quiet", func(http.ResponseWriter, *http.Request) {})
			srv := &http.Server{Handler: m}
			ended := make(chan error)
			go func() { ended <- httpd.Serve(t.Context(), srv, ln, httpd.Options{Backend: b}) }()
			at := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: tcp.Addr().(*net.TCPAddr).Port}
			all := make([]speaker, 0, conns+warm)
			for range warm {
				all = append(all, speak(t, at))
				all[len(all)-1].ask(t)
			}
			before := settled()
			for range conns {
				c := speak(t, at)
				all = append(all, c)
				c.ask(t)
			}
			t.Logf("accepted in the loop: %t", loop)
			each(t, before, conns, most)
			for _, c := range all {
				syscall.Close(int(c))
			}
			srv.Close()
			if err := <-ended; err != http.ErrServerClosed {
				t.Error(err)
			}
		}
	})
}

// TestIdleBytesOfTLS bounds what an idle connection costs with TLS. Most of it is crypto/tls's state. The
// client keeps only its socket.
func TestIdleBytesOfTLS(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	const conns, warm, most = 100, 20, 6000
	if raceDetector {
		t.Skip("needs no -race, which takes memory of its own")
	}
	onEach(t, func(t *testing.T, b aio.Backend) {
		m := http.NewServeMux()
		m.HandleFunc("/quiet", func(http.ResponseWriter, *http.Request) {})
		addr, client := secured(t, b, &http.Server{Handler: m})
		config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.ServerName, config.NextProtos = "example.com", nil
		to, err := net.ResolveTCPAddr("tcp4", addr)
		if err != nil {
			t.Fatal(err)
		}
		at := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: to.Port}
		var all []speaker
		var before runtime.MemStats
		for i := range conns + warm {
			if i == warm {
				before = settled()
			}
			c := speak(t, at)
			all = append(all, c)
			client := tls.Client(socket{end: c}, config)
			if _, err := client.Write(question); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Read(answer[:]); err != nil {
				t.Fatal(err)
			}
		}
		each(t, before, conns, most)
		for _, c := range all {
			syscall.Close(int(c))
		}
	})
}

// TestParkedBytes: what a hijacked connection costs that is parked.
func TestParkedBytes(t *testing.T) {
	const conns, warm, most = 1000, 200, 1000
	if raceDetector {
		t.Skip("needs no -race, which takes memory of its own")
	}
	onEach(t, func(t *testing.T, b aio.Backend) {
		var ended sync.WaitGroup
		addr := serve(t, b, &http.Server{Handler: parking(t, func(c *httpd.Conn) {
			io.WriteString(c, "here")
			echo(c, &ended)
		})})
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := strconv.Atoi(port)
		at := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: n}
		all := make([]speaker, 0, conns+warm)
		for range warm {
			all = append(all, speak(t, at))
			all[len(all)-1].ask(t)
		}
		before := settled()
		for range conns {
			c := speak(t, at)
			all = append(all, c)
			c.ask(t)
		}
		each(t, before, conns, most)
		for _, c := range all {
			syscall.Close(int(c))
		}
		ended.Wait()
	})
}

// each checks how many bytes of the heap one of n idle connections has added since before, and that
// none has a goroutine, when those workers have ended that a busy machine has made. Stacks are
// goroutines' alone; their spans are not looked at, as some stay when these have ended.
func each(t *testing.T, before runtime.MemStats, n, most int) {
	t.Helper()
	for until := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		after, goroutines := settled(), runtime.NumGoroutine()
		bytes := (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / float64(n)
		small := bytes <= float64(most) && goroutines < n/5 // the server's own, and not one for each
		if small || time.Now().After(until) {
			t.Logf("%.0f bytes an idle connection, %.1f allocations of it and its request", bytes,
				float64(after.Mallocs-before.Mallocs)/float64(n))
			if !small {
				t.Errorf("%.0f bytes an idle connection, want %d at the most; %d goroutines", bytes, most, goroutines)
			}
			return
		}
	}
}

// settled returns the counts of memory when what is no longer used was freed, pools too.
func settled() (m runtime.MemStats) {
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m
}
