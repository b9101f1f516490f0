package main

import (
	"net"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/gaio"
)

// serveAio is the echo server of package aio's documentation, with a buffer of the connection's own
// that read and write take in turns; with -buf 0 it reads as [serveGaio] does then.
func serveAio(c config, ready func(net.Addr)) error {
	w, err := aio.New(aio.Options{Backend: c.backend})
	if err != nil {
		return err
	}
	if c.gaio {
		return serveOverAio(c, gaio.Over(w), ready)
	}
	p := pool{}
	return listenAio(c, w, ready, func(conn *aio.Conn) error {
		return conn.Read(nil, own(c.buf), aio.NoDeadline)
	}, func(r aio.Result) error {
		switch {
		case r.Error != nil:
			_ = r.Conn.Close()
		case r.Op == aio.OpRead && c.buf == 0:
			_ = r.Conn.Write(nil, p.clone(r.Buffer[:r.Size]), aio.NoDeadline)
		case r.Op == aio.OpRead:
			_ = r.Conn.Write(nil, r.Buffer[:r.Size], aio.NoDeadline)
		case c.buf == 0:
			p.put(r.Buffer)
			_ = r.Conn.Read(nil, nil, aio.NoDeadline)
		default:
			_ = r.Conn.Read(nil, r.Buffer[:cap(r.Buffer)], aio.NoDeadline)
		}
		return nil
	})
}

// listenAio accepts in the loop of w: begin takes each connection, and each every other result, until one of them fails.
func listenAio(c config, w *aio.Watcher, ready func(net.Addr), begin func(*aio.Conn) error, each func(aio.Result) error) error {
	var l *aio.Listener
	err := retry(func() (err error) {
		l, err = w.Listen("tcp", c.addr, aio.ListenOptions{})
		return err
	})
	if err != nil {
		return err
	}
	if err := l.AcceptMultishot(nil); err != nil {
		return err
	}
	ready(l.Addr())
	for {
		results, err := w.WaitIO()
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Op != aio.OpAccept {
				err = each(r)
			} else if err = r.Error; err == nil {
				err = begin(r.Conn)
			}
			if err != nil {
				return err
			}
		}
	}
}

// serveOverAio is [serveGaio] with its import changed.
func serveOverAio(c config, w *gaio.Watcher, ready func(net.Addr)) error {
	return serve(c, ready, func(conn net.Conn) error { return w.Read(nil, conn, own(c.buf)) }, func() error {
		for p := (pool{}); ; {
			results, err := w.WaitIO()
			if err != nil {
				return err
			}
			for _, r := range results {
				switch {
				case r.Error != nil:
					_ = w.Free(r.Conn)
				case r.Operation == gaio.OpRead && c.buf == 0:
					_ = w.Write(nil, r.Conn, p.clone(r.Buffer[:r.Size]))
				case r.Operation == gaio.OpRead:
					_ = w.Write(nil, r.Conn, r.Buffer[:r.Size])
				case c.buf == 0:
					p.put(r.Buffer)
					_ = w.Read(nil, r.Conn, nil)
				default:
					_ = w.Read(nil, r.Conn, r.Buffer[:cap(r.Buffer)])
				}
			}
		}
	})
}
