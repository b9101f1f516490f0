package httpd_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/testutil"
)

// fields are those of an http.Server that httpd wraps.
type fields struct {
	handler                             http.Handler
	connState, connContext, baseContext uintptr
}

func fieldsOf(srv *http.Server) fields {
	at := func(f any) uintptr { return reflect.ValueOf(f).Pointer() }
	return fields{srv.Handler, at(srv.ConnState), at(srv.ConnContext), at(srv.BaseContext)}
}

// TestRestored: when Serve has returned, the server has the user's fields again, and net/http or
// another Serve of httpd may go on with it.
func TestRestored(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	onEach(t, func(t *testing.T, b aio.Backend) {
		srv := &http.Server{
			Handler:     mux(),
			ConnState:   func(net.Conn, http.ConnState) {},
			ConnContext: func(ctx context.Context, _ net.Conn) context.Context { return ctx },
			BaseContext: func(net.Listener) context.Context { return t.Context() },
		}
		before := fieldsOf(srv)
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
			if after := fieldsOf(srv); after != before {
				t.Errorf("after Serve %d: %+v, before %+v", i, after, before)
			}
		}
		if s := httpd.StatsOf(srv); s.Accepted != 2 {
			t.Errorf("%+v, want two connections", s)
		}
	})
}

// TestRestoredByHandler: a handler that outlives Serve keeps the fields as they are until it
// returns, and does not keep Serve.
func TestRestoredByHandler(t *testing.T) {
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
		ended := begin(t, b, srv, ln)
		if _, err := dial(t, ln.Addr().String()).Write([]byte("GET /block HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		<-entered
		srv.Close()
		if err := wait(t, ended, "Serve's end"); err != http.ErrServerClosed {
			t.Error(err)
		}
		if srv.Handler == http.Handler(m) {
			t.Error("the fields were restored while net/http may read them")
		}
		close(release)
		wait(t, closed, "StateClosed")
		if srv.Handler != http.Handler(m) {
			t.Error("the handler was not restored")
		}
	})
}

// handed is a listener that accepts what it is handed.
type handed struct {
	net.Listener
	asked chan bool
	conns chan net.Conn
	once  sync.Once
}

func (l *handed) Accept() (net.Conn, error) {
	l.asked <- true
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l *handed) Close() error {
	l.once.Do(func() { close(l.conns) })
	return l.Listener.Close()
}

// TestNetHTTPFirst: a Serve of net/http that began before is noticed at its next connection, once.
// The listener orders what net/http reads and what httpd writes, so that there is no race here.
func TestNetHTTPFirst(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		listen := func() net.Listener {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			return ln
		}
		srv := &http.Server{Handler: mux()}
		theirs := &handed{Listener: listen(), asked: make(chan bool), conns: make(chan net.Conn)}
		ended := make(chan error, 2)
		go func() { ended <- srv.Serve(theirs) }()
		<-theirs.asked
		var log bytes.Buffer
		ours := listen()
		go func() {
			o := httpd.Options{Backend: b, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			ended <- httpd.Serve(t.Context(), srv, ours, o)
		}()
		dial(t, ours.Addr().String())
		until(t, srv, "a connection", func(s httpd.Stats) bool { return s.Accepted == 1 })
		for range 2 {
			client, conn := net.Pipe()
			theirs.conns <- conn
			<-theirs.asked
			if got := get(t, client, bufio.NewReader(client), "/hello?n=1"); got != "hello 1" {
				t.Errorf("%q", got)
			}
		}
		srv.Close()
		for range 2 {
			if err := wait(t, ended, "Serve's end"); err != http.ErrServerClosed {
				t.Error(err)
			}
		}
		if n := bytes.Count(log.Bytes(), []byte("call httpd's Serve first")); n != 1 {
			t.Errorf("logged %d times: %s", n, &log)
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
