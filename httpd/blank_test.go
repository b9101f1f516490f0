package httpd_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/testutil"
)

// TestEmptyLines: those before a request are forgiven where the connection's own last request was a POST, as by net/http, whatever was asked on
// the connections that its workers had meanwhile.
func TestEmptyLines(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		plain := serve(t, b, &http.Server{Handler: opinions()})
		secure, client := secured(t, b, &http.Server{Handler: opinions()})
		config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.NextProtos, config.ServerName = nil, "example.com"
		for name, dial := range map[string]func() net.Conn{
			"plain": func() net.Conn { return dial(t, plain) },
			"TLS":   func() net.Conn { return tls.Client(dial(t, secure), config) },
		} {
			t.Run(name, func(t *testing.T) {
				ask := func(c net.Conn, r *bufio.Reader, request string) int {
					t.Helper()
					fmt.Fprint(c, request)
					res, err := http.ReadResponse(r, nil)
					if err != nil {
						t.Fatalf("%q: %v", request, err)
					}
					_, _ = io.Copy(io.Discard, res.Body)
					return res.StatusCode
				}
				const post, get = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
				posted, got := dial(), dial()
				p, g := bufio.NewReader(posted), bufio.NewReader(got)
				for _, blank := range []string{"\r\n", "\r\n\r\n", "\n", "\n\r\n\n"} {
					ask(got, g, get)
					ask(posted, p, post)
					third := dial()
					if status := ask(third, bufio.NewReader(third), blank+get); status != 400 {
						t.Errorf("%q at the beginning: %d, want 400", blank, status)
					}
					ask(got, g, get)
					if status := ask(posted, p, blank+get); status != 200 {
						t.Errorf("%q after a POST: %d, want 200", blank, status)
					}
					ask(posted, p, post)
				}
				if status := ask(posted, p, "\r\n\r\n\r\n"+get); status != 400 {
					t.Errorf("six bytes after a POST: %d, want 400", status)
				}
				ask(got, g, get)
				if status := ask(got, g, "\r\n"+get); status != 400 {
					t.Errorf("after a GET: %d, want 400", status)
				}
			})
		}
	})
}

// TestTornRequest: a first request that stops after two bytes and is not there in time is a bad
// one, whatever its worker has served before, as with net/http. On a busy machine the time may be
// over before the bytes are read, then there is more.
func TestTornRequest(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	onEach(t, func(t *testing.T, b aio.Backend) {
		for _, before := range []string{"", "GET", "POST"} {
			torn := func(limit time.Duration) []byte {
				srv := &http.Server{Handler: mux(), ReadHeaderTimeout: limit}
				addr := serve(t, b, srv)
				if before != "" {
					c := dial(t, addr)
					fmt.Fprintf(c, "%s /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", before)
					if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
						t.Fatal(err)
					}
					until(t, srv, "an idle worker", func(s httpd.Stats) bool { return s.Parked == 1 })
				}
				c := dial(t, addr)
				io.WriteString(c, "GE")
				got, err := io.ReadAll(c)
				if err != nil && !isReset(err) {
					t.Fatal(err)
				}
				if s := httpd.StatsOf(srv); s.HeaderTimeouts != 1 {
					t.Errorf("%+v, want one header that was late", s)
				}
				return got
			}
			const want = "HTTP/1.1 400 Bad Request"
			var got []byte
			for limit := 250 * time.Millisecond; limit < patience && !bytes.HasPrefix(got, []byte(want)); limit *= 4 {
				got = torn(limit)
			}
			if !bytes.HasPrefix(got, []byte(want)) {
				t.Errorf("by a worker that has served %q: %q, want %s", before, got, want)
			}
		}
	})
}
