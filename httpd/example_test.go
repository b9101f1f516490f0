package httpd_test

import (
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
	go func() { ended <- httpd.Serve(context.Background(), srv, ln, httpd.Options{}) }() // in the place of srv.Serve(ln)

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
