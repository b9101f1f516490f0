// Command msgpush is a service that its collector keeps busy. It holds the last messages that were
// pushed, hundreds of megabytes of them, and each request pushes more.
//
//	go run ./msgpush              # from examples/; GET http://127.0.0.1:5100/push
//	go run ./msgpush -gate        # the same, with a gate before the collector
//
// README.md has the flags, and how to run two behind HAProxy.
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	_ "net/http/pprof"
	"strings"
	"time"

	"evenkeel.dev/examples/internal/record"
	"evenkeel.dev/examples/internal/service"
	"evenkeel.dev/examples/msgpush/window"
)

type msgpush struct {
	size, batch, length int
	shape               string
	warm                uint // MiB
	window              *window.Window
	recorder            record.Flags
}

func main() { newService().Command().Main() }

func newService() service.Service {
	m := &msgpush{}
	return service.Service{
		Name: "msgpush", Addr: "127.0.0.1:5100",
		Flags: m.flags, Check: m.check, Prepare: m.prepare, Around: m.recorder.Around, Handler: m.handler,
		Beside: beside, Close: m.recorder.Close,
	}
}

func (m *msgpush) flags(fs *flag.FlagSet) {
	fs.IntVar(&m.size, "size", 1024, "`bytes` of a message")
	fs.IntVar(&m.batch, "batch", 64, "`messages` that a request pushes")
	fs.IntVar(&m.length, "window", 300_000, "`messages` that live")
	fs.StringVar(&m.shape, "shape", "ptr", "`shape` of a message, one of "+strings.Join(window.Shapes, ", "))
	fs.UintVar(&m.warm, "warm", 0,
		"`MiB` that are taken from the system at the start, so that later memory is pre-faulted")
	m.recorder.Register(fs)
}

func (m *msgpush) check() error {
	if m.batch < 1 || m.batch > m.length {
		return fmt.Errorf("-batch %d: choose 1 to %d, the window", m.batch, m.length)
	}
	if err := m.recorder.Check(); err != nil {
		return err
	}
	return window.Check(m.shape, m.size, m.length)
}

// prepare fills the window, so that the gate finds the heap as it will be.
func (m *msgpush) prepare(log *slog.Logger) error {
	window.Warm(int(m.warm) << 20)
	start := time.Now()
	m.window = window.New(m.shape, m.size, m.length)
	log.Info("filled", "bytes", m.window.Live(), "shape", m.shape, "took", time.Since(start))
	return m.recorder.Start(log)
}

func (m *msgpush) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /push", m.window.Handler(m.batch))
	return mux
}

func beside(mux *http.ServeMux, g *service.Gate) {
	mux.Handle("GET /stats", window.StatsHandler(g.Stats))
	mux.HandleFunc("POST /collect", g.ServeCollect)
	mux.Handle("/debug/pprof/", http.DefaultServeMux) // where net/http/pprof puts them
}
