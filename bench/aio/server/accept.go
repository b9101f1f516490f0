package main

import (
	"fmt"
	"log"
	"net"
	"runtime"
	"syscall"

	"github.com/panjf2000/gnet/v2"

	"evenkeel.dev/aio"
)

// The servers in this file accept connections and keep them, and say what that took.

// early is how many connections come before those that are counted: they have had the code and the pools brought in.
const early = 512

// accepted counts connections. It is its accepting goroutine's.
type accepted struct {
	c              config
	seen           int
	cpu, allocated uint64 // before the first that counts
}

// one counts a connection.
func (a *accepted) one() error {
	if a.seen++; a.seen != early && a.seen != early+a.c.n {
		return nil
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return err
	}
	cpu := uint64(used.Utime.Nano() + used.Stime.Nano())
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if a.seen == early {
		a.cpu, a.allocated = cpu, m.Mallocs
		return nil
	}
	say(map[string]float64{"accepted": float64(a.c.n), "cpu_ns": float64(cpu-a.cpu) / float64(a.c.n), "allocs": float64(m.Mallocs-a.allocated) / float64(a.c.n)})
	return nil
}

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
	for a := (accepted{c: c}); ; {
		_, _, err := syscall.Accept4(fd, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		if err == syscall.EINTR || err == syscall.ECONNABORTED {
			continue
		}
		if err == nil {
			err = a.one()
		}
		if err != nil {
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
	kept := make([]net.Conn, c.n+early)
	for a := (accepted{c: c}); ; {
		conn, err := ln.Accept()
		if err == nil {
			kept[a.seen%len(kept)] = conn // or the collector would close it
			err = a.one()
		}
		if err != nil {
			return err
		}
	}
}

func acceptGnet(c config, ready func(net.Addr)) error {
	return runGnet(c, &gnetAccept{gnetEcho{ready: ready}, accepted{c: c}})
}

type gnetAccept struct {
	gnetEcho
	seen accepted
}

// OnOpen is called by the one loop that there is.
func (e *gnetAccept) OnOpen(gnet.Conn) ([]byte, gnet.Action) {
	if err := e.seen.one(); err != nil {
		log.Fatal("server: gnet: ", err)
	}
	return nil, gnet.None
}

func acceptAio(c config, ready func(net.Addr)) error {
	w, err := aio.New(aio.Options{Backend: c.backend})
	if err != nil {
		return err
	}
	a := accepted{c: c}
	return listenAio(c, w, ready, func(*aio.Conn) error { return a.one() }, func(aio.Result) error { return nil })
}
