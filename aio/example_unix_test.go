//go:build unix

package aio_test

import (
	"fmt"
	"log"
	"syscall"

	"evenkeel.dev/aio"
)

// How much the kernel keeps of what the program has not read yet is an option of the socket.
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
	// Output:
	// <nil> <nil>
}
