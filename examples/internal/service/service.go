// Package service is what the examples with flags for their gate share: one HTTP server from its
// command line to its graceful end. What an example shows is then all that is in its own folder.
package service

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
	"syscall"

	"evenkeel.dev/examples/internal/gateflags"
	"evenkeel.dev/examples/internal/httpserver"
	"evenkeel.dev/gcgate"
)

// What a process leaves with.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// Service is one example.
type Service struct {
	Name string
	Addr string // default of -addr

	Flags   func(*flag.FlagSet)                   // adds flags of its own; may be nil
	Check   func() error                          // says what is wrong with them; may be nil
	Prepare func(*slog.Logger) error              // runs before the gate starts; may be nil
	Tune    func(*gcgate.Options)                 // changes what the flags ask for; may be nil
	Handler func() http.Handler                   // serves the requests that the gate counts
	Around  func(http.Handler) http.Handler       // goes around the gate; may be nil
	Beside  func(*http.ServeMux, *gateflags.Gate) // adds what it does not count; may be nil
	Close   func()                                // ends what Prepare began, when all else has ended; may be nil

	Serve func(*http.Server, net.Listener) error // default nil: net/http's own
}

// Main runs s as the whole program.
func Main(s Service) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	os.Exit(Run(ctx, s, os.Args[1:], os.Stdout, os.Stderr))
}

// Run runs s until ctx is done and returns its exit code. It logs to stdout; stderr is for the
// runtime's gctrace lines and for what keeps the program from starting.
func Run(ctx context.Context, s Service, args []string, stdout, stderr io.Writer) int {
	var gate gateflags.Flags
	fs := flag.NewFlagSet(s.Name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	addr := fs.String("addr", s.Addr, "`host:port` to listen on; port 0 lets the kernel choose")
	if s.Flags != nil {
		s.Flags(fs)
	}
	gate.Register(fs)
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return exitOK
	} else if err != nil {
		return exitUsage // fs has said why
	}
	if err := s.check(fs, &gate); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", s.Name, err)
		fs.Usage()
		return exitUsage
	}
	// Listen before anything else starts: a busy port is the likeliest mishap.
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		fmt.Fprintf(stderr, "%s: cannot listen: %v; choose another address with -addr\n", s.Name, err)
		return exitError
	}
	defer ln.Close()
	if err := s.serve(ctx, ln, &gate, slog.New(slog.NewTextHandler(stdout, nil))); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", s.Name, err)
		return exitError
	}
	return exitOK
}

func (s *Service) check(fs *flag.FlagSet, gate *gateflags.Flags) error {
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if s.Check != nil {
		if err := s.Check(); err != nil {
			return err
		}
	}
	return gate.Check()
}

// serve answers on ln until ctx is done, then stops the gate and finishes what is under way.
func (s *Service) serve(ctx context.Context, ln net.Listener, flags *gateflags.Flags, log *slog.Logger) error {
	if s.Prepare != nil {
		if err := s.Prepare(log); err != nil {
			return err
		}
	}
	if s.Close != nil {
		defer s.Close()
	}
	flags.Tune = s.Tune
	g, err := flags.Start(ln.Addr().String(), log)
	if err != nil {
		return err
	}
	defer g.Close()
	counted := g.Wrap(s.Handler())
	if s.Around != nil {
		counted = s.Around(counted)
	}
	mux := http.NewServeMux()
	mux.Handle("/", counted)
	g.Register(mux)
	if s.Beside != nil {
		s.Beside(mux, g)
	}
	serve := s.Serve
	if serve == nil {
		serve = (*http.Server).Serve
	}
	// The gate stops first: its peers must have this process back, for which those that poll need
	// answers.
	serving, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	defer context.AfterFunc(ctx, func() {
		g.Close()
		end(context.Cause(ctx))
	})()
	return httpserver.ServeBy(serving, serve, ln, mux, log)
}
