package promhttpd_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/contrib/prometheus/internal/promtest"
	"evenkeel.dev/contrib/prometheus/promhttpd"
	"evenkeel.dev/httpd"
)

func Example() {
	srv := &http.Server{Handler: http.NotFoundHandler()}
	registry := prometheus.NewRegistry()
	registry.MustRegister(promhttpd.New(srv))

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error)
	go func() { ended <- httpd.Serve(context.Background(), srv, ln, httpd.Options{}) }()
	if c, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
		line, _ := bufio.NewReader(c).ReadString('\n')
		fmt.Println(strings.TrimSpace(line))
		c.Close()
	}
	srv.Shutdown(context.Background())
	<-ended
	promtest.Print(registry, "evenkeel_httpd_accepted", `evenkeel_httpd_refused_total{reason="bad request"}`)
	// Output:
	// HTTP/1.1 400 Bad Request
	// evenkeel_httpd_accepted_connections_total 1
	// evenkeel_httpd_refused_total{reason="bad request"} 1
}
