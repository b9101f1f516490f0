package gaio_test

import (
	"fmt"
	"io"
	"log"
	"net"

	"evenkeel.dev/aio/gaio"
)

// A server that echoes, as it was written for gaio.
func Example() {
	w, err := gaio.NewWatcher()
	if err != nil {
		log.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			w.Read(nil, conn, make([]byte, 4096)) // delegates conn
		}
	}()
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			results, err := w.WaitIO()
			if err != nil {
				return // ErrWatcherClosed
			}
			for _, r := range results {
				switch {
				case r.Error != nil: // io.EOF among them
					w.Free(r.Conn)
				case r.Operation == gaio.OpRead:
					w.Write(nil, r.Conn, r.Buffer[:r.Size])
				default:
					w.Read(nil, r.Conn, r.Buffer[:cap(r.Buffer)])
				}
			}
		}
	}()

	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	answer := make([]byte, len("hello, keel"))
	fmt.Fprint(client, "hello, keel")
	if _, err := io.ReadFull(client, answer); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", answer)

	client.Close()
	ln.Close()
	w.Close()
	<-served
	// Output:
	// hello, keel
}
