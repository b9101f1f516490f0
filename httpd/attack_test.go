package httpd_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/testutil"
)

// crowd is how many connections attack: more in make check.
func crowd(few, many int) int {
	if testutil.Checking() {
		return many
	}
	return few
}

// until waits until ok says so of srv's statistics.
func until(t *testing.T, srv *http.Server, what string, ok func(httpd.Stats) bool) httpd.Stats {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s := httpd.StatsOf(srv)
		if ok(s) {
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %+v", what, s)
		}
	}
}

// bystander asks beside an attack.
func bystander(t *testing.T, addr string) {
	t.Helper()
	c := dial(t, addr)
	r := bufio.NewReader(c)
	for range 5 {
		if got := get(t, c, r, "/hello?n=1"); got != "hello 1" {
			t.Errorf("a bystander got %q", got)
		}
	}
}

// TestTrickle: connections that send a header byte by byte have no goroutines of their own, but for
// some; each is answered when it has sent all, and ended when it has not in time.
func TestTrickle(t *testing.T) {
	const begun, headers = "GET /hello?n=7 HTTP/1.1\r\nHost:", 64
	trickle := func(t *testing.T, b aio.Backend, loops int) {
		n := crowd(200, 4000)
		srv := &http.Server{Handler: mux()}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := serveWith(t, httpd.Options{Backend: b, Loops: loops}, srv, ln)
		var all []net.Conn
		for i := range n {
			c := dial(t, addr)
			if i%2 == 0 {
				get(t, c, bufio.NewReader(c), "/hello")
			}
			all = append(all, c)
		}
		for i := range begun {
			for _, c := range all {
				io.WriteString(c, begun[i:i+1])
			}
		}
		until(t, srv, "their beginnings are in the loop, but for some", func(s httpd.Stats) bool {
			memory := int64(s.Parked * len(begun)) // of which up to half is free
			most := n - headers/loops              // one loop may have all of them
			return s.UnreadBytes >= memory && s.UnreadBytes <= 2*memory &&
				s.Parked <= most && s.Parked > n-headers-20 && s.Workers < headers+40
		})
		bystander(t, addr)
		for _, c := range all {
			io.WriteString(c, " x\r\n\r\n")
		}
		for _, c := range all {
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(res.Body); string(body) != "hello 7" || err != nil {
				t.Fatalf("%q, %v", body, err)
			}
		}
	}
	onEach(t, func(t *testing.T, b aio.Backend) {
		for _, loops := range []int{1, 4} {
			t.Run(fmt.Sprint("loops=", loops), func(t *testing.T) { trickle(t, b, loops) })
		}
	})
}

// TestTrickleTimeout: who is not done with a header in time is ended and counted, with a worker and
// without, at first and later; an idle one is counted as that. Where a busy machine stands still
// for longer than the timeouts, others end than those that are meant: then they get more time.
func TestTrickleTimeout(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	onEach(t, func(t *testing.T, b aio.Backend) {
		const n = 100
		var stats httpd.Stats
		for limit := time.Second; limit < patience; limit *= 4 {
			stats = trickle(t, b, n, limit)
			if stats.IdleTimeouts > 0 && stats.HeaderTimeouts >= n/2 {
				return
			}
		}
		t.Errorf("%+v", stats)
	})
}

