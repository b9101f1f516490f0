// Command hello is the smallest service with a gate before its collector.
//
//	go run ./hello          # from examples/; then open http://127.0.0.1:5050
//
// With nobody to tell, the gate chooses by itself what to do around a collection, and the log says
// what it chose. To tell a load balancer, name it in gcgate.Options.Signals.
package main

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/httpgate"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:5050", "`host:port` to listen on; port 0 lets the kernel choose")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	if err := run(ctx, *addr, log); err != nil {
		log.Error("hello ends", "error", err)
		os.Exit(1)
	}
}

// run serves until ctx is done, then finishes what is under way.
func run(ctx context.Context, addr string, log *slog.Logger) error {
	gate, err := gcgate.Start(ctx, gcgate.Options{Logger: log})
	if err != nil {
		return err
	}
	defer gate.Stop(context.Background()) // the runtime's own collector has the process back

	// A recorder of slow requests belongs here, around the gate: what waits there is the request's time too.
	srv := http.Server{Handler: httpgate.Wrap(gate, http.HandlerFunc(hello)), ReadHeaderTimeout: 5 * time.Second}

	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	log.Info("listening", "url", "http://"+ln.Addr().String())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return srv.Shutdown(end)
}

func hello(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello, world\n") }
