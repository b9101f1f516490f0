package httpd_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/testutil"
)

// TestSoak serves for as long as make soak says, or two seconds in make check, connections that
// come, ask, are idle, hang, send halves, read slowly, are reset, leave in the middle or take
// themselves over. What it asks for: each whole request got its own answer, and neither
// descriptors, goroutines, what waits to be sent nor the heap grew.
func TestSoak(t *testing.T) {
	length := testutil.Soak()
	if length == 0 {
		testutil.Long(t, "serves for two seconds")
		length = 2 * time.Second
	}
	onEach(t, func(t *testing.T, b aio.Backend) {
		t.Parallel()
		m := mux()
		m.HandleFunc("/back", func(w http.ResponseWriter, r *http.Request) {
			// all is read first, as net/http drops the rest when an answer begins
			if b, err := io.ReadAll(r.Body); err == nil {
				w.Write(b)
			}
		})
		m.HandleFunc("/take", func(w http.ResponseWriter, _ *http.Request) {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				io.WriteString(c, "taken")
				c.Close()
			}
		})
		m.HandleFunc("/wait", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		s := &soaker{srv: &http.Server{
			Handler: m, ReadTimeout: soakTimeout, IdleTimeout: soakTimeout, WriteTimeout: 30 * time.Second,
			MaxHeaderBytes: 8 << 10, ErrorLog: log.New(io.Discard, "", 0),
		}}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s.addr = ln.Addr().String()
		ended := make(chan error, 1)
		go func() { ended <- httpd.Serve(context.Background(), s.srv, ln, httpd.Options{Backend: b}) }()
		end := time.Now().Add(length)
		var clients sync.WaitGroup
		seed := rand.Uint64()
		t.Log("the clients' seed:", seed)
		for i := range uint64(60) {
			clients.Go(func() { s.client(rand.New(rand.NewPCG(seed, i)), end) })
		}
		var g growth
		for time.Now().Before(end) && s.wrong.Load() == nil {
			time.Sleep(min(time.Minute, length/12, time.Until(end)))
			t.Log(s, g.look(t))
		}
		clients.Wait()
		until(t, s.srv, "all connections have ended", func(s httpd.Stats) bool {
			return s.Conns == 0 &&
				s.QueuedBytes == 0 && s.UnreadBytes == 0
		})
		if err := s.srv.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := wait(t, ended, "Serve's end"); err != http.ErrServerClosed {
			t.Error(err)
		}
		if why := s.wrong.Load(); why != nil {
			t.Error(*why)
		}
		g.judge(t)
		t.Logf("at the end: %v %+v", s, httpd.StatsOf(s.srv))
		if s.answers.Load() == 0 {
			t.Error("nothing was answered")
		}
	})
}

// soakTimeout is the server's: a connection that asks for nothing as long is ended.
const soakTimeout = 5 * time.Second

// soaker is a server and its clients.
type soaker struct {
	srv   *http.Server
	addr  string
	conns atomic.Int64
	wrong atomic.Pointer[string]

	answers, halves, hung, slow, resets, left, taken, late atomic.Int64
}

func (s *soaker) String() string {
	return fmt.Sprintf("%d connections, %d answers; %d sent halves, %d hung, %d read slowly, %d were reset, %d "+
		"left, %d were taken, %d came too late;",
		s.conns.Load(), s.answers.Load(), s.halves.Load(), s.hung.Load(), s.slow.Load(), s.resets.Load(), s.left.Load(),
		s.taken.Load(), s.late.Load())
}

func (s *soaker) fail(format string, a ...any) {
	why := fmt.Sprintf(format, a...)
	s.wrong.CompareAndSwap(nil, &why)
}

// client connects again and again.
func (s *soaker) client(rng *rand.Rand, end time.Time) {
	for time.Now().Before(end) && s.wrong.Load() == nil {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			s.fail("dial: %v", err)
			return
		}
		s.conns.Add(1)
		r := bufio.NewReader(c)
		for before := time.Now(); rng.IntN(20) > 0; {
			begun := time.Now()
			if !s.exchange(c.(*net.TCPConn), r, rng, before) {
				break
			}
			before = begun
			time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond)
		}
		_ = c.Close()
	}
}

