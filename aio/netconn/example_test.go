package netconn_test

import (
	"bufio"
	"fmt"
	"log"
	"net"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/netconn"
)

// Code that wants a net.Conn, such as a bufio.Reader, speaks over a connection of a Watcher.
func Example() {
	w, err := aio.New(aio.Options{})
	if err != nil {
		log.Fatal(err)
	}
	driven := make(chan error)
	go func() { driven <- netconn.Drive(w) }()

	handle, err := w.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ln := netconn.NewListener(handle)
	go func() {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			return
		}
		fmt.Fprintln(c, "a line")
		c.Close()
	}()

	c, err := ln.Accept()
	if err != nil {
		log.Fatal(err)
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	fmt.Printf("%q %v\n", line, err)
	fmt.Println(c.Close(), ln.Close(), w.Close(), <-driven)
	// Output:
	// "a line\n" <nil>
	// <nil> <nil> <nil> <nil>
}
