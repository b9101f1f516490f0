package httpd_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/testutil"
)

// raw are requests, right and wrong, each of which net/http has an opinion about.
var raw = func() (all []string) {
	for _, line := range []string{
		"GET / HTTP/1.1", "GET / HTTP/1.0", "GET /a%20b?x=%zz HTTP/1.1", "HEAD /big HTTP/1.1", "OPTIONS * HTTP/1.1",
		"PRI * HTTP/2.0",
		"GET http://other/x HTTP/1.1", "CONNECT host:80 HTTP/1.1", "GET  / HTTP/1.1", "GET / HTTP/1.2",
		"GET / HTTP/2.0", "GET / HTTP/0.9",
		"GET /", "get / HTTP/1.1", "G(T / HTTP/1.1", "GET / HTP/1.1", " GET / HTTP/1.1", "GET /\x00 HTTP/1.1",
		"GET /../x HTTP/1.1", "",
	} {
		all = append(all, line+"\r\nHost: a\r\n\r\n", line+"\r\n\r\n", line+"\nHost: a\n\n", line+
			"\r\nHost: a\r\nConnection: close\r\n\r\n")
	}
	for _, header := range []string{
		"Host: a\r\nHost: b", "Host: a b", "Host: ", "host: A", "Host : a", " Host: a", "Host: a\r\n folded: x",
		"Host: a\r\nX: \x01", "Host: a\r\nX y: z",
		"Host: a\r\nExpect: 100-continue", "Host: a\r\nExpect: other", "Host: a\r\nConnection: keep-alive",
		"Host: a\r\nUpgrade: websocket\r\nConnection: Upgrade",
		"Host: a\r\nX: " + strings.Repeat("y", 9000), "Host: a\r\n" + strings.Repeat("X-Many: y\r\n", 50) + "Z: z",
		"Host: a\r\nCookie: a=b; c", "Host: a\r\n: x", "Host: a\r\nX",
	} {
		all = append(all, "GET /headers HTTP/1.1\r\n"+header+"\r\n\r\n", "GET /headers HTTP/1.0\r\n"+header+"\r\n\r\n")
	}
	for _, body := range []string{
		"Content-Length: 5\r\n\r\nhello", "Content-Length: 5\r\n\r\nhel",
		"Content-Length: +5\r\n\r\nhello", "Content-Length: 5, 5\r\n\r\nhello",
		"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
		"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "Content-Length: -1\r\n\r\nhello",
		"Content-Length: 0x5\r\n\r\nhello", "Content-Length: 99999999999999999999\r\n\r\nhello",
		"Content-Length:\r\n\r\nhello", "\r\nhello",
		"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\n5;ext=1\r\nhello\r\n0\r\nTrailer: x\r\n\r\n",
		"Transfer-Encoding: chunked\r\nTrailer: T\r\n\r\n2\r\nhi\r\n0\r\nT: v\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\n5\r\nhello", "Transfer-Encoding: chunked\r\n\r\nz\r\nhello\r\n0\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
		"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nx",
		"Transfer-Encoding : chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
		"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
		"Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
		"Expect: 100-Continue\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"Content-Length: 300000\r\n\r\n" + strings.Repeat("b", 300000),
	} {
		for _, path := range []string{"/echo", "/ignore", "/some", "/early"} {
			all = append(all, "POST "+path+" HTTP/1.1\r\nHost: a\r\n"+body, "POST "+path+
				" HTTP/1.0\r\nHost: a\r\n"+body, "POST "+path+" HTTP/1.1\r\nHost: a\r\n"+body+
				"GET /after HTTP/1.1\r\nHost: a\r\n\r\n")
		}
	}
	for _, path := range []string{
		"/hints", "/trailers", "/flush", "/panic", "/abort", "/204", "/304", "/declared",
		"/short", "/close", "/push", "/limit",
	} {
		one := "GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n"
		all = append(all, one, strings.Replace(one, "1.1", "1.0", 1), one+one+one, "\r\n\r\n"+one,
			strings.Replace(one, "GET", "HEAD", 1)+one)
	}
	return all
}()

// opinions are handlers whose answers depend on all that a server tells them.
func opinions() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %q %s %s %d %q %v %v\n", r.Method, r.RequestURI, r.Proto, r.Host, r.ContentLength,
			r.TransferEncoding, r.Close, r.Header)
	})
	m.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d %.40q %v %v", len(b), b, err, r.Trailer)
	})
	m.HandleFunc("/ignore", func(w http.ResponseWriter, r *http.Request) {})
	m.HandleFunc("/some", func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, 2)
		n, err := io.ReadFull(r.Body, b)
		fmt.Fprintf(w, "%q %v", b[:n], err)
	})
	m.HandleFunc("/early", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	m.HandleFunc("/limit", func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 3))
		fmt.Fprint(w, err)
	})
	m.HandleFunc("/big", func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 70000)) })
	m.HandleFunc("/hints", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</a>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		fmt.Fprint(w, "late")
	})
	m.HandleFunc("/trailers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "T")
		fmt.Fprint(w, "body")
		w.Header().Set("T", "v")
		w.Header().Set(http.TrailerPrefix+"U", "w")
	})
	m.HandleFunc("/flush", func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			fmt.Fprint(w, "part ")
			w.(http.Flusher).Flush()
		}
	})
	m.HandleFunc("/panic", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "lost"); panic("planned") })
	m.HandleFunc("/abort", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	m.HandleFunc("/204", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204); w.Write([]byte("x")) })
	m.HandleFunc("/304", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(304) })
	m.HandleFunc("/declared", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "3")
		fmt.Fprint(w, "abcdef")
	})
	m.HandleFunc("/short", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "30")
		fmt.Fprint(w, "abc")
	})
	m.HandleFunc("/close", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Connection", "close") })
	m.HandleFunc("/push", func(w http.ResponseWriter, r *http.Request) { _, ok := w.(http.Pusher); fmt.Fprint(w, ok) })
	return m
}

