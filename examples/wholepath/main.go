// Command wholepath is a service on all of the toolkit's packages. A request goes through aio and
// httpd to net/http, past the recorder and the gate to a handler, and from there into C by fastc.
//
//	go run ./wholepath            # from examples/; then: curl 127.0.0.1:5200/report
//	go run ./wholepath -nethttp   # the same service, served by net/http alone
//
// The recorder's page is http://127.0.0.1:5201/debug/evenkeel/. demo.sh runs two behind HAProxy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"evenkeel.dev/contrib/prometheus/promgate"
	"evenkeel.dev/contrib/prometheus/promhttpd"
	"evenkeel.dev/contrib/prometheus/promrecorder"
	"evenkeel.dev/examples/fastcserver/matrix"
	"evenkeel.dev/examples/internal/record"
	"evenkeel.dev/examples/internal/service"
	"evenkeel.dev/examples/msgpush/window"
	"evenkeel.dev/httpd"
	"evenkeel.dev/reqtrace/recorder"
)

type program struct {
	nethttp bool
	length  int
	record  record.Flags

	log      *slog.Logger
	window   *window.Window
	slow     *promrecorder.Collector
	registry *prometheus.Registry
}

func main() { newService().Command().Main() }

func newService() service.Service {
	p := &program{record: record.Flags{Admin: "127.0.0.1:5201", Options: recorder.Options{InProcess: true}}}
	return service.Service{
		Name: "wholepath", Addr: "127.0.0.1:5200",
		Flags: p.flags, Check: p.check, Prepare: p.prepare, Serve: p.serve, Handler: p.handler,
		Around: p.record.Around, // the recorder sees the gate's waits too
		Beside: p.beside, Close: p.close,
	}
}

func (p *program) flags(fs *flag.FlagSet) {
	fs.BoolVar(&p.nethttp, "nethttp", false, "serve by net/http alone, in the place of package httpd")
	fs.IntVar(&p.length, "window", 30_000, "`readings` that live")
	p.record.Register(fs)
}

const (
	shape = "ptr" // a collector follows pointers
	size  = 1024  // bytes of a reading
	batch = 16    // readings that a request reports
)

func (p *program) check() error {
	if p.length < batch {
		return fmt.Errorf("-window %d: write %d or more, which a request pushes", p.length, batch)
	}
	if p.record.Admin == "" {
		return errors.New("-admin is empty: say where the recorder's page and the metrics are")
	}
	return window.Check(shape, size, p.length)
}

// prepare fills the window, so that the gate finds the heap as it will be.
func (p *program) prepare(log *slog.Logger) error {
	p.log = log
	p.window = window.New(shape, size, p.length)
	if err := p.record.Start(log); err != nil {
		return err
	}
	p.slow = promrecorder.New(p.record.Recorder)
	p.registry = prometheus.NewRegistry()
	p.registry.MustRegister(p.slow, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return nil
}

func (p *program) serve(srv *http.Server, ln net.Listener) error {
	if p.nethttp {
		return srv.Serve(ln)
	}
	p.registry.MustRegister(promhttpd.New(srv))
	return httpd.Serve(context.Background(), srv, ln, httpd.Options{Logger: p.log}) // the caller shuts srv down
}

// beside adds what only operators see, at an address of its own.
func (p *program) beside(mux *http.ServeMux, g *service.Gate) {
	mux.Handle("GET /stats", window.StatsHandler(g.Stats))
	if gate := g.Gate; gate != nil {
		p.registry.MustRegister(promgate.New(gate))
	}
	p.record.Pages.Handle("GET /metrics",
		promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	by := "httpd"
	if p.nethttp {
		by = "net/http"
	}
	p.log.Info("serving", "by", by, "c", way(), "metrics", p.record.URL+"/metrics")
}

func (p *program) close() {
	p.record.Close()
	if p.slow != nil {
		p.slow.Close()
	}
}

const order = 8 // of the filter

func (p *program) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /report", p.report)
	return mux
}

// report filters each reading by a call of C of less than a microsecond, and keeps the last ones.
func (p *program) report(w http.ResponseWriter, _ *http.Request) {
	filter := matrix.Take(order)
	defer filter.Give()
	for range batch {
		multiply(filter.A, filter.B, filter.Out, order, 1)
	}
	_, _ = io.WriteString(w, answer(p.window.Push(batch), filter))
}

func answer(readings uint64, filter *matrix.Matrices) string {
	return fmt.Sprintf("%d readings, state %g\n", readings, matrix.Trace(filter.Out, order))
}
