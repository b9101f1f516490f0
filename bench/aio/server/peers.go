//go:build linux

package main

import (
	"log"
	"net"
	"syscall"

	"github.com/lesismal/nbio"
	"github.com/lesismal/nbio/logging"
	"github.com/panjf2000/gnet/v2"
	"github.com/xtaci/gaio"
	"go.uber.org/zap"
)

func listen() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// serveNet does not use io.Copy, which would splice in the kernel.
func serveNet(c config, ready func(net.Addr)) error {
	ln, err := listen()
	if err != nil {
		return err
	}
	ready(ln.Addr())
	for {
		conn, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			for buf := make([]byte, c.buf); ; {
				n, err := conn.Read(buf)
				if err != nil {
					return
				}
				if _, err := conn.Write(buf[:n]); err != nil {
					return
				}
			}
		}()
	}
}

// serveGaio is the echo server of gaio's README, with the connection's own buffer or gaio's swap
// buffer.
func serveGaio(c config, ready func(net.Addr)) error {
	w, err := gaio.NewWatcher()
	if err != nil {
		return err
	}
	p := pool{config: c}
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

func accepting(ready func(net.Addr), begin func(net.Conn) error, loop func() error) error {
	ln, err := listen()
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

// serveNbio is the echo server of nbio's README with one poller, and without its copy before Write.
func serveNbio(_ config, ready func(net.Addr)) error {
	logging.SetLevel(logging.LevelNone)
	engine := nbio.NewEngine(nbio.Config{
		Network: "tcp", Addrs: []string{"127.0.0.1:0"}, NPoller: 1,
		Listen: func(network, addr string) (net.Listener, error) {
			ln, err := net.Listen(network, addr)
			if err == nil {
				ready(ln.Addr())
			}
			return ln, err
		},
	})
	engine.OnData(func(c *nbio.Conn, data []byte) {
		_, _ = c.Write(data) // on an error the engine closes the connection
	})
	if err := engine.Start(); err != nil {
		return err
	}
	select {}
}

type gnetEcho struct {
	gnet.BuiltinEventEngine
	ready func(net.Addr)
}

// serveGnet is the echo server of gnet's examples with one loop. It logs nothing, because clients
// reset their connections.
func serveGnet(_ config, ready func(net.Addr)) error {
	h := &gnetEcho{ready: ready}
	return gnet.Run(h, "tcp://127.0.0.1:0", gnet.WithNumEventLoop(1), gnet.WithLogger(zap.NewNop().Sugar()))
}

// OnBoot asks the socket for its address, because the kernel chose the port.
func (e *gnetEcho) OnBoot(eng gnet.Engine) gnet.Action {
	fd, err := eng.Dup()
	if err != nil {
		log.Fatal("gnet: ", err)
	}
	defer syscall.Close(fd)
	sa, err := syscall.Getsockname(fd)
	in, ok := sa.(*syscall.SockaddrInet4)
	if !ok {
		log.Fatalf("gnet: it listens on %T instead of an IPv4 address: %v", sa, err)
	}
	e.ready(&net.TCPAddr{IP: in.Addr[:], Port: in.Port})
	return gnet.None
}

func (e *gnetEcho) OnTraffic(c gnet.Conn) gnet.Action {
	buf, err := c.Next(-1)
	if err != nil {
		return gnet.Close
	}
	if _, err := c.Write(buf); err != nil {
		return gnet.Close
	}
	return gnet.None
}
