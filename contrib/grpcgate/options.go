package grpcgate

import (
	"log/slog"
	"time"

	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"evenkeel.dev"
)

// Options configure a [Signal]. The zero value works.
type Options struct {
	// Health is the service's own health: what it says stands, but for SERVING while this process
	// is away. [Signal.Register] registers it with that added, so do not register it yourself.
	// Default: nil, which is a health.Server that says SERVING for the name "", the whole server.
	Health grpc_health_v1.HealthServer

	// Messages says of which streaming methods ("/package.Service/Method") each message counts as
	// a request: from its arrival until the handler has sent something or waits for the next. As a
	// client cannot move an open stream, messages that come after a drain are no reason for the
	// gate to warn. It is called for each stream, from any goroutine. Default: nil, none; a
	// stream's own length never counts.
	Messages func(fullMethod string) bool

	// MaxWatches bounds the Watch streams. One more is answered UNIMPLEMENTED: its client goes on
	// without health checks, and hears of no collection. Default: 0, which is 65,536. Limit:
	// 2^31-1.
	MaxWatches int

	// ReturnTimeout is how long [Signal.Ready] waits for a client's next call on a connection on
	// which calls were frequent, from its own call on. A client that takes longer to hear of it may
	// find this process and the next one away at once, and its calls fail with UNAVAILABLE.
	// Default: 0, which is 250 ms. Limit: 15 s, less than the gate gives Ready.
	ReturnTimeout time.Duration

	// Logger gets Warn for clients that do not watch. Default: nil, which is the gate's logger.
	Logger *slog.Logger
}

const (
	defaultMaxWatches    = 1 << 16
	defaultReturnTimeout = 250 * time.Millisecond
	mostReturnTimeout    = 15 * time.Second
)

// withDefaults returns o with its zero fields filled in, or an [*evenkeel.OptionError].
func (o Options) withDefaults() (Options, error) {
	if o.Health == nil {
		o.Health = health.NewServer()
	}
	if o.MaxWatches == 0 {
		o.MaxWatches = defaultMaxWatches
	}
	if o.MaxWatches < 0 || o.MaxWatches > 1<<31-1 {
		return o, evenkeel.NewOptionError("grpcgate.Options", "MaxWatches",
			"%d is out of range: use 1 to 2147483647, or 0 for %d", o.MaxWatches, defaultMaxWatches)
	}
	if o.ReturnTimeout == 0 {
		o.ReturnTimeout = defaultReturnTimeout
	}
	if o.ReturnTimeout < 0 || o.ReturnTimeout > mostReturnTimeout {
		return o, evenkeel.NewOptionError("grpcgate.Options", "ReturnTimeout",
			"%v is out of range: use up to %v, or 0 for %v", o.ReturnTimeout, mostReturnTimeout,
			defaultReturnTimeout)
	}
	return o, nil
}
