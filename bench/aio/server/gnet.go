package main

import (
	"fmt"
	"log"
	"net"
	"syscall"

	"github.com/panjf2000/gnet/v2"
)

// gnetEcho is the echo server of gnet's examples.
type gnetEcho struct {
	gnet.BuiltinEventEngine
	ready func(net.Addr)
}

// serveGnet runs one event loop, beside the goroutine that accepts. Only what is fatal is
// logged: clients of the benchmark end by resetting their connections.
func serveGnet(c config, ready func(net.Addr)) error {
	return runGnet(c, &gnetEcho{ready: ready})
}

func runGnet(c config, h gnet.EventHandler) error {
	return retry(func() error {
		return gnet.Run(h, "tcp://"+c.addr, gnet.WithNumEventLoop(1), gnet.WithLogger(quiet{}))
	})
}

func (e *gnetEcho) OnBoot(eng gnet.Engine) gnet.Action {
	a, err := gnetAddr(eng)
	if err != nil {
		fmt.Println("gnet's address is not known:", err)
		return gnet.Shutdown
	}
	e.ready(a)
	return gnet.None
}

// gnetAddr asks the listening socket, as the port was the system's choice.
func gnetAddr(eng gnet.Engine) (net.Addr, error) {
	fd, err := eng.Dup()
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	sa, err := syscall.Getsockname(fd)
	if err != nil {
		return nil, err
	}
	in, ok := sa.(*syscall.SockaddrInet4)
	if !ok {
		return nil, fmt.Errorf("%T instead of an IPv4 address", sa)
	}
	return &net.TCPAddr{IP: in.Addr[:], Port: in.Port}, nil
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

// quiet logs what is fatal.
type quiet struct{}

func (quiet) Debugf(string, ...any)             {}
func (quiet) Infof(string, ...any)              {}
func (quiet) Warnf(string, ...any)              {}
func (quiet) Errorf(string, ...any)             {}
func (quiet) Fatalf(format string, args ...any) { log.Fatalf("server: gnet: "+format, args...) }