// trickle has n connections that are not done with a header in time, and an idle one, which ends in half of it.
func trickle(t *testing.T, b aio.Backend, n int, limit time.Duration) httpd.Stats {
	t.Helper()
	srv := &http.Server{Handler: mux(), ReadHeaderTimeout: limit, IdleTimeout: limit / 2}
	addr := serve(t, b, srv)
	var all []net.Conn
	for i := range n + 1 {
		c := dial(t, addr)
		if i%2 == 0 {
			io.WriteString(c, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
			c.Read(make([]byte, 1<<10))
		}
		if i < n {
			io.WriteString(c, "GET /hello HT")
		}
		all = append(all, c)
	}
	for i, c := range all {
		got, err := io.ReadAll(c) // net/http answers that half a line is no request
		if len(got) > 0 && !bytes.HasPrefix(got, []byte("HTTP/1.1 400 ")) || err != nil && !isReset(err) {
			t.Errorf("connection %d: %q, %v; want the end", i, got, err)
		}
	}
	stats := until(t, srv, "their end", func(s httpd.Stats) bool { return s.Conns == 0 })
	if stats.Accepted != uint64(n)+1 || stats.HeaderTimeouts+stats.IdleTimeouts != uint64(n)+1 ||
		stats.BadRequests > 0 {
		t.Errorf("%+v", stats)
	}
	return stats
}

// TestSlowReaders: what is queued for clients that do not read is bounded, for each and for all of them.
func TestSlowReaders(t *testing.T) {
	const each, all = 256<<10 + 8<<10, 32 << 20
	onEach(t, func(t *testing.T, b aio.Backend) {
		n := crowd(50, 1000)
		m := mux()
		m.HandleFunc("/small", func(w http.ResponseWriter, _ *http.Request) {
			for range 8 << 10 {
				if _, err := w.Write(make([]byte, 1<<10)); err != nil {
					return
				}
			}
		})
		srv := &http.Server{Handler: m}
		addr := serveOn(t, b, srv, narrow(t))
		var clients []net.Conn
		for range n {
			c := dial(t, addr)
			io.WriteString(c, "GET /small HTTP/1.1\r\nHost: x\r\n\r\n")
			clients = append(clients, c)
		}
		until(t, srv, "answers are queued", func(s httpd.Stats) bool { return s.QueuedBytes >= int64(min(n<<18, all)) })
		bystander(t, addr)
		if s := httpd.StatsOf(srv); s.QueuedBytes > int64(min(n*each, all+n*(8<<10))) {
			t.Errorf("%d connections: %+v", n, s)
		}
		for _, c := range clients {
			c.Close()
		}
		until(t, srv, "the end of what is queued", func(s httpd.Stats) bool { return s.QueuedBytes == 0 })
	})
}

// TestUnreadBodies: what is read ahead of handlers that do not read is bounded, for each connection and for all.
func TestUnreadBodies(t *testing.T) {
	const ahead, swap, all = 64 << 10, 64 << 10, 32 << 20
	onEach(t, func(t *testing.T, b aio.Backend) {
		n := crowd(50, 1500)
		m, release := mux(), make(chan bool)
		m.HandleFunc("/block", func(_ http.ResponseWriter, r *http.Request) {
			<-release
			io.Copy(io.Discard, r.Body)
		})
		srv := &http.Server{Handler: m}
		addr := serve(t, b, srv)
		var clients []net.Conn
		body := make([]byte, 256<<10)
		for range n {
			c := dial(t, addr)
			clients = append(clients, c)
			fmt.Fprintf(c, "POST /block HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(body))
			go c.Write(body)
		}
		var last httpd.Stats
		for still := 0; still < 100; still++ {
			s := until(t, srv, "the bodies", func(s httpd.Stats) bool { return s.UnreadBytes > 0 && s.Conns == n })
			if s.UnreadBytes != last.UnreadBytes {
				still = 0
			}
			last = s
			time.Sleep(time.Millisecond)
		}
		if last.UnreadBytes > int64(min(n*(ahead+swap), all+turn+n*(8<<10))) {
			t.Errorf("%d connections: %+v", n, last)
		}
		bystander(t, addr)
		close(release)
		for _, c := range clients {
			if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != 200 {
				t.Fatal(res, err)
			}
		}
	})
}

// turn is what one WaitIO may bring before it is known that there is too much.
const turn = 2 << 20

// TestPipelinersThatNeverRead: what is kept of requests and answers is bounded by Options.MaxBytes,
// however many clients send without reading. Others are served.
func TestPipelinersThatNeverRead(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	const limit, requests = 1 << 20, 64 << 10 // bytes
	onEach(t, func(t *testing.T, b aio.Backend) {
		n := crowd(200, 2000)
		m, asked := mux(), atomic.Int64{}
		m.HandleFunc("/answer", func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Write(make([]byte, 6<<10))
		})
		srv := &http.Server{Handler: m}
		ln := narrow(t)
		ended := begin(t, httpd.Options{Backend: b, MaxBytes: limit}, srv, ln)
		request := []byte("GET /answer HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 1<<10) + "\r\n\r\n")
		var sent sync.WaitGroup
		var clients []net.Conn
		for range n {
			c := dial(t, ln.Addr().String())
			clients = append(clients, c)
			sent.Go(func() { c.Write(bytes.Repeat(request, 4*requests/len(request))) }) // until it is closed
		}
		var most int64
		until(t, srv, "all are stuck", func(s httpd.Stats) bool {
			most = max(most, s.QueuedBytes+s.UnreadBytes)
			return s.Workers >= n && asked.Load() > int64(n) && s.QueuedBytes+s.UnreadBytes >= limit
		})
		bystander(t, ln.Addr().String())
		for range 100 { // more comes, and has to wait
			s := httpd.StatsOf(srv)
			most = max(most, s.QueuedBytes+s.UnreadBytes)
			time.Sleep(time.Millisecond)
		}
		if bound := int64(limit + turn + n*(12<<10)); most > bound {
			t.Errorf("%d clients: up to %d bytes are kept, want %d at the most", n, most, bound)
		}
		for _, c := range clients {
			c.Close()
		}
		sent.Wait()
		until(t, srv, "their end", func(s httpd.Stats) bool { return s.QueuedBytes+s.UnreadBytes == 0 && s.Conns <= 1 })
		srv.Close()
		if err := wait(t, ended, "Serve's end"); err != http.ErrServerClosed {
			t.Error(err)
		}
	})
}

// TestOneUnreadByte: a connection goes on whose few unread bytes fill MaxUnreadBytes.
func TestOneUnreadByte(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		srv, ln := &http.Server{Handler: mux()}, narrow(t)
		ended := begin(t, httpd.Options{Backend: b, MaxUnreadBytes: 1}, srv, ln)
		c := dial(t, ln.Addr().String())
		r := bufio.NewReader(c)
		const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
		get(t, c, r, "/")
		until(t, srv, "a connection without a worker", func(s httpd.Stats) bool { return s.Parked == 1 })
		io.WriteString(c, request[:1])
		until(t, srv, "the byte", func(s httpd.Stats) bool { return s.UnreadBytes > 0 })
		io.WriteString(c, request[1:])
		if _, err := http.ReadResponse(r, nil); err != nil {
			t.Errorf("the answer to a request that began with one byte: %v", err)
		}
		srv.Close()
		if err := wait(t, ended, "Serve's end"); err != http.ErrServerClosed {
			t.Error(err)
		}
	})
}

