// Package service is an HTTP server with flags for its gate.
package service

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"

	"evenkeel.dev/examples/internal/command"
	"evenkeel.dev/examples/internal/gateflags"
	"evenkeel.dev/gcgate"
)

type Service struct {
	Name string
	Addr string

	Flags   func(*flag.FlagSet)
	Check   func() error
	Prepare func(*slog.Logger) error              // before the gate starts
	Handler func() http.Handler                   // requests that the gate counts
	Beside  func(*http.ServeMux, *gateflags.Gate) // what the gate does not count
	Close   func()                                // the end of what Prepare began

	// These may be nil.
	Tune   func(*gcgate.Options)                  // changes what the flags ask for
	Around func(http.Handler) http.Handler        // goes around the gate
	Serve  func(*http.Server, net.Listener) error // default: net/http's own
}

func (s Service) Command() command.Command {
	var gate gateflags.Flags
	return command.Command{
		Name: s.Name, Addr: s.Addr,
		Flags: func(fs *flag.FlagSet) {
			s.Flags(fs)
			gate.Register(fs)
		},
		Check: func() error {
			if err := s.Check(); err != nil {
				return err
			}
			return gate.Check()
		},
		Listen: func(ctx context.Context, ln net.Listener, _ io.Writer, log *slog.Logger) error {
			return s.serve(ctx, ln, &gate, log)
		},
	}
}

func (s *Service) serve(ctx context.Context, ln net.Listener, flags *gateflags.Flags, log *slog.Logger) error {
	if err := s.Prepare(log); err != nil {
		return err
	}
	defer s.Close()
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
	s.Beside(mux, g)
	return command.Server{By: s.Serve, First: g.Close}.Serve(ctx, ln, mux, log)
}
