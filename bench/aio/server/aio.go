//go:build linux

package main

import (
	"net"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/gaio"
)

// serveAio is the echo server of aio's documentation.
func serveAio(c config, ready func(net.Addr)) error {
	w, err := aio.New(aio.Options{Backend: c.backend})
	if err != nil {
		return err
	}
	p := pool{config: c}
	return listenAio(w, ready, func(conn *aio.Conn) error {
		return conn.Read(nil, c.own(), aio.NoDeadline)
	}, func(r aio.Result) error {
		switch {
		case r.Error != nil:
			_ = r.Conn.Close()
		case r.Op == aio.OpRead:
			_ = r.Conn.Write(nil, p.answer(r.Buffer[:r.Size]), aio.NoDeadline)
		default:
			_ = r.Conn.Read(nil, p.next(r.Buffer), aio.NoDeadline)
		}
		return nil
	})
}

// listenAio accepts in the loop of w until begin, which gets connections, or each, which gets other
// results, fails.
func listenAio(
	w *aio.Watcher, ready func(net.Addr), begin func(*aio.Conn) error, each func(aio.Result) error,
) error {
	l, err := w.Listen("tcp", "127.0.0.1:0", aio.ListenOptions{})
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
func serveOverAio(c config, ready func(net.Addr)) error {
	watcher, err := aio.New(aio.Options{Backend: c.backend})
	if err != nil {
		return err
	}
	w, p := gaio.Over(watcher), pool{config: c}
	return accepting(ready, func(conn net.Conn) error { return w.Read(nil, conn, c.own()) }, func() error {
		for {
			results, err := w.WaitIO()
			if err != nil {
				return err
			}
			for _, r := range results {
				switch {
				case r.Error != nil:
					_ = w.Free(r.Conn)
				case r.Operation == gaio.OpRead:
					_ = w.Write(nil, r.Conn, p.answer(r.Buffer[:r.Size]))
				default:
					_ = w.Read(nil, r.Conn, p.next(r.Buffer))
				}
			}
		}
	})
}
