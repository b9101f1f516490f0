package httpd

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"syscall"
	"time"
)

// ListenAndServeTLS listens at srv.Addr, or ":https", and then calls [ServeTLS].
func ListenAndServeTLS(ctx context.Context, srv *http.Server, certFile, keyFile string, o Options) error {
	ln, err := listen(ctx, cmp.Or(srv.Addr, ":https"))
	if err != nil {
		return err
	}
	return ServeTLS(ctx, srv, ln, certFile, keyFile, o)
}

// ServeTLS is [Serve] over TLS. The files are needed if srv.TLSConfig has no certificate. An idle
// connection keeps crypto/tls's state, but neither a goroutine nor net/http's buffers. net/http
// serves HTTP/2 with its goroutines.
func ServeTLS(ctx context.Context, srv *http.Server, ln net.Listener, certFile, keyFile string, o Options) error {
	config, err := configOf(srv, certFile, keyFile)
	if err != nil {
		_ = ln.Close()
		return err
	}
	return serve(ctx, srv, ln, o, config)
}

// configOf makes of srv.TLSConfig what http.Server.ServeTLS makes of it.
func configOf(srv *http.Server, certFile, keyFile string) (*tls.Config, error) {
	// net/http prepares srv for HTTP/2 once, and fails for want of a certificate. With
	// GODEBUG=http2server=0 it does not prepare it.
	_ = srv.ServeTLS(nil, "", "none")
	first, second := true, srv.TLSNextProto["h2"] != nil
	if srv.Protocols != nil {
		first, second = srv.Protocols.HTTP1(), second && srv.Protocols.HTTP2()
	}
	config := &tls.Config{}
	if srv.TLSConfig != nil {
		config = srv.TLSConfig.Clone()
	}
	config.NextProtos = slices.DeleteFunc(slices.Clone(config.NextProtos), func(p string) bool {
		return p == "h2" && !second || p == "http/1.1" && !first
	})
	if second && !slices.Contains(config.NextProtos, "h2") {
		config.NextProtos = append(config.NextProtos, "h2")
	}
	if first && !slices.Contains(config.NextProtos, "http/1.1") {
		config.NextProtos = append(config.NextProtos, "http/1.1")
	}
	if len(config.Certificates) == 0 && config.GetCertificate == nil && config.GetConfigForClient == nil ||
		certFile != "" || keyFile != "" {
		cert, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{cert}
	}
	return config, nil
}

// errNotNow is a wire's error instead of waiting. It is Temporary, so crypto/tls goes on later. aio
// does not return it.
const errNotNow = syscall.EAGAIN

// wire is the transport of crypto/tls: the connection by its current worker, or past aio after
// Hijack. net/http has it for HTTP/2 without TLS.
type wire struct{ conn *conn }

// Read is called by the worker's goroutines, or by the owner of a hijacked connection.
func (w wire) Read(p []byte) (int, error) {
	if real := w.real(); real != nil {
		return real.Read(p)
	}
	c := w.conn
	l := c.lock()
	defer l.unlock()
	switch {
	case c.worker == nil:
		return 0, net.ErrClosed
	case c.now && len(c.in) == 0 && c.err == nil && !c.ended:
		return 0, errNotNow
	case c.worker.hello != nil:
		return c.worker.hello.Read(p)
	}
	return c.worker.read(p)
}

