package prometheus_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"evenkeel.dev/aio"
	evenkeel "evenkeel.dev/contrib/prometheus"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/httpd"
	"evenkeel.dev/reqtrace/recorder"
)

// samples prints those of some names.
func samples(registry *prometheus.Registry, names ...string) {
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		for _, name := range names {
			if strings.HasPrefix(line, name) {
				fmt.Print(line)
			}
		}
	}
}

func ExampleNewGate() {
	ctx := context.Background()
	gate, err := gcgate.Start(ctx, gcgate.Options{
		Policy:    gcgate.PolicyThrough,
		Collector: gcgatetest.NewHeap(), // for this example: leaves the process's collector alone
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gate.Stop(ctx)
	registry := prometheus.NewRegistry()
	registry.MustRegister(evenkeel.NewGate(gate))

	gate.Enter().Exit()
	if err := gate.Collect(ctx); err != nil {
		fmt.Println(err)
	}
	samples(registry, "evenkeel_gate_policy_info", "evenkeel_gate_requests_total", `evenkeel_gate_collections_total{reason="requested"}`)
	// Output:
	// evenkeel_gate_collections_total{reason="requested"} 1
	// evenkeel_gate_policy_info{policy="through"} 1
	// evenkeel_gate_requests_total 1
}

func ExampleNewWatcher() {
	w, err := aio.New(aio.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	registry := prometheus.NewRegistry()
	registry.MustRegister(evenkeel.NewWatcher(w))

	w.Post("a tag")
	w.WaitIO()
	samples(registry, "evenkeel_aio_results_total", "evenkeel_aio_connections")
	// Output:
	// evenkeel_aio_connections 0
	// evenkeel_aio_results_total 1
}

func ExampleNewServer() {
	srv := &http.Server{Handler: http.NotFoundHandler()}
	registry := prometheus.NewRegistry()
	registry.MustRegister(evenkeel.NewServer(srv))

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
	samples(registry, "evenkeel_httpd_accepted", `evenkeel_httpd_refused_total{reason="bad request"}`)
	// Output:
	// HTTP/1.1 400 Bad Request
	// evenkeel_httpd_accepted_connections_total 1
	// evenkeel_httpd_refused_total{reason="bad request"} 1
}

func ExampleNewRecorder() {
	ctx := context.Background()
	rec, err := recorder.Start(ctx, recorder.Options{
		Slow: 50 * time.Millisecond, CPU: 1, InProcess: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := prometheus.NewRegistry()
	slow, err := evenkeel.NewRecorder(rec, evenkeel.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer slow.Close()
	registry.MustRegister(slow)

	mux := http.NewServeMux()
	mux.HandleFunc("GET /report", func(http.ResponseWriter, *http.Request) { time.Sleep(100 * time.Millisecond) })
	srv := httptest.NewServer(rec.Middleware(mux))
	defer srv.Close()
	res, err := srv.Client().Get(srv.URL + "/report")
	if err != nil {
		fmt.Println(err)
		return
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	rec.Stop(ctx)
	// Once it is explained, evenkeel_recorder_explained_requests_total has its class, and its cause: sleep, or machine,
	// where that stood still meanwhile.
	samples(registry, "evenkeel_recorder_slow_requests_total")
	// Output:
	// evenkeel_recorder_slow_requests_total 1
}
