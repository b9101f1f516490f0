package aio_test

import (
	"fmt"
	"io"
	"log"
	"net"

	"evenkeel.dev/aio"
)

// A server without package net: the goroutine in WaitIO accepts too, by one operation that goes on
// until the end.
func ExampleWatcher_Listen() {
	w, err := aio.New(aio.Options{})
	if err != nil {
		log.Fatal(err)
	}
	l, err := w.Listen("tcp", "127.0.0.1:0", aio.ListenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	l.AcceptMultishot(nil)
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
				case r.Op == aio.OpAccept && r.More:
					r.Conn.Read(nil, make([]byte, 4096), aio.NoDeadline)
				case r.Op == aio.OpAccept: // ErrWatcherClosed at the end
				case r.Error != nil: // io.EOF among them, and what was refused
					r.Conn.Close()
				case r.Op == aio.OpRead:
					r.Conn.Write(nil, r.Buffer[:r.Size], aio.NoDeadline)
				default:
					r.Conn.Read(nil, r.Buffer[:cap(r.Buffer)], aio.NoDeadline)
				}
			}
		}
	}()

	client, err := net.Dial("tcp", l.Addr().String())
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
	w.Close()
	<-served
	// Output:
	// hello, keel
}
