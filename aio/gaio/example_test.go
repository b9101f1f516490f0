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

// gaio works while nobody is in WaitIO. Where handlers take long, a goroutine that only hands results on does
// the same, as far ahead as its channel has room. It copies what the next WaitIO takes back.
func ExampleWatcher_WaitIO() {
	w, err := gaio.NewWatcher()
	if err != nil {
		log.Fatal(err)
	}
	ahead := make(chan gaio.OpResult, 1024)
	go func() {
		defer close(ahead)
		for {
			results, err := w.WaitIO()
			if err != nil {
				return // ErrWatcherClosed
			}
			for _, r := range results {
				if r.IsSwapBuffer {
					r.Buffer = append([]byte(nil), r.Buffer...)
				}
				ahead <- r
			}
		}
	}()

	here, there := pipe()
	w.Write(nil, here, []byte("sent while nobody looks"))
	text := make([]byte, len("sent while nobody looks"))
	if _, err := io.ReadFull(there, text); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", text)
	r := <-ahead
	fmt.Println(r.Operation, r.Size, r.Error)

	there.Close()
	w.Close()
	for range ahead {
	}
	// Output:
	// sent while nobody looks
	// write 23 <nil>
}

// pipe returns the two ends of a connection over loopback.
func pipe() (here, there net.Conn) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer ln.Close()
	if there, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		log.Fatal(err)
	}
	if here, err = ln.Accept(); err != nil {
		log.Fatal(err)
	}
	return here, there
}