func (w wire) Write(p []byte) (int, error) {
	if real := w.real(); real != nil {
		return real.Write(p)
	}
	c := w.conn
	l := c.lock()
	defer l.unlock()
	if c.worker != nil {
		return c.write(c.worker, p)
	}
	if c.ended || c.outErr != nil {
		return 0, net.ErrClosed
	}
	if err := c.queue(bytes.Clone(p), time.Now().Add(flushLimit)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w wire) real() net.Conn {
	l := w.conn.lock()
	defer l.mu.Unlock()
	return w.conn.real
}

func (w wire) Close() error {
	if real := w.real(); real != nil {
		return real.Close()
	}
	l := w.conn.lock()
	defer l.unlock()
	w.conn.ending = true
	w.conn.end()
	return nil
}

// SyscallConn is for callbacks of the handshake.
func (w wire) SyscallConn() (syscall.RawConn, error) { return w.conn.SyscallConn() }

func (w wire) LocalAddr() net.Addr  { return w.conn.LocalAddr() }
func (w wire) RemoteAddr() net.Addr { return w.conn.RemoteAddr() }

func (w wire) SetDeadline(t time.Time) error {
	_ = w.SetReadDeadline(t)
	return w.SetWriteDeadline(t)
}

func (w wire) SetReadDeadline(t time.Time) error {
	return w.until(t, net.Conn.SetReadDeadline, (*worker).readUntil)
}

func (w wire) SetWriteDeadline(t time.Time) error {
	return w.until(t, net.Conn.SetWriteDeadline, (*worker).writeUntil)
}

// until sets a deadline of the connection past aio, or else of the worker.
func (w wire) until(t time.Time, past func(net.Conn, time.Time) error, set func(*worker, time.Time)) error {
	if real := w.real(); real != nil {
		return past(real, t)
	}
	l := w.conn.lock()
	defer l.mu.Unlock()
	if to := w.conn.worker; to != nil {
		set(to, t)
	}
	return nil
}

// readNow reads what c has for net/http without waiting, and returns false if there is nothing.
// crypto/tls keeps part of a record. The caller holds mu, which readNow releases for a while.
func (c *conn) readNow(w *worker, p []byte) (n int, err error, some bool) { //nolint:revive // as the callers read it
	l := c.loop()
	c.now = true
	func() {
		l.mu.Unlock()
		defer l.mu.Lock() // even after a panic, which net/http recovers
		n, err = c.tls.Read(p)
	}()
	c.now = false
	if n == 0 && errors.Is(err, errNotNow) {
		return 0, nil, false
	}
	w.phase = inRequest
	w.request.got = max(w.request.got, peeked) // plain bytes may be fewer; deadlines.in limits them
	if c.served && c.until > 0 {
		w.deadlines.in = l.server.start.Add(c.until)
	}
	return n, err, true
}

// greet does the handshake of a new connection. It returns false if the handshake failed, or if
// net/http serves HTTP/2. The caller holds mu, which greet releases for a while.
func (c *conn) greet(w *worker) bool {
	l := c.loop()
	c.tls = tls.Server(wire{c}, l.server.config)
	w.hello = &hello{from: w.read}
	if c.until > 0 {
		w.deadlines.out = l.server.start.Add(c.until)
	}
	protocol, err := c.shake(w)
	w.hello, w.deadlines.out = nil, time.Time{}
	if err != nil || l.server.closed.Load() {
		if err != nil {
			c.ending = true
			if errors.Is(err, os.ErrDeadlineExceeded) {
				l.counts.HeaderTimeouts++
			} else {
				l.counts.Handshakes++
			}
		}
		c.worker = nil // net/http does not report its end
		c.end()
		if c.dropped {
			c.reportEnd()
		}
		return false
	}
	c.until = l.server.endOf(l.server.hooks.headerTimeout())
	if protocol == "" || protocol == "http/1.1" {
		return true
	}
	c.give(c.tls)
	return false
}

var errPanicked = errors.New("httpd: a callback of the handshake has panicked")

func (c *conn) shake(w *worker) (protocol string, err error) {
	l := c.loop()
	l.mu.Unlock()
	defer l.mu.Lock()
	defer func() {
		if p := recover(); p != nil {
			l.server.hooks.panicked(c, p)
			err = errPanicked
		}
	}()
	if err = c.tls.HandshakeContext(l.server.hooks.handshakeContext(w, c)); err != nil {
		l.blame(c, err)
		return "", err
	}
	return c.tls.ConnectionState().NegotiatedProtocol, nil
}

// fail ends a connection without a worker. It first logs a silent TLS connection.
func (c *conn) fail(err error) {
	l := c.loop()
	if l.server.config == nil || c.tls != nil {
		c.end()
		return
	}
	if c.parked {
		l.unpark(c)
	}
	l.callbacks.later = append(l.callbacks.later, func() {
		l.blame(c, err)
		l.mu.Lock()
		defer l.unlock()
		c.end()
	})
}

// blame logs a failed handshake, and answers plain HTTP.
func (l *loop) blame(c *conn, err error) {
	var re tls.RecordHeaderError
	if errors.As(err, &re) && re.Conn != nil && slices.Contains([]string{"GET /", "HEAD ", "POST ", "PUT /", "OPTIO"},
		string(re.RecordHeader[:])) {
		_, _ = io.WriteString(re.Conn,
			"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
		err = errors.New("client sent an HTTP request to an HTTPS server")
	}
	if to := l.server.hooks.srv.ErrorLog; to != nil {
		to.Printf("http: TLS handshake error from %s: %v", c.RemoteAddr(), err)
	} else {
		l.server.log.Warn("http: TLS handshake error", "remote", c.RemoteAddr(), "error", err)
	}
}

// preface begins HTTP/2 (RFC 9113, 3.4).
var preface = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

func (c *conn) prefaced() bool {
	n := min(len(c.in), len(preface))
	return n > 0 && bytes.Equal(c.in[:n], preface[:n])
}

// give lets net/http serve the connection as HTTP/2, with its own goroutines.
func (c *conn) give(nc net.Conn) {
	own := newWorker(c.loop())
	own.phase, own.fresh, own.pool.woken, own.request.got, own.conn = inRequest, false, false, peeked, c
	c.worker, c.served, c.until = own, true, 0
	s := c.loop().server
	s.mu.Lock()
	closed := s.closed.Load() // then Accept may have returned for the last time
	if !closed {
		s.others = append(s.others, nc)
		s.needed.Signal()
	}
	s.mu.Unlock()
	if c.reported = !closed; closed { // otherwise net/http reports from here on
		c.worker = nil
		c.end()
	}
}

func givenOf(nc net.Conn) *conn {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	if wire, ok := nc.(wire); ok {
		return wire.conn
	}
	return nil
}

// secured is a worker for TLS connections. With ConnectionState net/http does not look for HTTP/2's
// preface.
type secured struct{ copying }

// copying is a worker without ReadFrom, for unix sockets and TLS. net/http uses ReadFrom only on
// TCP, and then sends more than the Content-Length.
type copying struct{ closeWriter }

type closeWriter interface {
	net.Conn
	CloseWrite() error
	self() *worker
}

func (secured) ConnectionState() (none tls.ConnectionState) { return none }

func (w *worker) self() *worker { return w }

func workerOf(nc net.Conn) *worker {
	if w, ok := nc.(interface{ self() *worker }); ok {
		return w.self()
	}
	return nil
}
