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
	// Health is the service's own health. The signal replaces SERVING in a Watch during a
	// collection. [Signal.Register] registers it. Default: nil, a health.Server that returns
	// SERVING for the name "", the whole server.
	Health grpc_health_v1.HealthServer

	// Messages returns whether each message of a streaming method ("/package.Service/Method")
	// counts as a request, from its arrival until the handler sends or receives. The gate does not
	// warn of messages after a drain, because a client cannot move an open stream. Any goroutine
	// calls it, once per stream. Default: nil, no method.
	Messages func(fullMethod string) bool

	// MaxWatches bounds the Watch streams. One more gets UNIMPLEMENTED, and its client goes on
	// without health checks. Default: 0, which is 65,536. Limit: 2^31-1.
	MaxWatches int

	// ReturnTimeout is how long [Signal.Ready] waits for the next call on a connection on which
	// calls were frequent. A client that hears of it later may find this replica and the next one
	// drained at once, and its calls fail with UNAVAILABLE. Default: 0, which is 250 ms. Limit:
	// 15 s.
	ReturnTimeout time.Duration

	// Logger gets Warn for clients that do not watch. Default: nil, the gate's logger.
	Logger *slog.Logger
}

const (
	defaultMaxWatches    = 1 << 16
	defaultReturnTimeout = 250 * time.Millisecond
	mostReturnTimeout    = 15 * time.Second
)

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
