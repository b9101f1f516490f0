// Command hello is the smallest service with a gate for its garbage collector, and with a recorder
// of why its requests are slow.
//
//	go run ./hello -admin 127.0.0.1:5051   # from examples/
//
// Then open http://127.0.0.1:5050 and http://127.0.0.1:5051/debug/evenkeel/. The recorder's page is
// for operators, so it has an address of its own. Without -admin there is no recorder.
//
// A single replica has no peer to signal. The gate then chooses a policy itself, and logs it.
// Replicas with -turns collect one at a time, and tell their clients in the answers' headers.
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
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"evenkeel.dev/examples/msgpush/window"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/httpgate"
	"evenkeel.dev/reqtrace/recorder"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:5050", "`host:port` to listen on; port 0 lets the kernel choose")
	var admin adminOptions
	flag.StringVar(&admin.addr, "admin", "", "`host:port` of the recorder's page, which those who use the service must not reach; default: no recorder")
	flag.DurationVar(&admin.recorder.Slow, "slow", 0, "how long a request takes that is slow; default: 1% of them are")
	flag.Float64Var(&admin.recorder.CPU, "recorder-cpu", 0, "part of the process's CPU time that the recorder may take; default 0.02")
	flag.StringVar(&admin.recorder.Dir, "recorder-dir", "", "`folder` that the recorder keeps its history in; default: none")
	var gate gateOptions
	flag.TextVar(&gate.policy, "policy", gcgate.PolicyAuto, "the gate's `policy`: auto, or through, which collects under live traffic")
	flag.StringVar(&gate.turns, "turns", "", "collect in turn with the replicas that lock the same `file`, and tell clients in the answers' headers")
	flag.IntVar(&gate.live, "live", 0, "keep so many `MiB` of small objects in memory, and replace 128 KiB of them per request")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	if err := run(ctx, *addr, gate, admin, log); err != nil {
		log.Error("hello ends", "error", err)
		os.Exit(1)
	}
}

// run serves until ctx is done, then finishes what is under way.
func run(ctx context.Context, addr string, gate gateOptions, admin adminOptions, log *slog.Logger) error {
	if o := admin.recorder; admin.addr == "" && (o.Slow != 0 || o.CPU != 0 || o.Dir != "") {
		return errors.New("-slow, -recorder-cpu and -recorder-dir are of the recorder: say with -admin where its page is")
	}
	if gate.live < 0 || gate.live > maxLive {
		return fmt.Errorf("-live %d: choose 0 to %d", gate.live, maxLive)
	}
	gated := httpgate.Guard(gate.handler(), gate.options(log))
	stopGate := sync.OnceFunc(func() { // the runtime's own collector has the process back
		end, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := gated.Stop(end); err != nil {
			log.Warn("the gate does not stop in time", "error", err)
		}
	})
	defer stopGate()
	mux := http.NewServeMux() // the gate doesn't count what its own page is asked
	mux.Handle("GET /debug/gate", httpgate.Status(gated.Gate()))
	mux.Handle("/", gated)
	srv := http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	if admin.addr != "" {
		stop, err := admin.record(ctx, &srv, log)
		if err != nil {
			return err
		}
		defer stop()
	}

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
	stopGate() // first: balancers must have this process back, for which those that poll need answers
	end, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return srv.Shutdown(end)
}

// maxLive is the most MiB that -live keeps.
const maxLive = 4096

// gateOptions are the gate's flags, and what gives its collector work.
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

// adminOptions say where the recorder's page is, and what it records.
type adminOptions struct {
	addr     string
	recorder recorder.Options
}

// record puts a recorder around srv's handler, the gate included: what waits there is the request's time too. Its page is on a
// server of its own. stop ends both.
func (o adminOptions) record(ctx context.Context, srv *http.Server, log *slog.Logger) (stop func(), err error) {
	o.recorder.Logger = log
	rec, err := recorder.Start(ctx, o.recorder)
	if err != nil {
		return nil, err
	}
	srv.Handler = rec.Middleware(srv.Handler)
	end := func() {
		timeout, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := rec.Stop(timeout); err != nil {
			log.Warn("the recorder's end", "error", err)
		}
	}
	ln, err := net.Listen("tcp", o.addr)
	if err != nil {
		end()
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/evenkeel/", rec)
	page := http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go page.Serve(ln) // until it is closed
	log.Info("recording", "url", "http://"+ln.Addr().String()+"/debug/evenkeel/")
	return func() {
		end()
		page.Close()
	}, nil
}

func hello(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello, world\n") }
