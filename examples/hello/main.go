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
	"sync"
	"time"

	"evenkeel.dev/examples/internal/command"
	"evenkeel.dev/examples/internal/record"
	"evenkeel.dev/examples/msgpush/window"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/httpgate"
)

func main() {
	s := &service{}
	command.Command{Name: "hello", Addr: "127.0.0.1:5050", Flags: s.flags, Check: s.check, Listen: s.serve}.Main()
}

type service struct {
	policy   gcgate.Policy
	turns    string // file; "": no replicas
	live     int    // MiB
	recorder record.Flags
}

func (s *service) flags(fs *flag.FlagSet) {
	fs.TextVar(&s.policy, "policy", gcgate.PolicyAuto,
		"the gate's `policy`: auto, or through, which collects under live traffic")
	fs.StringVar(&s.turns, "turns", "",
		"collect in turn with the replicas that lock the same `file`, and tell clients in the answers' headers")
	fs.IntVar(&s.live, "live", 0,
		"keep so many `MiB` of small objects in memory, and replace 128 KiB of them per request")
	s.recorder.Register(fs)
}

const maxLive = 4096 // MiB

func (s *service) check() error {
	if s.live < 0 || s.live > maxLive {
		return fmt.Errorf("-live %d: choose 0 to %d", s.live, maxLive)
	}
	return s.recorder.Check()
}

func (s *service) serve(ctx context.Context, ln net.Listener, _ io.Writer, log *slog.Logger) error {
	gated := httpgate.Guard(s.handler(), s.options(log))
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
	if err := s.recorder.Start(log); err != nil {
		return err
	}
	defer s.recorder.Close()
	return command.Server{First: stopGate}.Serve(ctx, ln, s.recorder.Around(mux), log)
}

func (s *service) options(log *slog.Logger) gcgate.Options {
	g := gcgate.Options{Policy: s.policy, Logger: log}
	if s.turns != "" {
		g.Turns, g.Replicas = &gcgate.FileTurns{Path: s.turns}, 2
		g.Signals = []gcgate.Signal{&httpgate.InBand{}}
		g.DrainTimeout = time.Second // a busy machine delays the last answers
	}
	return g
}

func (s *service) handler() http.Handler {
	if s.live == 0 {
		return http.HandlerFunc(hello)
	}
	const size = 1024
	kept := window.New("ptr", size, s.live<<20/size)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept.Push(128)
		hello(w, r)
	})
}

func hello(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello, world\n") }
