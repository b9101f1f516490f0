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
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/httpgate"
)

type Service struct {
	Name string
	Addr string

	Flags   func(*flag.FlagSet)
	Check   func() error
	Prepare func(*slog.Logger) error    // before the gate starts
	Handler func() http.Handler         // requests that the gate counts
	Beside  func(*http.ServeMux, *Gate) // what the gate does not count
	Close   func()                      // the end of what Prepare began

	// These may be nil.
	Tune   func(*gcgate.Options)                  // changes what the flags ask for
	Around func(http.Handler) http.Handler        // goes around the gate
	Serve  func(*http.Server, net.Listener) error // default: net/http's own

	gate gateFlags
}

func (s Service) Command() command.Command {
	return command.Command{
		Name: s.Name, Addr: s.Addr,
		Flags: func(fs *flag.FlagSet) {
			s.Flags(fs)
			s.gate.register(fs)
		},
		Check: func() error {
			if err := s.Check(); err != nil {
				return err
			}
			return s.gate.check()
		},
		Listen: s.serve,
	}
}

func (s *Service) serve(ctx context.Context, ln net.Listener, _ io.Writer, log *slog.Logger) error {
	if err := s.Prepare(log); err != nil {
		return err
	}
	defer s.Close()
	g, err := s.gate.start(ln.Addr().String(), log, s.Tune)
	if err != nil {
		return err
	}
	defer g.Close()
	counted := httpgate.Wrap(g.Gate, s.Handler())
	if s.Around != nil {
		counted = s.Around(counted)
	}
	mux := http.NewServeMux()
	mux.Handle("/", counted)
	g.register(mux)
	s.Beside(mux, g)
	return command.Server{By: s.Serve, First: g.Close}.Serve(ctx, ln, mux, log)
}