// TestBadRequests: what net/http refuses reaches no handler, and is counted: requests of which two
// readers could find two different ends, and headers without one; a connection's first ones and
// further ones, by workers that have served somebody before. ConnState is told of the first ones as
// net/http does it.
func TestBadRequests(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m := mux()
		m.HandleFunc("/", func(http.ResponseWriter, *http.Request) { t.Error("a handler was called") })
		srv := &http.Server{Handler: m, MaxHeaderBytes: 16 << 10}
		told := noting(srv)
		addr := serve(t, b, srv)
		other := dial(t, addr)
		r := bufio.NewReader(other)
		bad := []string{
			"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
			"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello",
			"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: "+strings.Repeat("y", 100)+"\r\n", 400),
		}
		for _, q := range bad {
			for _, first := range []bool{true, false} {
				get(t, other, r, "/hello") // its worker is next
				c := dial(t, addr)
				in := bufio.NewReader(c)
				if !first {
					get(t, c, in, "/hello")
				}
				go io.WriteString(c, q)
				if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode < 400 {
					t.Errorf("%.80q: %v, %v", q, res, err)
				}
				c.Close()
				if first {
					told.await(t, c, "new", "active", "closed")
				}
			}
		}
		bystander(t, addr)
		if s := until(t, srv, "their end",
			func(s httpd.Stats) bool { return s.Conns <= 2 }); s.BadRequests != 2*uint64(len(bad)) ||
			s.HeaderTimeouts > 0 {
			t.Errorf("%d bad requests: %+v", 2*len(bad), s)
		}
	})
}

// TestResets: connections that are reset, at once and with a request under way, leave nothing behind.
func TestResets(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		srv := &http.Server{Handler: mux()}
		addr := serve(t, b, srv)
		n := crowd(300, 5000)
		for i := range n {
			c := dial(t, addr)
			if i%3 > 0 {
				io.WriteString(c, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n"[:10*(i%3+1)])
			}
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
			if i == n/2 {
				bystander(t, addr)
			}
		}
		bystander(t, addr)
		s := until(t, srv, "their end", func(s httpd.Stats) bool { return s.Conns <= 2 && s.QueuedBytes == 0 })
		if s.Accepted == 0 || s.UnreadBytes != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestMaxConns: more connections than may be open are served, one after the other.
func TestMaxConns(t *testing.T) {
	const most, conns = 8, 60
	onEach(t, func(t *testing.T, b aio.Backend) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		m := mux()
		srv := &http.Server{Handler: m}
		m.HandleFunc("/conns", func(w http.ResponseWriter, _ *http.Request) {
			s := httpd.StatsOf(srv)
			fmt.Fprint(w, s.Conns <= most && s.Conns > 0)
		})
		ended := begin(t, httpd.Options{Backend: b, MaxConns: most}, srv, ln)
		var clients []net.Conn
		for range conns {
			c := dial(t, ln.Addr().String())
			io.WriteString(c, "GET /conns HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			clients = append(clients, c)
		}
		for i, c := range clients {
			if got, err := io.ReadAll(c); !bytes.HasSuffix(got, []byte("\r\n\r\ntrue")) || err != nil {
				t.Errorf("connection %d: %q, %v", i, got, err)
			}
		}
		var idle []net.Conn
		for range most {
			c := dial(t, ln.Addr().String())
			get(t, c, bufio.NewReader(c), "/conns")
			idle = append(idle, c)
		}
		late := dial(t, ln.Addr().String())
		io.WriteString(late, "GET /conns HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		until(t, srv, "one that waits", func(s httpd.Stats) bool { return s.AcceptStalls > 0 && s.Conns == most })
		idle[0].Close()
		if got, err := io.ReadAll(late); !bytes.HasSuffix(got, []byte("\r\n\r\ntrue")) || err != nil {
			t.Errorf("who came late: %q, %v", got, err)
		}
		srv.Close()
		if err := wait(t, ended, "Serve's end"); err != http.ErrServerClosed {
			t.Error(err)
		}
		if s := httpd.StatsOf(srv); s.Conns != 0 || s.Accepted != conns+most+1 || s.AcceptStalls > s.Accepted {
			// once each time that the last one is taken
			t.Errorf("at the end: %+v", s)
		}
	})
}
