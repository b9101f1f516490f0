//go:build unix

package aio_test

import (
	"fmt"
	"log"
	"syscall"

	"evenkeel.dev/aio"
)

// Options of a connection that was accepted, dialled or attached: here the probes that find out whether an idle peer is
// still there, and small segments that wait for more.
func ExampleConn_SyscallConn() {
	w, err := aio.New(aio.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	a, client := connected()
	defer client.Close()
	c, err := w.Attach(a)
	if err != nil {
		log.Fatal(err)
	}

	raw, err := c.SyscallConn()
	if err != nil {
		log.Fatal(err)
	}
	var alive, delay error
	err = raw.Control(func(fd uintptr) {
		alive = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1)
		delay = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 0)
	})
	fmt.Println(err, alive, delay)
	// Output:
	// <nil> <nil> <nil>
}
