package httpd

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"
)

// hooks are between net/http and the user's fields of the http.Server, which get real connections.
type hooks struct {
	srv         *http.Server
	handler     http.Handler
	connState   func(net.Conn, http.ConnState)
	connContext func(context.Context, net.Conn) context.Context
	baseContext func(net.Listener) context.Context

	// Guarded by wrapping.
	serving []*server
	past    Stats // counters of Serves that have returned
}

// wrapping is held while the fields of a server change.
var wrapping sync.Mutex

type workerKey struct{}

// wrap puts hooks into srv, unless it has them. They stay, because nothing reports when net/http
// reads the fields for the last time. endServe ends what wrap begins for s, unless s is nil.
func wrap(srv *http.Server, s *server) *hooks {
	wrapping.Lock()
	defer wrapping.Unlock()
	h := hooksOf(srv)
	if h == nil {
		h = &hooks{
			srv: srv, handler: srv.Handler,
			connState: srv.ConnState, connContext: srv.ConnContext, baseContext: srv.BaseContext,
		}
		srv.Handler, srv.ConnState, srv.ConnContext, srv.BaseContext = h, h.changed, h.context, h.base
	}
	if s != nil {
		h.serving = append(h.serving, s)
	}
	return h
}

// hooksOf returns the hooks of srv, or nil. The caller holds wrapping.
func hooksOf(srv *http.Server) *hooks {
	if h, ok := srv.Handler.(*hooks); ok && h.srv == srv {
		return h
	}
	return nil
}

func (h *hooks) base(ln net.Listener) context.Context {
	if s, ok := ln.(*server); ok {
		ln = s.real
	}
	if h.baseContext != nil {
		return h.baseContext(ln)
	}
	return context.Background()
}

func (h *hooks) state(c net.Conn, to http.ConnState) {
	if h.connState != nil {
		h.connState(c, to)
	}
}

func (h *hooks) changed(nc net.Conn, to http.ConnState) {
	if i, ok := nc.(*standIn); ok {
		i.changed(to)
		return
	}
	w := workerOf(nc)
	if w == nil { // of another Serve, or HTTP/2
		if c := givenOf(nc); c != nil {
			switch to {
			case http.StateNew:
				return
			case http.StateHijacked: // HTTP/1 that began like HTTP/2
				l := c.lock()
				c.away()
				l.unlock()
			}
			nc = c
		}
		h.state(nc, to)
		return
	}
	l := w.loop
	l.mu.Lock()
	c := w.conn
	switch {
	case to == http.StateNew:
		l.work.count++
	case c == nil:
	case to == http.StateActive:
		c.served, c.held, c.until = true, false, 0
		w.request.unasked = w.request.heading
		w.setReadingHeader(false)
	case to == http.StateIdle:
		w.phase, w.request.unasked = answered, false
	case to == http.StateClosed:
		if c.reported {
			c = nil
		} else {
			c.reported = true
		}
	case to == http.StateHijacked:
		l.work.count--
		c.away()
	}
	l.unlock()
	if c != nil && to != http.StateNew {
		h.state(c, to)
	}
}

func (h *hooks) context(ctx context.Context, nc net.Conn) context.Context {
	if i, ok := nc.(*standIn); ok {
		return context.WithValue(ctx, workerKey{}, i)
	}
	w := workerOf(nc)
	if w == nil {
		if c := givenOf(nc); c != nil {
			if c.ctx != nil { // called for the handshake
				return c.ctx
			}
			nc = c
		}
		if h.connContext != nil {
			return h.connContext(ctx, nc)
		}
		return ctx
	}
	w.base = ctx
	return context.WithValue(ctx, workerKey{}, w)
}

func (h *hooks) handshakeContext(w *worker, c *conn) context.Context {
	ctx := w.base
	if h.connContext != nil {
		ctx = h.contextOf(w, c)
	}
	return context.WithValue(ctx, http.LocalAddrContextKey, c.LocalAddr())
}

// contextOf returns the context of the user's ConnContext, which it calls once.
func (h *hooks) contextOf(w *worker, c *conn) context.Context {
	if c.ctx == nil {
		if c.ctx = h.connContext(w.base, c); c.ctx == nil {
			panic("ConnContext returned nil")
		}
	}
	return c.ctx
}

