package netconn_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
	"evenkeel.dev/aio/netconn"
)

// certificate is that of httptest, for example.com, and who trusts it.
var certificate = sync.OnceValues(func() (tls.Certificate, *x509.CertPool) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	trust := x509.NewCertPool()
	trust.AddCert(s.Certificate())
	return s.TLS.Certificates[0], trust
})

// attaching is a listener whose connections are Conns.
type attaching struct {
	net.Listener
	w *aio.Watcher
}

func (l attaching) Accept() (net.Conn, error) { return l.attach(l.Listener.Accept()) }

func (l attaching) dial() (net.Conn, error) { return l.attach(net.Dial("tcp", l.Addr().String())) }

func (l attaching) attach(c net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	handle, err := l.w.Attach(c)
	if err != nil {
		return nil, err
	}
	return netconn.New(handle), nil
}

// onListener runs f with a listener of Conns and a dialer of Conns, on one Watcher, for each backend.
func onListener(t *testing.T, f func(t *testing.T, l net.Listener, dial func() (net.Conn, error))) {
	aiosuite.OnEach(t, func(t *testing.T, b aio.Backend) {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		l := attaching{tcp, drive(t, overKernel(b, "tcp"))}
		defer func() { _ = l.Close() }()
		f(t, l, l.dial)
	})
}

// TestTLS: a handshake and lines of text by crypto/tls and bufio, over Conns on both sides.
func TestTLS(t *testing.T) {
	onListener(t, func(t *testing.T, l net.Listener, dial func() (net.Conn, error)) {
		own, trust := certificate()
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{own}})
		var serving sync.WaitGroup
		defer serving.Wait()
		serving.Go(func() {
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			in := bufio.NewReader(c)
			for err == nil {
				var line string
				if line, err = in.ReadString('\n'); err == nil {
					_, err = io.WriteString(c, strings.ToUpper(line))
				}
			}
			if err != io.EOF {
				t.Errorf("the server's end: %v, want io.EOF", err)
			}
			_ = c.Close()
		})
		c, err := dial()
		must(t, err)
		must(t, c.SetDeadline(time.Now().Add(aiosuite.Patience)))
		client := tls.Client(c, &tls.Config{RootCAs: trust, ServerName: "example.com"})
		in := bufio.NewReader(client)
		for _, size := range []int{1, 1000, 100_000} { // up to several records
			line := strings.Repeat("x", size) + "\n"
			_, err := io.WriteString(client, line)
			must(t, err)
			if got, err := in.ReadString('\n'); err != nil || got != strings.ToUpper(line) {
				t.Fatalf("%d bytes, %v; want %d", len(got), err, len(line))
			}
		}
		must(t, client.Close())
	})
}

// TestHTTP: net/http's Server and Transport over Conns: keep-alive connections, concurrent requests with
// bodies, timeouts of its own; HTTP/1.1 and HTTP/2, with TLS and without.
func TestHTTP(t *testing.T) {
	for name, tt := range map[string]struct {
		tls, http2 bool
		proto      string
	}{
		"http/1.1":            {false, false, "HTTP/1.1"},
		"http/1.1 over TLS":   {true, false, "HTTP/1.1"},
		"http/2 by knowledge": {false, true, "HTTP/2.0"},
		"http/2 over TLS":     {true, true, "HTTP/2.0"},
	} {
		t.Run(name, func(t *testing.T) {
			onListener(t, func(t *testing.T, l net.Listener, dial func() (net.Conn, error)) {
				testHTTP(t, l, dial, tt.tls, tt.http2, tt.proto)
			})
		})
	}
}

func testHTTP(t *testing.T, l net.Listener, dial func() (net.Conn, error), overTLS, http2 bool, proto string) {
	own, trust := certificate()
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2 && overTLS)
	protocols.SetUnencryptedHTTP2(http2 && !overTLS)
	server := &http.Server{
		Protocols:         &protocols,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{own}},
		ReadHeaderTimeout: aiosuite.Patience,
		IdleTimeout:       aiosuite.Patience,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error("a request's body:", err)
			}
			_, _ = fmt.Fprintf(w, "%s %s", r.Proto, body)
		}),
	}
	served := make(chan error, 1)
	go func() {
		if overTLS {
			served <- server.ServeTLS(l, "", "")
		} else {
			served <- server.Serve(l)
		}
	}()
	transport := &http.Transport{
		Protocols:       &protocols,
		TLSClientConfig: &tls.Config{RootCAs: trust, ServerName: "example.com"},
		DialContext:     func(context.Context, string, string) (net.Conn, error) { return dial() },
	}
	url := "http://example.com/"
	if overTLS {
		url = "https://example.com/"
	}
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() {
			for _, size := range []int{0, 10, 100_000} {
				body := strings.Repeat("b", size+i)
				r, err := (&http.Client{Transport: transport, Timeout: aiosuite.Patience}).Post(url, "text/plain",
					strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(r.Body)
				_ = r.Body.Close()
				if want := proto + " " + body; err != nil || string(got) != want {
					t.Errorf("%.20q, %d bytes, %v; want %.20q, %d", got, len(got), err, want, len(want))
				}
			}
		})
	}
	clients.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), aiosuite.Patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- server.Shutdown(ctx) }()
	for ended != nil {
		// A connection that no request has used yet is not told of the end if it begins HTTP/2 after
		// Shutdown (net/http, startGracefulShutdown).
		transport.CloseIdleConnections()
		select {
		case err := <-ended:
			if ended = nil; err != nil {
				t.Error("Shutdown:", err)
			}
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := <-served; err != http.ErrServerClosed {
		t.Error(err)
	}
}
