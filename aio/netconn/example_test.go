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

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			return
		}
		fmt.Fprintln(c, "a line")
		c.Close()
	}()

	accepted, err := ln.Accept()
	if err != nil {
		log.Fatal(err)
	}
	handle, err := w.Attach(accepted)
	if err != nil {
		log.Fatal(err)
	}
	c := netconn.New(handle)
	line, err := bufio.NewReader(c).ReadString('\n')
	fmt.Printf("%q %v\n", line, err)
	fmt.Println(c.Close(), ln.Close(), w.Close(), <-driven)
	// Output:
	// "a line\n" <nil>
	// <nil> <nil> <nil> <nil>
}