func (h *hooks) headerTimeout() time.Duration {
	return cmp.Or(h.srv.ReadHeaderTimeout, h.srv.ReadTimeout)
}

func (h *hooks) handshakeTimeout() (d time.Duration) {
	for _, t := range []time.Duration{h.srv.ReadHeaderTimeout, h.srv.ReadTimeout, h.srv.WriteTimeout} {
		if t > 0 && (d == 0 || t < d) {
			d = t
		}
	}
	return d
}

// ServeHTTP calls the handler for a request of a worker.
//
//  1. Find the worker's connection, and note whether the request is a POST.
//  2. Give the request the connection's TLS state, RemoteAddr and context (exchange).
//  3. Give a request without a body a writer, with Hijack and deadlines of the connection.
//  4. Call the handler. If a read has cancelled the context, the worker serves no other
//     connection.
func (h *hooks) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	next := h.handler
	if next == nil {
		next = http.DefaultServeMux
	}
	switch w := r.Context().Value(workerKey{}).(type) {
	case *standIn:
	case *worker:
		c := w.servedConn()
		if c == nil { // it was closed
			next.ServeHTTP(rw, r)
			return
		}
		returned := false
		defer h.recovered(c, &returned)
		w.request.posted = r.Method == http.MethodPost
		c.posted = w.request.posted
		if c.tls != nil {
			state := c.tls.ConnectionState() // not kept, because an idle connection does not need it
			r.TLS = &state
		}
		r.RemoteAddr = c.remoteAddr()
		if h.connContext != nil {
			h.contextOf(w, c)
		}
		own := r.Context()
		e := &exchange{Context: own, conn: c, values: own}
		switch {
		case h.connContext == nil:
		case c.ctx.Done() == nil:
			e.values, e.more = c.ctx, own
		default: // ConnContext's may end before the request
			ctx, cancel := context.WithCancelCause(c.ctx)
			defer cancel(nil)
			defer context.AfterFunc(own, func() { cancel(context.Cause(own)) })()
			e.Context, e.values, e.more = ctx, ctx, own
		}
		*r = *r.WithContext(e)
		if full, ok := rw.(response); ok && r.Body == http.NoBody {
			e.writer = writer{response: full, worker: w, conn: c}
			rw = &e.writer
		}
		w.handling.Store(true)
		next.ServeHTTP(rw, r)
		w.handling.Store(false)
		returned = true
		if own.Err() != nil && w.base.Err() == nil { // cancelled by a read, not by the user's BaseContext
			w.loop.mu.Lock()
			w.pool.spoilt = true
			w.loop.mu.Unlock()
		}
	default:
		next.ServeHTTP(rw, r)
	}
}

// recovered handles a panic as net/http does, which does not know the client's address.
func (h *hooks) recovered(c *conn, returned *bool) {
	if *returned {
		return
	}
	if err := recover(); err != nil { // nil after runtime.Goexit, or panic(nil) with GODEBUG=panicnil=1
		h.panicked(c, err)
	}
	panic(http.ErrAbortHandler) // net/http closes the connection
}

func (h *hooks) panicked(c *conn, err any) {
	if err == http.ErrAbortHandler {
		return
	}
	text := fmt.Sprintf("http: panic serving %v: %v\n%s", c.RemoteAddr(), err, debug.Stack())
	if to := h.srv.ErrorLog; to != nil {
		to.Print(text)
	} else {
		c.loop().server.log.Error(text)
	}
}

// exchangeKey is the key of the exchange in its own context.
type exchangeKey struct{}

// exchange is a request's context, with the real connection's values. It ends with net/http's and
// with ConnContext's.
type exchange struct {
	context.Context
	conn         *conn
	values, more context.Context // more is asked after values, or nil
	writer       writer
}

func (e *exchange) Value(key any) any {
	switch key {
	case http.LocalAddrContextKey:
		return e.conn.LocalAddr()
	case exchangeKey{}:
		return e
	}
	if v := e.values.Value(key); v != nil || e.more == nil {
		return v
	}
	return e.more.Value(key)
}