// exchange asks once, or does worse. It reports whether the connection is still good. before is
// when the last one began: on a busy machine the server's time may end after it, before this
// request is there as a whole.
func (s *soaker) exchange(c *net.TCPConn, r *bufio.Reader, rng *rand.Rand, before time.Time) bool {
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	fail := func(format string, a ...any) {
		if time.Since(before) < soakTimeout {
			s.fail(format, a...)
		} else {
			s.late.Add(1)
		}
	}
	body := strings.Repeat("x", rng.IntN(1<<rng.IntN(18)))
	request := fmt.Sprintf("POST /back HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	switch rng.IntN(60) {
	case 0: // the server ends it, by one time or another
		s.halves.Add(1)
		_, _ = io.WriteString(c, request[:rng.IntN(len(request))])
		_, _ = io.Copy(io.Discard, c)
		return false
	case 1:
		s.hung.Add(1)
		_, _ = io.Copy(io.Discard, c)
		return false
	case 2:
		s.slow.Add(1)
		_, _ = io.WriteString(c, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
		for range rng.IntN(30) {
			time.Sleep(10 * time.Millisecond)
			_, _ = c.Read(make([]byte, 1<<10))
		}
		return false
	case 3:
		s.resets.Add(1)
		_, _ = io.WriteString(c, request[:rng.IntN(len(request))])
		_ = c.SetLinger(0)
		return false
	case 4:
		s.left.Add(1)
		_, _ = io.WriteString(c, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
		time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
		return false
	case 5:
		s.taken.Add(1)
		_, _ = io.WriteString(c, "GET /take HTTP/1.1\r\nHost: x\r\n\r\n")
		if got, err := io.ReadAll(r); string(got) != "taken" || err != nil {
			fail("taken over: %q, %v", got, err)
		}
		return false
	}
	go io.WriteString(c, request) // its answer says
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		fail("no answer: %v", err)
		return false
	}
	defer res.Body.Close()
	if got, err := io.ReadAll(res.Body); string(got) != body || err != nil {
		fail("%d bytes came back of %d: %v", len(got), len(body), err)
		return false
	}
	s.answers.Add(1)
	return true
}

// growth is what a process holds, looked at again and again.
type growth struct{ heap, goroutines, descriptors []int }

// look takes one look, and says what it saw.
func (g *growth) look(t *testing.T) string {
	m := settled()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc/self/fd:", err)
	}
	g.heap = append(g.heap, int(m.HeapAlloc+m.StackInuse))
	g.goroutines = append(g.goroutines, runtime.NumGoroutine())
	g.descriptors = append(g.descriptors, len(files))
	return fmt.Sprintf("%d KiB, %d goroutines, %d descriptors", (m.HeapAlloc+m.StackInuse)>>10, runtime.NumGoroutine(),
		len(files))
}

// judge fails the test where the least of the last looks is more than the most of those before: a
// leak does not go back.
func (g *growth) judge(t *testing.T) {
	for _, c := range []struct {
		what  string
		seen  []int
		slack int
	}{{"bytes", g.heap, 8 << 20}, {"goroutines", g.goroutines, 40}, {"descriptors", g.descriptors, 40}} {
		n := len(c.seen)
		if n < 6 {
			continue // the first looks are at what still begins
		}
		if least, most := slices.Min(c.seen[n-n/4:]), slices.Max(c.seen[1:n/2]); least > most+c.slack {
			t.Errorf("%s have grown: %d at the end, %d in the first half: %v", c.what, least, most, c.seen)
		}
	}
}

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

// TestIdleBytes: what a connection costs that has had an answer, and what it takes to accept one.
func TestIdleBytes(t *testing.T) {
	const conns, warm, most = 2000, 200, 360
	if testutil.RaceFlag == "-race=true" {
		t.Skip("needs no -race, which takes memory of its own")
	}
	httpd.SetCalm(t) // with a low load, one loop has all connections
	onEach(t, func(t *testing.T, b aio.Backend) {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		m := http.NewServeMux()
		m.HandleFunc("/quiet", func(http.ResponseWriter, *http.Request) {})
		srv := &http.Server{Handler: m}
		ended := make(chan error)
		go func() { ended <- httpd.Serve(t.Context(), srv, ln, httpd.Options{Backend: b}) }()
		at := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: ln.Addr().(*net.TCPAddr).Port}
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
		srv.Close()
		if err := <-ended; err != http.ErrServerClosed {
			t.Error(err)
		}
	})
}

// TestIdleBytesOfTLS bounds what an idle connection costs with TLS. Most of it is crypto/tls's state. The
// client keeps only its socket.
func TestIdleBytesOfTLS(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	const conns, warm, most = 100, 20, 6000
	if testutil.RaceFlag == "-race=true" {
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
	if testutil.RaceFlag == "-race=true" {
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
