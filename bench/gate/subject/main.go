// Command subject is the service of the driver's parts polls, hello, literal, envoy and grpc: a program with a gate as
// its guide says, or without one, that counts which of its requests met a collection.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"evenkeel.dev/contrib/grpcgate"
	"evenkeel.dev/examples/msgpush/window"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/health"
	"evenkeel.dev/gcgate/httpgate"
)

func main() {
	log.SetFlags(0)
	addr := flag.String("addr", "127.0.0.1:5100", "`host:port` to listen on")
	policy := flag.String("gate", "", "`policy` of a gate, or "+guarded+" for httpgate.Guard without options; empty: the stock runtime, no gate")
	turns := flag.String("turns", "", "take turns by locks on this `file`")
	replicas := flag.Int("replicas", 0, "`number` of replicas that take these turns")
	trigger := flag.Int64("trigger", 0, "collect from a heap of so many `MiB` on; 0: the gate's default")
	polled := flag.Bool("health", false, "serve /health, a signal of the gate")
	var check health.Handler
	flag.IntVar(&check.Fall, "fall", 0, "`answers` that take this replica out of service")
	flag.IntVar(&check.Rise, "rise", 0, "`answers` that put it back")
	grpcAddr := flag.String("grpc", "", "serve gRPC at this `host:port`, too, and tell its clients by Watch")
	header := flag.Bool("envoy", false, "tell Envoy in the answers' headers")
	bytes := flag.Int("push", 0, "serve nothing: push messages of so many `bytes` into a window that ends with each, and say what came of it")
	pushing := flag.Duration("pushing", time.Second, "how long -push takes")
	hello := flag.Bool("hello", false, "each request makes 10 x 1 MB and keeps nothing, in the place of messages")
	size := flag.Int("size", 1024, "`bytes` of a message")
	batch := flag.Int("batch", 64, "`messages` that a request pushes")
	length := flag.Int("window", 300_000, "`messages` that live")
	warm := flag.Uint("warm", 0, "so many `MiB` are taken from the system at the start, so that what is allocated later is not new to it")
	shape := flag.String("shape", "ptr", "`shape` of a message")
	flag.Parse()
	if *bytes > 0 {
		if err := push(os.Stdout, *policy, *bytes, *pushing); err != nil {
			log.Fatal("subject: ", err)
		}
		return
	}

	s := &subject{handler: http.HandlerFunc(garbage), grpcAddr: *grpcAddr}
	if !*hello {
		if err := window.Check(*shape, *size, *length); err != nil {
			log.Fatal("subject: ", err)
		}
		window.Warm(int(*warm) << 20)
		w := window.New(*shape, *size, *length)
		s.handler, s.push = w.Handler(*batch), func() { w.Push(*batch) }
	}
	o := gcgate.Options{MinTriggerBytes: *trigger << 20, OnEvent: s.met.see, Logger: slog.New(warned{slog.NewTextHandler(os.Stdout, nil), &s.met})}
	if *grpcAddr != "" {
		if *hello {
			log.Fatal("subject: -grpc is of no use with -hello: leave one of them out")
		}
		signal, err := grpcgate.New(grpcgate.Options{Logger: o.Logger})
		if err != nil {
			log.Fatal("subject: ", err)
		}
		s.signal, o.Signals = signal, append(o.Signals, signal)
	}
	if *polled {
		o.Signals = append(o.Signals, &check)
	}
	var wrap httpgate.Options
	if *header {
		check.InAnswers, wrap.EnvoyFail = true, check.Draining
	}
	if *turns != "" {
		o.Turns, o.Replicas = &gcgate.FileTurns{Path: *turns}, *replicas
	} else {
		o.DisableTurns = true // one process
	}
	if err := s.run(*addr, *policy, o, wrap, &check); err != nil {
		log.Fatal("subject: ", err)
	}
}

// subject is the service.
type subject struct {
	handler http.Handler
	push    func()       // what handler does for a request
	gate    *gcgate.Gate // nil: none
	met     met

	grpcAddr string // "": no gRPC
	signal   *grpcgate.Signal
}

// guarded is the policy of httpgate.Guard, whose options are the zero ones.
const guarded = "guard"

// garbage is the workload of the hello that came with gci-go: 10 MB a request, of which nothing stays.
func garbage(w http.ResponseWriter, _ *http.Request) {
	sum := 0
	for i := range 10 {
		b := make([]byte, 1e6)
		b[i] = byte(i)
		sum += int(b[0]) + int(b[i]) // so that the slice is made
	}
	fmt.Fprintln(w, "hello", sum)
}

// run serves until SIGINT or SIGTERM.
func (s *subject) run(addr, policy string, o gcgate.Options, wrap httpgate.Options, check http.Handler) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		s.met.polled()
		check.ServeHTTP(w, r)
	})
	switch policy {
	case "":
	case guarded:
		g := httpgate.Guard(s.met.count(s.handler), gcgate.Options{Logger: o.Logger, OnEvent: o.OnEvent})
		if err := g.Err(); err != nil {
			return err
		}
		s.handler, s.gate = g, g.Gate()
	default:
		if err := o.Policy.UnmarshalText([]byte(policy)); err != nil {
			return fmt.Errorf("-gate: %w", err)
		}
		var err error
		if s.gate, err = gcgate.Start(context.Background(), o); err != nil {
			return err
		}
		mux.HandleFunc("POST /collect", s.collect)
		m, err := httpgate.New(s.gate, wrap)
		if err != nil {
			return err
		}
		s.handler = m.Wrap(s.met.count(s.handler))
	}
	mux.Handle("/", s.handler)
	mux.Handle("GET /stats", window.StatsHandler(s.stats))
	mux.HandleFunc("GET /met", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(s.met.sum()) // the client went away
	})

	if s.grpcAddr != "" {
		stop, err := s.serveGRPC()
		if err != nil {
			return err
		}
		defer stop()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	srv := &http.Server{Addr: addr, Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(ended)
		within, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		if s.gate != nil {
			_ = s.gate.Stop(within) // first, while polls are answered
		}
		if srv.Shutdown(within) != nil {
			srv.Close()
		}
	})
	o.Logger.Info("listening", "addr", addr, "policy", policy)
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-ended
	return nil
}

// endTimeout bounds the end, as that of a rollout is.
const endTimeout = 5 * time.Second

func (s *subject) stats() any {
	if s.gate == nil {
		return nil
	}
	return s.gate.Stats()
}

// collect asks for a collection, and answers when it has ended.
func (s *subject) collect(w http.ResponseWriter, r *http.Request) {
	if err := s.gate.Collect(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}
