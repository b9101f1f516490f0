package httpd

import (
	"log/slog"
	"net/http"

	"evenkeel.dev"
	"evenkeel.dev/aio"
)

// Options configures ListenAndServe and Serve. The zero value works.
type Options struct {
	// Addr is what ListenAndServe and ListenAndServeTLS listen on, as of net.Listen. Default:
	// http.Server.Addr, or ":http", and ":https" of ListenAndServeTLS.
	Addr string

	// Network is tcp, tcp4, tcp6 or unix. Default: tcp.
	Network string

	// Backend is aio.Options.Backend. Default: aio.BackendAuto.
	Backend aio.Backend

	// MaxConns limits how many connections are open at a time; further ones wait in the kernel's
	// queue until one ends, and Stats.AcceptStalls counts that. So that those which say nothing
	// end, set ReadHeaderTimeout and IdleTimeout of the http.Server. It is for connections that
	// have a descriptor. Default: 0, which is 2^20. Limit: 2^24 connections.
	MaxConns int

	// MaxQueuedBytes limits what is queued of the answers on one connection, beyond what the kernel
	// takes: then a Write waits until its client reads. Each Write counts as 4 KiB at least.
	// Default: 0, which is 256 KiB. Limit: 2^40 bytes.
	MaxQueuedBytes int64

	// MaxUnreadBytes limits what is read of one connection before its handler asks for it, but for
	// the last read, which brings up to 64 KiB. Default: 0, which is 64 KiB. Limit: 2^40 bytes.
	MaxUnreadBytes int64

	// MaxBytes limits the memory of what is queued and read, as above, of all connections of a
	// Serve together. When it is reached, a Write waits until the kernel has its bytes, and of each
	// connection 4 KiB are read at a time, until its handler asks for more. It leaves out what
	// net/http keeps for requests that are under way. Default: 0, which is 32 MiB. Limit: 2^40
	// bytes.
	MaxBytes int64

	// Logger gets Warn for what needs an operator. Default: slog.Default(). What concerns a
	// request goes to http.Server.ErrorLog, as ever; but without one, handlers that panic are here, as Error.
	Logger *slog.Logger
}

const (
	defaultMaxConns = 1 << 20
	limitMaxConns   = 1 << 24

	defaultQueuedBytes = 256 << 10
	defaultUnreadBytes = 64 << 10
	defaultBytes       = 32 << 20
	limitBytes         = 1 << 40
)

// normal returns o with its defaults filled in, or an *evenkeel.OptionError.
func (o Options) normal(srv *http.Server) (Options, error) {
	switch o.Network {
	case "":
		o.Network = "tcp"
	case "tcp", "tcp4", "tcp6", "unix":
	default:
		return o, evenkeel.NewOptionError("httpd.Options", "Network",
			"%q is none that is served: write tcp, tcp4, tcp6 or unix",
			o.Network)
	}
	if _, err := o.Backend.MarshalText(); err != nil {
		return o, evenkeel.NewOptionError("httpd.Options", "Backend",
			"%d is none: write a constant of package aio, such as aio.BackendAuto", int(o.Backend))
	}
	if o.MaxConns < 0 || o.MaxConns > limitMaxConns {
		return o, evenkeel.NewOptionError("httpd.Options", "MaxConns",
			"%d is not a limit: write 1 to %d connections, or 0 for %d", o.MaxConns, limitMaxConns,
			defaultMaxConns)
	}
	for _, b := range []struct {
		name   string
		bytes  *int64
		preset int64
	}{
		{"MaxQueuedBytes", &o.MaxQueuedBytes, defaultQueuedBytes},
		{"MaxUnreadBytes", &o.MaxUnreadBytes, defaultUnreadBytes},
		{"MaxBytes", &o.MaxBytes, defaultBytes},
	} {
		if *b.bytes < 0 || *b.bytes > limitBytes {
			return o, evenkeel.NewOptionError("httpd.Options", b.name,
				"%d is not a limit: write 1 to %d bytes, or 0 for %d",
				*b.bytes, int64(limitBytes), b.preset)
		}
		if *b.bytes == 0 {
			*b.bytes = b.preset
		}
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
