package httpd_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
)

// content writes a file that has n bytes.
func content(t testing.TB, n int) (path string, data []byte) {
	data = make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(data)
	path = filepath.Join(t.TempDir(), "content")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, data
}

// TestFiles: files of any size come whole and in parts, over TLS too, between other answers; how
// the handler copies makes no difference.
func TestFiles(t *testing.T) {
	const size = 1<<20 + 77
	path, data := content(t, size)
	m := mux()
	m.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) })
	m.HandleFunc("/copy", func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(path)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		w.Header().Set("Content-Length", fmt.Sprint(size))
		if n, err := io.Copy(w, f); n != size || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	m.HandleFunc("/chunked", func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(path)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		io.Copy(w, io.LimitReader(f, size))
	})
	ask := func(t *testing.T, c net.Conn) {
		r := bufio.NewReader(c)
		for _, q := range []struct {
			request  string
			from, to int
		}{
			{"GET /file HTTP/1.1\r\n", 0, size},
			{"GET /file HTTP/1.1\r\nRange: bytes=1000-900000\r\n", 1000, 900001},
			{"GET /file HTTP/1.1\r\nRange: bytes=1000-2000\r\n", 1000, 2001},
			{"HEAD /file HTTP/1.1\r\n", 0, 0},
			{"GET /copy HTTP/1.1\r\n", 0, size},
			{"GET /chunked HTTP/1.1\r\n", 0, size},
			{"GET /chunked HTTP/1.0\r\nConnection: keep-alive\r\n", 0, size},
		} {
			io.WriteString(c, q.request+"Host: x\r\n\r\n")
			res, err := http.ReadResponse(r, &http.Request{Method: q.request[:4]})
			if q.request[0] == 'H' {
				if err != nil || res.ContentLength != size {
					t.Fatal(res, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(res.Body)
			if err != nil || !bytes.Equal(got, data[q.from:q.to]) {
				t.Fatalf("%q: %d bytes, %v", q.request, len(got), err)
			}
		}
	}
	onEach(t, func(t *testing.T, b aio.Backend) {
		ask(t, dial(t, serve(t, b, &http.Server{Handler: m})))
		addr, client := secured(t, b, &http.Server{Handler: m})
		config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.NextProtos, config.ServerName = nil, "example.com"
		c := tls.Client(dial(t, addr), config)
		ask(t, c)
		c.Close()
	})
}

// TestContentLengthHolds where net/http holds it, also for a handler that copies more than it has
// said: over TLS, and on a unix socket. On TCP neither does.
func TestContentLengthHolds(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		const said, has = 1000, 2000
		for _, network := range []string{"tls", "unix"} {
			copied := make(chan error, 1)
			srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", strconv.Itoa(said))
				_, err := io.Copy(w, struct{ io.Reader }{strings.NewReader(strings.Repeat("a", has))})
				copied <- err
			})}
			var c net.Conn
			if network == "tls" {
				addr, client := secured(t, b, srv)
				config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
				config.NextProtos, config.ServerName = nil, "example.com"
				c = tls.Client(dial(t, addr), config)
			} else {
				ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
				if err != nil {
					t.Fatal(err)
				}
				begin(t, httpd.Options{Backend: b}, srv, ln)
				if c, err = net.Dial("unix", ln.Addr().String()); err != nil {
					t.Fatal(err)
				}
				defer srv.Close()
			}
			defer c.Close()
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			all, err := io.ReadAll(c)
			if _, body, _ := strings.Cut(string(all), "\r\n\r\n"); err != nil || len(body) > said {
				t.Errorf("%s: %d bytes of %d came, %v", network, len(body), said, err)
			}
			if err := <-copied; !errors.Is(err, http.ErrContentLength) {
				t.Errorf("%s: Copy returned %v", network, err)
			}
		}
	})
}

// TestFileEnds: a copy of a large file ends when the client leaves, when its time is over, and when
// the server is closed.
func TestFileEnds(t *testing.T) {
	const size = 1 << 30 // of nothing: it takes no room
	path := filepath.Join(t.TempDir(), "sparse")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	onEach(t, func(t *testing.T, b aio.Backend) {
		for what, end := range map[string]func(srv *http.Server, c net.Conn){
			"the client leaves": func(_ *http.Server, c net.Conn) { c.Close() },
			"its time is over":  nil,
			"closed":            func(srv *http.Server, _ net.Conn) { srv.Close() },
		} {
			copied := make(chan error, 1)
			srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				f, err := os.Open(path)
				if err != nil {
					t.Error(err)
					return
				}
				defer f.Close()
				w.Header().Set("Content-Length", fmt.Sprint(size))
				_, err = io.Copy(w, f)
				copied <- err
			})}
			if end == nil {
				srv.WriteTimeout = 300 * time.Millisecond
			}
			c := dial(t, serve(t, b, srv))
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			if end != nil {
				if _, err := io.ReadFull(c, make([]byte, 1<<20)); err != nil { // it is under way
					t.Fatal(err)
				}
				end(srv, c)
			}
			if err := wait(t, copied, what); err == nil {
				t.Errorf("%s: all was copied", what)
			}
		}
	})
}
