package aio_test

import (
	"net"
	"sync"
	"testing"
)

// connecting is how many connects are under way at once: what the kernel's accept queue holds.
const connecting = 1000

// dialAll connects n times and hands each connection to f.
func dialAll(t testing.TB, addr string, n int, f func(net.Conn)) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, n)
	slots := make(chan struct{}, connecting)
	var all sync.WaitGroup
	for i := range conns {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			conns[i] = c
			f(c)
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return conns
}
