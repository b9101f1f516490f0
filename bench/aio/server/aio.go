package main

import (
	"net"

	"evenkeel.dev/aio"
)

// serveAio is [serveGaio] on package aio: but for the backend and, with -attach, the handle,
// the same program.
func serveAio(c config, ready func(net.Addr)) error {
	backend, err := aio.ParseBackend(c.backend)
	if err != nil {
		return err
	}
	w, err := aio.New(aio.Options{Backend: backend})
	if err != nil {
		return err
	}
	ln, err := listen("tcp", c.addr)
	if err != nil {
		return err
	}
	ready(ln.Addr())
	failed := make(chan error, 2)
	go func() {
		for {
			conn, err := ln.Accept()
			if err == nil && c.attach {
				conn, err = w.Attach(conn)
			}
			if err == nil {
				err = w.Read(nil, conn, own(c.buf))
			}
			if err != nil {
				failed <- err
				return
			}
		}
	}()
	go func() {
		for p := (pool{}); ; {
			results, err := w.WaitIO()
			if err != nil {
				failed <- err
				return
			}
			for _, r := range results {
				switch {
				case r.Error != nil:
					_ = w.Free(r.Conn)
				case r.Operation == aio.OpRead && c.buf == 0:
					_ = w.Write(nil, r.Conn, p.clone(r.Buffer[:r.Size]))
				case r.Operation == aio.OpRead:
					_ = w.Write(nil, r.Conn, r.Buffer[:r.Size])
				case c.buf == 0:
					p.put(r.Buffer)
					_ = w.Read(nil, r.Conn, nil)
				default:
					_ = w.Read(nil, r.Conn, r.Buffer[:cap(r.Buffer)])
				}
			}
		}
	}()
	return <-failed
}
