package httpd_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"evenkeel.dev/httpd"
)

func Example() {
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello")
	})}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error)
	go func() { ended <- httpd.Serve(context.Background(), srv, ln, httpd.Options{}) }()

	res, err := http.Get("http://" + ln.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	fmt.Printf("%s", body)
	http.DefaultClient.CloseIdleConnections()
	fmt.Println(srv.Shutdown(context.Background()))
	fmt.Println(<-ended)
	// Output:
	// hello
	// <nil>
	// http: Server closed
}

func ExampleStatsOf() {
	srv := &http.Server{}
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := httpd.StatsOf(srv)
		fmt.Fprintln(w, s.Conns, s.Parked, s.HeaderTimeouts)
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error)
	go func() { ended <- httpd.Serve(context.Background(), srv, ln, httpd.Options{}) }()

	res, err := http.Get("http://" + ln.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	fmt.Printf("%s", body)
	http.DefaultClient.CloseIdleConnections()
	srv.Shutdown(context.Background())
	<-ended
	// Output: 1 0 0
}

// A protocol of lines behind an upgrade: while a connection is silent, it has neither a goroutine nor a buffer.
func ExampleParkable() {
	h := func(w http.ResponseWriter, r *http.Request) {
		nc, _, err := http.NewResponseController(httpd.Parkable(w, r)).Hijack()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n")
		converse(nc.(*httpd.Conn))
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- httpd.Serve(ctx, &http.Server{Handler: http.HandlerFunc(h)}, ln, httpd.Options{}) }()

	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		panic(err)
	}
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n")
	from := bufio.NewReader(c)
	res, err := http.ReadResponse(from, nil)
	fmt.Println(res.Status, err)
	for _, line := range []string{"to", "fro"} {
		fmt.Fprintln(c, line)
		said, err := from.ReadString('\n')
		fmt.Printf("%q %v\n", said, err)
	}
	c.Close()
	cancel()
	fmt.Println(<-ended)
	// Output:
	// 101 Switching Protocols <nil>
	// "to, said you\n" <nil>
	// "fro, said you\n" <nil>
	// http: Server closed
}

// converse has the lines answered that come.
func converse(c *httpd.Conn) {
	c.Park(func() {
		var line []byte
		for b := [1]byte{}; ; line = append(line, b[0]) {
			// no more than the line: what a buffer had read too far Park would not see
			if _, err := c.Read(b[:]); err != nil {
				c.Close()
				return
			}
			if b[0] == '\n' {
				break
			}
		}
		fmt.Fprintf(c, "%s, said you\n", line)
		converse(c)
	})
}
