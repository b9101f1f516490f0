package main

import (
	"fmt"
	"net"
	"syscall"

	"github.com/panjf2000/gnet/v2"

	"evenkeel.dev/aio"
)

// The servers in this file accept connections and close each at once.

// acceptRaw is accept4 in a loop, the limit.
func acceptRaw(c config, ready func(net.Addr)) error {
	a, err := net.ResolveTCPAddr("tcp4", c.addr)
	if err != nil {
		return err
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	to := &syscall.SockaddrInet4{Port: a.Port, Addr: [4]byte(a.IP.To4())}
	if err := retry(func() error { return syscall.Bind(fd, to) }); err != nil {
		return err
	}
	if err := syscall.Listen(fd, 1<<16-1); err != nil { // the kernel's own limit is less
		return err
	}
	sa, err := syscall.Getsockname(fd)
	if err != nil {
		return err
	}
	in, ok := sa.(*syscall.SockaddrInet4)
	if !ok {
		return fmt.Errorf("%T instead of an IPv4 address", sa)
	}
	ready(&net.TCPAddr{IP: in.Addr[:], Port: in.Port})
	for {
		conn, _, err := syscall.Accept4(fd, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		if err == syscall.EINTR || err == syscall.ECONNABORTED {
			continue
		}
		if err != nil {
			return err
		}
		if err := syscall.Close(conn); err != nil {
			return err
		}
	}
}

func acceptStd(c config, ready func(net.Addr)) error {
	ln, err := listen("tcp", c.addr)
	if err != nil {
		return err
	}
	ready(ln.Addr())
	for {
		conn, err := ln.Accept()
		if err != nil {
			return err
		}
		if err := conn.Close(); err != nil {
			return err
		}
	}
}

func acceptGnet(c config, ready func(net.Addr)) error {
	return runGnet(c, &gnetAccept{gnetEcho{ready: ready}})
}

type gnetAccept struct{ gnetEcho }

func (e *gnetAccept) OnOpen(gnet.Conn) ([]byte, gnet.Action) { return nil, gnet.Close }

func acceptAio(c config, ready func(net.Addr)) error {
	w, err := aio.New(aio.Options{Backend: c.backend})
	if err != nil {
		return err
	}
	return serve(c, ready, func(accepted net.Conn) error {
		conn, err := w.Attach(accepted)
		if err != nil {
			return err
		}
		return conn.Close()
	}, func() error { return results(w, func(aio.Result) error { return nil }) })
}

// results hands each result to f, until that or the watcher fails.
func results(w *aio.Watcher, f func(aio.Result) error) error {
	for {
		rs, err := w.WaitIO()
		if err != nil {
			return err
		}
		for _, r := range rs {
			if err := f(r); err != nil {
				return err
			}
		}
	}
}
