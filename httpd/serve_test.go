package httpd_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"runtime"
	"testing"
	"time"
	"weak"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/testutil"
)

const queued = 240 << 10 // bytes of an answer, for which no Write waits

func fill(w http.ResponseWriter) {
	for range queued >> 10 {
		w.Write(make([]byte, 1<<10))
	}
	http.NewResponseController(w).Flush()
}

// TestShutdownSends: Shutdown returns when answers are with the kernel, though their handlers have
// ended long before: of a connection that is kept alive, of one that is not, and of a request that
// goes on meanwhile.
func TestShutdownSends(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m, answered, release := mux(), make(chan bool), make(chan bool)
		m.HandleFunc("/answer", func(w http.ResponseWriter, r *http.Request) {
			if r.FormValue("late") != "" {
				answered <- true
				<-release
			}
			fill(w)
			if r.FormValue("late") == "" {
				answered <- true
			}
		})
		srv := &http.Server{Handler: m}
		ln := narrow(t)
		ended := begin(t, httpd.Options{Backend: b}, srv, ln)
		var clients []net.Conn
		for _, request := range []string{
			"GET /answer HTTP/1.1\r\nHost: x\r\n",
			"GET /answer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", "GET /answer?late=1 HTTP/1.1\r\nHost: x\r\n",
		} {
			c := dial(t, ln.Addr().String())
			fmt.Fprintf(c, "%s\r\n", request)
			<-answered
			clients = append(clients, c)
		}
		down := make(chan error, 1)
		go func() { down <- srv.Shutdown(context.Background()) }()
		serveEnds(t, ln.Addr().String())
		close(release)
		for i, c := range clients {
			select {
			case err := <-down:
				t.Fatalf("it returned, %v, with the answer of client %d not read", err, i)
			default:
			}
			if n, _ := io.Copy(io.Discard, c); n < queued {
				t.Errorf("client %d got %d bytes", i, n)
			}
		}
		if err := wait(t, down, "Shutdown's end"); err != nil {
			t.Error(err)
		}
		if err := wait(t, ended, "Serve's end"); err != http.ErrServerClosed {
			t.Error(err)
		}
	})
}

// TestCloseLeaves: Close does not wait for clients that do not read, as in net/http; Serve does.
func TestCloseLeaves(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m, answered := mux(), make(chan bool)
		m.HandleFunc("/answer", func(w http.ResponseWriter, r *http.Request) {
			fill(w)
			answered <- true
		})
		srv := &http.Server{Handler: m}
		ln := narrow(t)
		ended := begin(t, httpd.Options{Backend: b}, srv, ln)
		var clients []net.Conn
		for range 50 {
			c := dial(t, ln.Addr().String())
			io.WriteString(c, "GET /answer HTTP/1.1\r\nHost: x\r\n\r\n")
			<-answered
			clients = append(clients, c)
		}
		closed := make(chan error, 1)
		go func() { closed <- srv.Close() }()
		if err := wait(t, closed, "Close's end"); err != nil {
			t.Error(err)
		}
		select {
		case <-ended:
			t.Error("Serve returned with answers that nobody has read")
		default:
		}
		for _, c := range clients {
			c.Close()
		}
		if err := wait(t, ended, "Serve's end"); err != http.ErrServerClosed {
			t.Error(err)
		}
	})
}

// fields are those of an http.Server that httpd wraps.
type fields struct {
	handler                             http.Handler
	connState, connContext, baseContext uintptr
}

func fieldsOf(srv *http.Server) fields {
	at := func(f any) uintptr { return reflect.ValueOf(f).Pointer() }
	return fields{srv.Handler, at(srv.ConnState), at(srv.ConnContext), at(srv.BaseContext)}
}

// TestServedAgain: when Serve has returned, net/http or another Serve of httpd may go on with the
// server, whose fields httpd replaces once.
func TestServedAgain(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	onEach(t, func(t *testing.T, b aio.Backend) {
		srv := &http.Server{
			Handler:     mux(),
			ConnState:   func(net.Conn, http.ConnState) {},
			ConnContext: func(ctx context.Context, _ net.Conn) context.Context { return ctx },
			BaseContext: func(net.Listener) context.Context { return t.Context() },
		}
		var before fields
		byHTTPD := func(ln net.Listener) error { return httpd.Serve(t.Context(), srv, ln, httpd.Options{Backend: b}) }
		for i, serve := range []func(net.Listener) error{byHTTPD, byHTTPD, srv.Serve} {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- serve(ln) }()
			c := dial(t, ln.Addr().String())
			if got := get(t, c, bufio.NewReader(c), "/hello?n=1"); got != "hello 1" {
				t.Errorf("%q", got)
			}
			if err := ln.Close(); err != nil {
				t.Error(err)
			}
			if err := wait(t, ended, "Serve's end"); err == nil {
				t.Error("Serve returned no error")
			}
			if i == 0 {
				before = fieldsOf(srv)
			}
			if after := fieldsOf(srv); after != before {
				t.Errorf("after Serve %d: %+v, before %+v", i, after, before)
			}
		}
		if s := httpd.StatsOf(srv); s.Accepted != 2 {
			t.Errorf("%+v, want two connections", s)
		}
	})
}

