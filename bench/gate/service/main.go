//go:build linux

// Command service is the replicas that count what requests come after an announcement, and the
// hello and the loop of gci-go. It has a gate as its guide says, or none.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"evenkeel.dev/contrib/grpc/grpcgate"
	"evenkeel.dev/examples/msgpush/window"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/health"
	"evenkeel.dev/gcgate/httpgate"
	"evenkeel.dev/loadgen"
)

const (
	size  = 1024
	batch = 64
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("service: ")
	s := &service{handler: http.HandlerFunc(garbage)}
	flag.StringVar(&s.addr, "addr", "127.0.0.1:5100", "`host:port` to listen on")
	flag.StringVar(&s.policy, "gate", "", "`policy` of a gate, or "+guard+" for httpgate.Guard; empty: no gate")
	turns := flag.String("turns", "", "take turns by locks on this `file`")
	flag.IntVar(&s.options.Replicas, "replicas", 0, "`number` of replicas that take these turns")
	polled := flag.Bool("health", false, "serve /health, a signal of the gate: one answer tells the balancer")
	flag.StringVar(&s.grpcAddr, "grpc", "", "serve gRPC at this `host:port`, too, and tell its clients by Watch")
	flag.BoolVar(&s.health.InAnswers, "envoy", false, "tell Envoy in the answers' headers")
	bytes := flag.Int("push", 0, "serve nothing: push messages of so many `bytes` into a window that ends with each")
	pushing := flag.Duration("pushing", time.Second, "how long -push takes")
	hello := flag.Bool("hello", false, "each request makes 10 x 1 MB and keeps nothing, in the place of messages")
	length := flag.Int("window", 300_000, "`messages` that live")
	warm := flag.Uint("warm", 0, "`MiB` to take from the system at the start, which are then not new to it")
	flag.Parse()
	if *bytes > 0 {
		if err := push(s.policy, *bytes, *pushing); err != nil {
			log.Fatal(err)
		}
		return
	}
	if !*hello {
		if err := window.Check("ptr", size, *length); err != nil {
			log.Fatal(err)
		}
		window.Warm(int(*warm) << 20)
		w := window.New("ptr", size, *length)
		s.handler, s.push = w.Handler(batch), func() { w.Push(batch) }
	}
	s.options.OnEvent = s.counts.see
	s.options.Logger = slog.New(slog.NewTextHandler(os.Stdout, nil))
	s.options.DisableTurns = *turns == ""
	if *turns != "" {
		s.options.Turns = &gcgate.FileTurns{Path: *turns}
	}
	if s.health.Fall, s.health.Rise = 1, 1; *polled {
		s.options.Signals = append(s.options.Signals, &s.health)
	}
	if err := s.run(); err != nil {
		log.Fatal(err)
	}
}

type service struct {
	addr, policy, grpcAddr string

	handler http.Handler
	push    func()
	options gcgate.Options
	health  health.Handler
	gate    *gcgate.Gate
	counts  counts
}

// httpgate.Guard with zero options
const guard = "guard"

func (s *service) run() error {
	var calls *grpcgate.Signal
	if s.grpcAddr != "" {
		var err error
		if calls, err = grpcgate.New(grpcgate.Options{}); err != nil {
			return err
		}
		s.options.Signals = append(s.options.Signals, calls)
	}
	if err := s.start(); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", s.handler)
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		s.counts.polled()
		s.health.ServeHTTP(w, r)
	})
	mux.Handle("GET /stats", window.StatsHandler(s.stats))
	mux.Handle("GET /counts", &s.counts)
	mux.HandleFunc("POST /collect", s.collect)
	if calls != nil {
		stop, err := s.serveGRPC(calls)
		if err != nil {
			return err
		}
		defer stop()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	srv := &http.Server{Addr: s.addr, Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(ended)
		within, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if s.gate != nil {
			_ = s.gate.Stop(within) // first, because balancers still poll
		}
		if srv.Shutdown(within) != nil {
			srv.Close()
		}
	})
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-ended
	return nil
}

func (s *service) start() (err error) {
	switch s.policy {
	case "":
	case guard:
		g := httpgate.Guard(s.handler, gcgate.Options{Logger: s.options.Logger})
		s.handler, s.gate = g, g.Gate()
		return g.Err()
	default:
		if err := s.options.Policy.UnmarshalText([]byte(s.policy)); err != nil {
			return fmt.Errorf("-gate: %w", err)
		}
		if s.gate, err = gcgate.Start(context.Background(), s.options); err != nil {
			return err
		}
		var wrap httpgate.Options
		if s.health.InAnswers {
			wrap.EnvoyFail = s.health.Draining
		}
		s.handler = httpgate.New(s.gate, wrap).Wrap(s.counts.around(s.handler))
	}
	return nil
}

func (s *service) stats() any {
	if s.gate == nil {
		return nil
	}
	return s.gate.Stats()
}

func (s *service) collect(w http.ResponseWriter, r *http.Request) {
	if err := s.gate.Collect(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// push pushes messages for a time, as gci-go's benchmark does. An empty policy means the stock
// runtime. It waits for the end of its input, so that its memory can be read.
func push(policy string, size int, length time.Duration) error {
	enter := func() gcgate.Ticket { return gcgate.Ticket{} }
	if policy != "" {
		o := gcgate.Options{Logger: slog.New(slog.DiscardHandler)}
		if err := o.Policy.UnmarshalText([]byte(policy)); err != nil {
			return fmt.Errorf("-gate: %w", err)
		}
		g, err := gcgate.Start(context.Background(), o)
		if err != nil {
			return err
		}
		enter = g.Enter
	}
	var n int
	var took loadgen.Histogram
	var sum time.Duration
	start := time.Now()
	for ; n == 0 || time.Since(start) < length; n++ {
		ticket := enter()
		begun := time.Now()
		pushLocally(size, n)
		d := time.Since(begun)
		ticket.Exit()
		sum += d
		took.Record(d)
	}
	err := json.NewEncoder(os.Stdout).Encode(map[string]any{
		"ops": n, "mean": sum / time.Duration(n), "p99": took.Quantile(.99),
		"each": time.Since(start) / time.Duration(n),
	})
	_, _ = io.Copy(io.Discard, os.Stdin)
	return err
}
