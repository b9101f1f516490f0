package main

import (
	"net"

	"github.com/xtaci/gaio"
)

// serveGaio is the echo server of gaio's README, with a buffer of the connection's own that
// read and write take in turns. A buffer of 0 reads into gaio's swap buffer, which is the
// smallest that gaio can be while connections are idle; what it read is copied, as the write
// may end after the next WaitIO.
func serveGaio(c config, ready func(net.Addr)) error {
	w, err := gaio.NewWatcher()
	if err != nil {
		return err
	}
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

// serve has begin take each connection, and runs loop beside it, until one of them fails.
func serve(c config, ready func(net.Addr), begin func(net.Conn) error, loop func() error) error {
	ln, err := listen("tcp", c.addr)
	if err != nil {
		return err
	}
	ready(ln.Addr())
	failed := make(chan error, 2)
	go func() {
		for {
			conn, err := ln.Accept()
			if err == nil {
				err = begin(conn)
			}
			if err != nil {
				failed <- err
				return
			}
		}
	}()
	go func() { failed <- loop() }()
	return <-failed
}

// own returns a connection's buffer, nil for the library's shared one.
func own(n int) []byte {
	if n == 0 {
		return nil
	}
	return make([]byte, n)
}

// pool keeps the buffers of writes, the one used last on top.
type pool struct{ free [][]byte }

func (p *pool) clone(data []byte) []byte {
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		return append(b[:0], data...)
	}
	return append(make([]byte, 0, max(1024, len(data))), data...)
}

func (p *pool) put(b []byte) { p.free = append(p.free, b) }
