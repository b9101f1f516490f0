// Command hello is the smallest service with a gate for its garbage collector, and with a recorder
// of why its requests are slow.
//
//	go run ./hello -admin 127.0.0.1:5051   # from examples/
//
// Then open http://127.0.0.1:5050 and http://127.0.0.1:5051/debug/evenkeel/. The recorder's page is
// for operators. Without -admin there is no recorder.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"evenkeel.dev/examples/internal/command"
	"evenkeel.dev/examples/internal/record"
	"evenkeel.dev/examples/msgpush/window"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/httpgate"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:5050", "`host:port` to listen on; port 0 lets the kernel choose")
	var gate gateOptions
	flag.TextVar(&gate.policy, "policy", gcgate.PolicyAuto,
		"the gate's `policy`: auto, or through, which collects under live traffic")
	flag.StringVar(&gate.turns, "turns", "",
		"collect in turn with the replicas that lock the same `file`, and tell clients in the answers' headers")
	flag.IntVar(&gate.live, "live", 0,
		"keep so many `MiB` of small objects in memory, and replace 128 KiB of them per request")
	var recorder record.Flags
	recorder.Register(flag.CommandLine)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	if err := run(ctx, *addr, gate, &recorder, log); err != nil {
		log.Error("hello ends", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string, gate gateOptions, recorder *record.Flags, log *slog.Logger) error {
	if err := recorder.Check(); err != nil {
		return err
	}
	if gate.live < 0 || gate.live > maxLive {
		return fmt.Errorf("-live %d: choose 0 to %d", gate.live, maxLive)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	gated := httpgate.Guard(gate.handler(), gate.options(log))
	stopGate := sync.OnceFunc(func() {
		end, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := gated.Stop(end); err != nil {
			log.Warn("the gate does not stop in time", "error", err)
		}
	})
	defer stopGate()
	mux := http.NewServeMux() // the gate doesn't count its own page
	mux.Handle("GET /debug/gate", httpgate.Status(gated.Gate()))
	mux.Handle("/", gated)
	if err := recorder.Start(log); err != nil {
		return err
	}
	defer recorder.Close()

	// The gate stops before the server. Its balancers must put this process back, and those that
	// poll need answers for that.
	return command.Server{First: stopGate}.Serve(ctx, ln, recorder.Around(mux), log)
}

// maxLive is the most MiB that -live keeps.
const maxLive = 4096

type gateOptions struct {
	policy gcgate.Policy
	turns  string // file; "": no replicas
	live   int    // MiB
}

func (o gateOptions) options(log *slog.Logger) gcgate.Options {
	g := gcgate.Options{Policy: o.policy, Logger: log}
	if o.turns != "" {
		g.Turns, g.Replicas = &gcgate.FileTurns{Path: o.turns}, 2
		g.Signals = []gcgate.Signal{&httpgate.InBand{}}
		g.DrainTimeout = time.Second // a busy machine delays the last answers
	}
	return g
}

func (o gateOptions) handler() http.Handler {
	mux := http.NewServeMux()
	if o.live == 0 {
		mux.HandleFunc("/", hello)
		return mux
	}
	const size = 1024
	kept := window.New("ptr", size, o.live<<20/size)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		kept.Push(128)
		hello(w, r)
	})
	return mux
}

func hello(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello, world\n") }
