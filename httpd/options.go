package httpd

import (
	"cmp"
	"log/slog"
	"runtime"

	"evenkeel.dev"
	"evenkeel.dev/aio"
)

// Options configures ListenAndServe and Serve. The zero value works.
type Options struct {
	// Backend is aio.Options.Backend. Default: aio.BackendAuto.
	Backend aio.Backend

	// Loops is how many event loops may serve the connections, each on one core at a time. The first
	// is enough for a low load. If a loop is busy, connections move to others. Default: half of
	// GOMAXPROCS, at least 1. Limit: 256.
	Loops int

	// MaxConns is how many connections with a descriptor may be open. Others wait in the kernel's
	// accept queue, and Stats.AcceptStalls counts that. Set the http.Server's ReadHeaderTimeout and
	// IdleTimeout to end silent ones. Default: 2^20. Limit: 2^24.
	MaxConns int

	// MaxQueuedBytes bounds the queued answers of a connection beyond the kernel's buffer. Then a
	// Write waits until the client reads. A Write counts as 4 KiB at least. Default: 256 KiB.
	// Limit: 2^40.
	MaxQueuedBytes int64

	// MaxUnreadBytes bounds what is read of a connection before its handler asks for it. The last
	// read may add 64 KiB. Default: 64 KiB. Limit: 2^40.
	MaxUnreadBytes int64

	// MaxBytes bounds the queued and unread bytes of all connections of a Serve, to about 3% if there
	// may be several loops. Beyond it a Write waits until the kernel has its bytes, and a connection
	// is read 4 KiB at a time. net/http's memory for running requests is not included. Default: 32
	// MiB. Limit: 2^40.
	MaxBytes int64

	// Logger gets a Warn that needs an operator. Messages about a request go to
	// http.Server.ErrorLog. Without one, panics of handlers go to Logger as an Error. Default:
	// slog.Default().
	Logger *slog.Logger
}

// normal returns o with its defaults, or an *evenkeel.OptionError.
func (o Options) normal() (Options, error) {
	half := min(max(runtime.GOMAXPROCS(0)/2, 1), 256)
	for _, err := range []error{
		limit("Loops", &o.Loops, 256, half, "loops"),
		limit("MaxConns", &o.MaxConns, 1<<24, 1<<20, "connections"),
		limit("MaxQueuedBytes", &o.MaxQueuedBytes, 1<<40, 256<<10, "bytes"),
		limit("MaxUnreadBytes", &o.MaxUnreadBytes, 1<<40, 64<<10, "bytes"),
		limit("MaxBytes", &o.MaxBytes, 1<<40, 32<<20, "bytes"),
	} {
		if err != nil {
			return o, err
		}
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o, nil
}

// limit checks an option, and gives it its default if it is 0.
func limit[N int | int64](option string, value *N, most, unset N, unit string) error {
	if *value < 0 || *value > most {
		return evenkeel.NewOptionError("httpd.Options", option,
			"%d is not a limit: write 1 to %d %s, or 0 for %d", *value, most, unit, unset)
	}
	*value = cmp.Or(*value, unset)
	return nil
}
