package main

import (
	"context"
	"io"
	"net"

	"github.com/cloudwego/netpoll"
)

// serveNetpoll echoes through netpoll's no-copy interfaces, with one poller, and with its
// goroutine pool, which is the default.
func serveNetpoll(c config, ready func(net.Addr)) error {
	if err := netpoll.Configure(netpoll.Config{PollerNum: 1, LoggerOutput: io.Discard}); err != nil {
		return err
	}
	loop, err := netpoll.NewEventLoop(func(_ context.Context, conn netpoll.Connection) error {
		r, w := conn.Reader(), conn.Writer()
		data, err := r.Next(r.Len())
		if err != nil {
			return err
		}
		if _, err := w.WriteBinary(data); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
		return r.Release() // after Flush: data is the reader's memory
	})
	if err != nil {
		return err
	}
	ln, err := listen("tcp", c.addr)
	if err != nil {
		return err
	}
	ready(ln.Addr())
	return loop.Serve(ln)
}
