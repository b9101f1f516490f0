package loadgen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// lane carries one request at a time. One worker owns it.
type lane interface {
	// exchange sends a request and reads its answer. sent is when it was first tried.
	exchange(ctx context.Context, j job) (sent int64, a answer, err error)
	ready() bool
}

func (e *engine) newLane(worker int) lane {
	switch {
	case e.o.Call != nil:
		return &callLane{e, worker}
	case e.o.Transport != nil:
		return &tripLane{e}
	}
	return &socketLane{e: e, conns: make([]*conn, len(e.hosts))}
}

// socketLane is the built-in client of HTTP/1.1.
type socketLane struct {
	e     *engine
	conns []*conn // by host; nil: not connected
}

func (l *socketLane) ready() bool { return len(l.conns) > 1 || l.conns[0] != nil }

func (l *socketLane) exchange(ctx context.Context, j job) (int64, answer, error) {
	r := l.e.request(j)
	for {
		kept := l.conns[r.host] != nil
		if !kept {
			began := l.e.now()
			c, err := l.e.connected(ctx, r.host)
			if err != nil {
				return began, answer{}, err
			}
			l.conns[r.host] = c
		}
		c := l.conns[r.host]
		sent := l.e.now()
		got := c.got
		err := l.send(r, sent)
		if err == nil {
			var a answer
			if a, err = l.receive(r); err == nil {
				return sent, a, nil
			}
		}
		l.discard(r.host)
		if !l.again(r, kept, c.got == got, err) {
			return sent, answer{}, err
		}
	}
}

func (l *socketLane) send(r *request, sent int64) error {
	c := l.conns[r.host]
	if err := c.SetDeadline(l.e.epoch.Add(time.Duration(sent) + l.e.o.Timeout)); err != nil {
		return err
	}
	_, err := c.Write(r.wire)
	return err
}

func (l *socketLane) receive(r *request) (answer, error) {
	c := l.conns[r.host]
	a, err := readAnswer(c.br, r.head)
	if err == nil && (a.close || l.e.o.DisableKeepAlive || c.br.Buffered() > 0) {
		l.discard(r.host)
	}
	return a, err
}

func (l *socketLane) discard(host int) {
	l.e.drop(l.conns[host])
	l.conns[host] = nil
}

// again reports whether to repeat a request, because the server may have closed a kept connection
// just as it went out (RFC 9112, 9.3.1). The next connection is new, so this happens once.
func (l *socketLane) again(r *request, kept, untouched bool, err error) bool {
	return kept && untouched && r.replayable &&
		(errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
			errors.Is(err, net.ErrClosed))
}

type tripLane struct{ e *engine }

func (l *tripLane) ready() bool { return true }

func (l *tripLane) exchange(ctx context.Context, j job) (int64, answer, error) {
	sent := l.e.now()
	ctx, cancel := context.WithTimeout(ctx, l.e.o.Timeout)
	defer cancel()
	req, err := l.e.request(j).target.httpRequest()
	if err != nil {
		return sent, answer{}, err
	}
	resp, err := l.e.o.Transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return sent, answer{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 100 || resp.StatusCode > 999 {
		return sent, answer{}, fmt.Errorf("%w: status %d", errProtocol, resp.StatusCode)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	return sent, answer{status: resp.StatusCode, bytes: n}, err
}

type callLane struct {
	e      *engine
	worker int
}

func (l *callLane) ready() bool { return true }

func (l *callLane) exchange(ctx context.Context, _ job) (int64, answer, error) {
	sent := l.e.now()
	ctx, cancel := context.WithTimeout(ctx, l.e.o.Timeout)
	defer cancel()
	err := l.e.o.Call(ctx, l.worker)
	if err != nil && ctx.Err() != nil { // such as a status of gRPC
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return sent, answer{}, err
}

func (e *engine) record(ctx context.Context, ln lane, j job) error {
	sent, a, err := ln.exchange(ctx, j)
	j.rec.ended(ctx, j, sent, e.now(), a, err)
	return err
}

const readBufferBytes = 16 << 10

// conn is a connection. One goroutine reads.
type conn struct {
	net.Conn
	br  *bufio.Reader // of HTTP/1.1
	got int64         // bytes read, which the reader owns
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.got += int64(n)
	return n, err
}

// track notes an open connection. After the run it fails.
func (e *engine) track(c *conn) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conns == nil {
		c.Close()
		return dialError{net.ErrClosed, ClassConnect}
	}
	e.conns[c] = struct{}{}
	e.connects.Add(1)
	return nil
}

func (e *engine) drop(c *conn) {
	c.Close()
	e.mu.Lock()
	delete(e.conns, c)
	e.mu.Unlock()
}

// closeConns also refuses new connections.
func (e *engine) closeConns() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.conns {
		c.Close()
	}
	e.conns = nil
}
