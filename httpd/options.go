package httpd

import (
	"fmt"
	"log/slog"
	"net/http"

	"evenkeel.dev/aio"
)

// Options configures ListenAndServe and Serve. The zero value works.
type Options struct {
	// Addr is what ListenAndServe listens on, as of net.Listen. Default: http.Server.Addr, or ":http".
	Addr string

	// Network is tcp, tcp4, tcp6 or unix. Default: tcp.
	Network string

	// Backend is aio.Options.Backend. Default: aio.BackendAuto.
	Backend aio.Backend

	// Logger gets Warn for what needs an operator. Default: slog.Default(). What concerns a
	// request goes to http.Server.ErrorLog, as ever; but without one, handlers that panic are here, as Error.
	Logger *slog.Logger
}

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