var dates = regexp.MustCompile(`(?m)^Date: .*$`)

// say sends parts one after the other, ends the sending, and returns all that is answered, and
// whether the connection was reset.
func say(t testing.TB, addr string, parts ...[]byte) (answer string, reset bool) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return "", false
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	go func() { // the server may answer before it has read all
		for i, p := range parts {
			if i > 0 {
				time.Sleep(time.Millisecond) // a cut, most of the time; nothing depends on it
			}
			if _, err := c.Write(p); err != nil {
				return
			}
		}
		c.(*net.TCPConn).CloseWrite()
	}()
	b, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("no end after %v", patience)
	}
	return string(dates.ReplaceAll(b, nil)), errors.Is(err, syscall.ECONNRESET)
}

// same asks a server of net/http and one of httpd the same. One that has not read all before it
// closes resets the connection, and the end of what it has said is lost where the kernel has not
// sent it yet (RFC 9112, 9.6), as of thirteen small answers at once: then both are asked again.
func same(t testing.TB, std, ours string, parts ...[]byte) {
	if len(bytes.Join(parts, nil)) < 4 {
		return // httpd answers 400 or nothing
	}
	for attempts := 5; ; attempts-- {
		var want, got string
		var cutWant, cutGot bool
		var asked sync.WaitGroup
		asked.Go(func() { want, cutWant = say(t, std, parts...) })
		asked.Go(func() { got, cutGot = say(t, ours, parts...) })
		asked.Wait()
		if got == want {
			return
		}
		if attempts == 0 || !cutWant && !cutGot {
			t.Errorf("%.300q\nhttpd:    %.600q\nnet/http: %.600q", bytes.Join(parts, []byte("|")), got, want)
			return
		}
	}
}

// pair starts a server of net/http and one of httpd.
func pair(t testing.TB, b aio.Backend) (std, ours string) {
	quiet := log.New(io.Discard, "", 0)
	s := httptest.NewUnstartedServer(opinions())
	s.Config.ErrorLog = quiet
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), serve(t, b, &http.Server{Handler: opinions(), ErrorLog: quiet})
}

// TestDifferential: what httpd answers is what net/http answers, however the request comes in.
func TestDifferential(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		std, ours := pair(t, b)
		t.Logf("%d requests", len(raw))
		random := rand.New(rand.NewPCG(1, 0))
		next := make(chan [][]byte)
		var asking sync.WaitGroup
		for range 8 {
			asking.Go(func() {
				for parts := range next {
					same(t, std, ours, parts...)
				}
			})
		}
		for _, q := range raw {
			next <- [][]byte{[]byte(q)}
			cut := random.IntN(len(q))
			next <- [][]byte{[]byte(q[:cut]), []byte(q[cut:])}
		}
		mutations := len(raw) / 2
		if testutil.Checking() {
			mutations = 2 * len(raw)
		}
		if testutil.Soak() > 0 {
			mutations = 100_000
			seed := rand.Uint64()
			t.Log("seed", seed)
			random = rand.New(rand.NewPCG(seed, 0))
		}
		for range mutations {
			next <- mutate(random)
		}
		close(next)
		asking.Wait()
	})
}

// mutate returns a request of raw with some bytes changed, in up to three pieces, now and then with
// another one behind it.
func mutate(random *rand.Rand) [][]byte {
	q := []byte(raw[random.IntN(len(raw))])
	if random.IntN(3) == 0 {
		q = append(q, raw[random.IntN(len(raw))]...)
	}
	for n := random.IntN(4); n > 0 && len(q) > 0; n-- {
		at := random.IntN(min(len(q), 400))
		switch random.IntN(4) {
		case 0:
			q[at] = byte(random.IntN(256))
		case 1:
			q = append(q[:at:at], q[min(at+1+random.IntN(3), len(q)):]...)
		case 2:
			q = append(q[:at:at], append([]byte("\r\n :,;=0\x00\t"[random.IntN(10):]), q[at:]...)...)
		default:
			q = append(q[:at:at], append(bytes.Clone(q[at:min(at+20, len(q))]), q[at:]...)...)
		}
	}
	a, b := random.IntN(len(q)+1), random.IntN(len(q)+1)
	a, b = min(a, b), max(a, b)
	return [][]byte{q[:a], q[a:b], q[b:]}
}

// TestFewBytesAfterRequest: net/http says nothing of less than four bytes after a request. While
// others wait, such a connection must not go to a worker that has served nothing, whose net/http
// answers 400.
func TestFewBytesAfterRequest(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		std, ours := pair(t, b)
		const size = 300_000
		head := fmt.Sprintf("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", size)
		var asking sync.WaitGroup
		for client := range 16 {
			asking.Go(func() {
				for i := 0; i < 30 && !t.Failed(); i++ {
					q := []byte(head + strings.Repeat("b", size+1+(i+client)%3))
					same(t, std, ours, q)
				}
			})
		}
		asking.Wait()
	})
}
