package aio_test

import (
	"encoding/json"
	"expvar"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"evenkeel.dev/aio"
)

// A server that echoes: one goroutine waits for all connections. Each connection has one buffer,
// which is either being read into or being written, so a peer that does not read is not read from.
func Example() {
	w, err := aio.New(aio.Options{})
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
			c, err := w.Attach(conn)
			if err != nil {
				conn.Close()
				continue
			}
			c.Read(nil, make([]byte, 4096), aio.NoDeadline)
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
					r.Conn.Close()
				case r.Op == aio.OpRead:
					r.Conn.Write(nil, r.Buffer[:r.Size], aio.NoDeadline)
				default:
					r.Conn.Read(nil, r.Buffer[:cap(r.Buffer)], aio.NoDeadline)
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

// A request whose answer must be complete before a deadline: ReadFull ends when its buffer is
// full, or at the deadline with what came until then.
func ExampleConn_ReadFull() {
	w, err := aio.New(aio.Options{SwapSize: 16 << 10})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	a, b := connected()
	defer b.Close()
	c, err := w.Attach(a)
	if err != nil {
		log.Fatal(err)
	}

	fmt.Fprint(b, "headhalf")
	if err := c.ReadFull("header", make([]byte, 4), time.Now().Add(time.Minute)); err != nil {
		log.Fatal(err)
	}
	results, err := w.WaitIO()
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Printf("%v: %q, %v\n", r.Tag, r.Buffer[:r.Size], r.Error)
	}

	if err := c.ReadFull("body", make([]byte, 8), time.Now().Add(100*time.Millisecond)); err != nil {
		log.Fatal(err)
	}
	results, err = w.WaitIO()
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Printf("%v: %q, late: %v\n", r.Tag, r.Buffer[:r.Size], r.Error == aio.ErrDeadline)
	}
	// Output:
	// header: "head", <nil>
	// body: "half", late: true
}

// A head and a body that stand in different memory are one operation.
func ExampleConn_Writev() {
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

	answer := net.Buffers{[]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), []byte("hello")}
	if err := c.Writev("answer", answer, time.Now().Add(time.Minute)); err != nil {
		log.Fatal(err)
	}
	results, err := w.WaitIO()
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Println(r.Tag, r.Op, r.Size, r.Error)
	}
	got := make([]byte, 43)
	_, err = io.ReadFull(client, got)
	fmt.Printf("%q, %v\n", got, err)
	// Output:
	// answer write 43 <nil>
	// "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", <nil>
}

// An answer, and then the end: the close stands behind what is queued, and a client that does not read
// keeps the connection for a minute at the utmost.
func ExampleConn_CloseAfterWrites() {
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

	c.Write("head", []byte("HTTP/1.0 200 OK\r\n\r\n"), aio.NoDeadline)
	c.Write("body", []byte("so long"), aio.NoDeadline)
	c.CloseAfterWrites("end", time.Now().Add(time.Minute))
	for open := true; open; {
		results, err := w.WaitIO()
		if err != nil {
			log.Fatal(err)
		}
		for _, r := range results {
			fmt.Println(r.Op, r.Tag, r.Error)
			open = r.Op != aio.OpClose
		}
	}
	answer, err := io.ReadAll(client)
	fmt.Printf("%q, %v\n", answer, err)
	// Output:
	// write head <nil>
	// write body <nil>
	// close end <nil>
	// "HTTP/1.0 200 OK\r\n\r\nso long", <nil>
}

// A connection leaves the loop: after the switch that a client asks for, blocking code goes on with it. What
// the read took is in its buffer, and nothing more was read.
func ExampleConn_Detach() {
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

	io.WriteString(client, "UPGRADE")
	c.ReadFull("head", make([]byte, len("UPGRADE")), aio.NoDeadline)
	results, err := w.WaitIO()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %q\n", results[0].Tag, results[0].Buffer)
	conn, err := c.Detach() // or aio.ErrPending, while an operation is
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	io.WriteString(client, "by the new protocol")
	client.(*net.TCPConn).CloseWrite()
	data, err := io.ReadAll(conn)
	fmt.Printf("%q, %v\n", data, err)
	// Output:
	// head "UPGRADE"
	// "by the new protocol", <nil>
}

// What a Watcher counts, as a variable of package expvar: a main publishes it once, by
// expvar.Publish("aio", stats), and net/http serves it at /debug/vars. contrib/prometheus has a collector.
func ExampleWatcher_Stats() {
	w, err := aio.New(aio.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	var stats expvar.Var = expvar.Func(func() any { return w.Stats() })

	w.Post("a tag")
	w.WaitIO()
	var seen struct{ Results, Conns, QueuedBytes int }
	if err := json.Unmarshal([]byte(stats.String()), &seen); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", seen)
	// Output:
	// {Results:1 Conns:0 QueuedBytes:0}
}

// connected returns the two ends of a connection.
func connected() (net.Conn, net.Conn) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer ln.Close()
	b, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	a, err := ln.Accept()
	if err != nil {
		log.Fatal(err)
	}
	return a, b
}

// A server without package net: the goroutine in WaitIO accepts too, by one operation that goes on
// until the end.
func ExampleWatcher_Listen() {
	w, err := aio.New(aio.Options{})
	if err != nil {
		log.Fatal(err)
	}
	l, err := w.Listen("tcp", "127.0.0.1:0")
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
