//go:build unix

package aio_test

import (
	"fmt"
	"log"
	"net"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

// An option without a method: how much the kernel keeps of what the program has not read yet. The most common have one.
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
	var room error
	err = raw.Control(func(fd uintptr) {
		room = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 32<<10)
	})
	fmt.Println(err, room)

	fmt.Println(c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Minute}))
	// Output:
	// <nil> <nil>
	// <nil>
}
