package main

import (
	"encoding/binary"
	"net"

	"github.com/xtaci/gaio"

	"evenkeel.dev/aio"
)

// The servers in this file read into the library's shared buffer, and answer each read with its size.

func readsAio(c config, ready func(net.Addr)) error {
	w, err := aio.New(aio.Options{Backend: c.backend})
	if err != nil {
		return err
	}
	p := pool{}
	return listenAio(c, w, ready, func(conn *aio.Conn) error { return conn.Read(nil, nil, aio.NoDeadline) }, func(r aio.Result) error {
		switch {
		case r.Error != nil:
			return r.Conn.Close()
		case r.Op == aio.OpRead:
			return r.Conn.Write(nil, p.size(r.Size), aio.NoDeadline)
		}
		p.put(r.Buffer)
		return r.Conn.Read(nil, nil, aio.NoDeadline)
	})
}

func readsGaio(c config, ready func(net.Addr)) error {
	w, err := gaio.NewWatcher()
	if err != nil {
		return err
	}
	return serve(c, ready, func(conn net.Conn) error { return w.Read(nil, conn, nil) }, func() error {
		for p := (pool{}); ; {
			results, err := w.WaitIO()
			if err != nil {
				return err
			}
			for _, r := range results {
				switch {
				case r.Error != nil:
					_ = w.Free(r.Conn)
				case r.Operation == gaio.OpRead:
					_ = w.Write(nil, r.Conn, p.size(r.Size))
				default:
					p.put(r.Buffer)
					_ = w.Read(nil, r.Conn, nil)
				}
			}
		}
	})
}

// size returns a buffer with the size of a read.
func (p *pool) size(n int) []byte {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], uint32(n))
	return p.clone(b[:])
}