// TestHandlerOutlivesServe: a handler does not keep Serve, and ConnState is told of its end.
func TestHandlerOutlivesServe(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m, entered, release, closed := mux(), make(chan bool), make(chan bool), make(chan bool)
		m.HandleFunc("/block", func(http.ResponseWriter, *http.Request) { close(entered); <-release })
		srv := &http.Server{Handler: m, ConnState: func(_ net.Conn, to http.ConnState) {
			if to == http.StateClosed {
				close(closed)
			}
		}}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ended := begin(t, httpd.Options{Backend: b}, srv, ln)
		if _, err := dial(t, ln.Addr().String()).Write([]byte("GET /block HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		<-entered
		srv.Close()
		if err := wait(t, ended, "Serve's end"); err != http.ErrServerClosed {
			t.Error(err)
		}
		close(release)
		wait(t, closed, "StateClosed")
	})
}

func TestStatsOfNil(t *testing.T) {
	if s := httpd.StatsOf(nil); !reflect.ValueOf(s).IsZero() {
		t.Errorf("%+v, want none", s)
	}
}

// TestCollectedAfterServe: the http.Server is not kept in memory for its IdleTimeout.
func TestCollectedAfterServe(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		server := func() weak.Pointer[http.Server] {
			srv := &http.Server{Handler: mux(), IdleTimeout: time.Hour}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ended := begin(t, httpd.Options{Backend: b}, srv, ln)
			c := dial(t, ln.Addr().String())
			get(t, c, bufio.NewReader(c), "/hello")
			for end := time.Now().Add(patience); httpd.StatsOf(srv).Parked == 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the connection is not parked")
				}
			}
			srv.Close()
			if err := wait(t, ended, "Serve's end"); err != http.ErrServerClosed {
				t.Error(err)
			}
			return weak.Make(srv)
		}()
		for end := time.Now().Add(patience); server.Value() != nil; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("it is still in memory")
			}
			runtime.GC()
		}
	})
}

// TestUnproven: where net/http is not what httpd relies on, it serves by itself, with TLS too, and
// the log says so once.
func TestUnproven(t *testing.T) {
	httpd.SetProof(t, errors.New("planted"))
	var log bytes.Buffer
	o := httpd.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	from := httptest.NewUnstartedServer(nil) // for its certificate
	from.StartTLS()
	defer from.Close()
	for _, secure := range []bool{false, true} {
		conns := make(chan net.Conn, 9)
		srv := &http.Server{Handler: mux(), ConnState: func(c net.Conn, to http.ConnState) {
			if to == http.StateActive {
				conns <- c
			}
		}}
		srv.TLSConfig = &tls.Config{Certificates: from.TLS.Certificates}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			if secure {
				ended <- httpd.ServeTLS(t.Context(), srv, ln, "", "", o)
			} else {
				ended <- httpd.Serve(t.Context(), srv, ln, o)
			}
		}()
		c := dial(t, ln.Addr().String())
		if secure {
			config := from.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
			config.ServerName, config.NextProtos = "example.com", nil
			c = tls.Client(c, config)
		}
		if got := get(t, c, bufio.NewReader(c), "/hello?n=1"); got != "hello 1" {
			t.Errorf("%q", got)
		}
		switch c := wait(t, conns, "StateActive").(type) {
		case *net.TCPConn, *tls.Conn:
		default:
			t.Errorf("ConnState has got a %T, which is not net/http's", c)
		}
		srv.Close()
		if err := wait(t, ended, "Serve's end"); err != http.ErrServerClosed {
			t.Error(err)
		}
	}
	if n := bytes.Count(log.Bytes(), []byte("planted")); n != 1 {
		t.Errorf("logged %d times: %s", n, &log)
	}
}

// TestHeaderTimeoutBehindAHandshake: a worker that was new when it did a handshake is in its first
// request for net/http, which sets no time for the header of the next.
func TestHeaderTimeoutBehindAHandshake(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	onEach(t, func(t *testing.T, b aio.Backend) {
		var err error
		for limit := time.Second; limit < patience; limit *= 4 { // again where a busy machine has used it up before
			if err = headerBehindAHandshake(t, b, limit); err == nil {
				return
			}
		}
		t.Error(err)
	})
}

// headerBehindAHandshake fails where a handshake or a header was not there within limit that is to be.
func headerBehindAHandshake(t *testing.T, b aio.Backend, limit time.Duration) error {
	m := mux()
	busy, release := make(chan error, 1), make(chan struct{})
	defer close(release)
	m.HandleFunc("/block", func(http.ResponseWriter, *http.Request) { busy <- nil; <-release })
	addr, client := secured(t, b, &http.Server{
		Handler: m, ReadHeaderTimeout: limit,
		ErrorLog: log.New(io.Discard, "", 0),
	})
	config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos, config.ServerName = nil, "example.com"
	c := tls.Client(dial(t, addr), config)
	r := bufio.NewReader(c)
	io.WriteString(c, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	other := tls.Client(dial(t, addr), config)
	io.WriteString(other, "GET /block HTTP/1.1\r\nHost: x\r\n\r\n")
	go func() {
		if _, err := other.Read(make([]byte, 1)); err != nil {
			busy <- err
		}
	}()
	if err := wait(t, busy, "the request"); err != nil {
		return err
	}
	if err := tls.Client(dial(t, addr), config).Handshake(); err != nil { // by another worker
		return err
	}
	time.Sleep(100 * time.Millisecond) // until that has nothing to do
	c.SetDeadline(time.Now().Add(patience))
	io.WriteString(c, "GET /hello HTTP/1.1\r\nHo")
	if _, err := io.ReadAll(r); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a connection whose header does not go on has no end")
	}
	return nil
}
