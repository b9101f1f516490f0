package httpd

import (
	"fmt"
	"log/slog"
	"net/http"

	"evenkeel.dev/aio"
)

// Options configures ListenAndServe and Serve. The zero value works.
type Options struct {
	// Addr is what ListenAndServe and ListenAndServeTLS listen on, as of net.Listen. Default: http.Server.Addr, or ":http", and ":https" of ListenAndServeTLS.
	Addr string

	// Network is tcp, tcp4, tcp6 or unix. Default: tcp.
	Network string

	// Backend is aio.Options.Backend. Default: aio.BackendAuto.
	Backend aio.Backend

	// MaxConns limits how many connections are open at a time; further ones wait in the kernel's queue until one ends, and
	// Stats.AcceptStalls counts that. So that those which say nothing end, set ReadHeaderTimeout and IdleTimeout of the http.Server.
	// It is for connections that have a descriptor. Default: 0, which is 2^20. Limit: 2^24 connections.
	MaxConns int

	// Logger gets Warn for what needs an operator. Default: slog.Default(). What concerns a
	// request goes to http.Server.ErrorLog, as ever; but without one, handlers that panic are here, as Error.
	Logger *slog.Logger
}

const (
	defaultMaxConns = 1 << 20
	limitMaxConns   = 1 << 24
)

// An OptionError says which field of [Options] cannot be used, and what would be right.
type OptionError struct {
	Option string // the field's name
	Reason string // what is wrong, and what to write
}

func (e *OptionError) Error() string { return "httpd: Options." + e.Option + ": " + e.Reason }

// normal returns o with its defaults filled in, or an *OptionError.
func (o Options) normal(srv *http.Server) (Options, error) {
	switch o.Network {
	case "":
		o.Network = "tcp"
	case "tcp", "tcp4", "tcp6", "unix":
	default:
		return o, &OptionError{"Network", fmt.Sprintf("%q is none that is served: write tcp, tcp4, tcp6 or unix", o.Network)}
	}
	if _, err := o.Backend.MarshalText(); err != nil {
		return o, &OptionError{"Backend", fmt.Sprintf("%d is none: write a constant of package aio, such as aio.BackendAuto", int(o.Backend))}
	}
	if o.MaxConns < 0 || o.MaxConns > limitMaxConns {
		return o, &OptionError{"MaxConns", fmt.Sprintf("%d is not a limit: write 1 to %d connections, or 0 for %d", o.MaxConns, limitMaxConns, defaultMaxConns)}
	}
	if o.MaxConns == 0 {
		o.MaxConns = defaultMaxConns
	}
	if o.Addr == "" {
		o.Addr = srv.Addr
	}
	if o.Addr == "" {
		o.Addr = ":http"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, nil
}
