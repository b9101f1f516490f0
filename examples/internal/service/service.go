// Package service is what the examples with flags for their gate share: one HTTP server from its
// command line to its graceful end.
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

// Command returns s as a program.
func (s Service) Command() command.Command {
	var addr string
	var gate gateflags.Flags
	return command.Command{
		Name: s.Name,
		Flags: func(fs *flag.FlagSet) {
			command.AddrFlag(fs, &addr, s.Addr)
			if s.Flags != nil {
				s.Flags(fs)
			}
			gate.Register(fs)
		},
		Check: func() error {
			if s.Check != nil {
				if err := s.Check(); err != nil {
					return err
				}
			}
			return gate.Check()
		},
		Run: func(ctx context.Context, _ io.Writer, log *slog.Logger) error {
			ln, err := command.Listen(addr)
			if err != nil {
				return err
			}
			defer ln.Close()
			return s.serve(ctx, ln, &gate, log)
		},
	}
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
	return command.ServeBy(serving, serve, ln, mux, log)
}
