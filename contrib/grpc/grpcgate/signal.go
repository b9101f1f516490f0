package grpcgate

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"evenkeel.dev"
	"evenkeel.dev/gcgate"
)

var (
	_ gcgate.Signal    = (*Signal)(nil)
	_ gcgate.Attacher  = (*Signal)(nil)
	_ gcgate.Checker   = (*Signal)(nil)
	_ gcgate.Confirmer = (*Signal)(nil)
	_ gcgate.Explainer = (*Signal)(nil)
)

const (
	// idleSettle is after how long an idle client counts as back, some round trips.
	idleSettle = 20 * time.Millisecond

	waitTick = 2 * time.Millisecond
)

// A Signal is a [gcgate.Signal] to gRPC clients, of one gate and one server. Its interceptors count
// their calls. Any goroutine may call its methods.
//
// To only count calls, for a gate with other signals, call [Signal.Attach] with the gate.
type Signal struct {
	options Options
	gate    atomic.Pointer[gcgate.Gate]
	callers callers

	// flips is odd while watchers get NOT_SERVING. Written with mu held.
	flips atomic.Uint64

	mu      sync.Mutex // taken after a watch's mu
	watches map[*watch]struct{}
	flipped time.Time
	changed chan struct{} // closed to have waits check again; nil: no wait
}

// New returns a Signal, or an [*evenkeel.OptionError].
func New(o Options) (*Signal, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Signal{options: o, watches: make(map[*watch]struct{})}, nil
}

// Register registers the health service. Call it before the server serves. Set [Options].Health if
// the server has one, because a second registration ends the process.
func (s *Signal) Register(r grpc.ServiceRegistrar) {
	grpc_health_v1.RegisterHealthServer(r, &service{signal: s})
}

// Attach implements [gcgate.Attacher]. From now on g counts the calls.
func (s *Signal) Attach(g *gcgate.Gate) { s.gate.Store(g) }

func (s *Signal) log() *slog.Logger { return s.gate.Load().Logger() }

// String implements [gcgate.Signal].
func (s *Signal) String() string { return "gRPC health (Watch)" }

// Watches returns how many Watch streams are open.
func (s *Signal) Watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches)
}

// Check implements [gcgate.Checker]. It waits until a client watches.
func (s *Signal) Check(ctx context.Context) error {
	s.callers.look(true, false)
	return s.wait(ctx, func(time.Time) error {
		if len(s.watches) == 0 {
			return s.nobody()
		}
		return nil
	})
}

// CanConfirm implements [gcgate.Confirmer]. It fails if no client watches.
func (s *Signal) CanConfirm(time.Duration) error {
	s.callers.warn(s.log())
	if s.Watches() == 0 {
		s.callers.look(true, false)
		return s.nobody()
	}
	return nil
}

func (s *Signal) nobody() error {
	return fmt.Errorf("grpcgate: no client watches grpc.health.v1.Health%s: %s", s.callers.names(), advice)
}

const advice = "give the clients the service configuration of contrib/grpc/grpcgate/client (round_robin and " +
	"healthCheckConfig), and in Go import google.golang.org/grpc/health; call Signal.Register in the server"

// WhyIgnored implements [gcgate.Explainer]. It names the clients without a Watch.
func (s *Signal) WhyIgnored() string {
	if s.callers.names() == "" {
		return ""
	}
	return fmt.Sprintf("clients call that do not watch health%s: %s", s.callers.names(), advice)
}

// Drain implements [gcgate.Signal]. It waits until NOT_SERVING was sent to each Watch.
func (s *Signal) Drain(ctx context.Context, _ time.Duration) error {
	s.flip(true)
	return s.wait(ctx, func(time.Time) error {
		behind := 0
		for w := range s.watches {
			if w.begun && w.heard != s.flips.Load() {
				behind++
			}
		}
		switch {
		case behind > 0:
			return fmt.Errorf("grpcgate: %d of %d Watch streams could not be sent NOT_SERVING yet: their clients "+
				"do not read", behind, len(s.watches))
		case len(s.watches) == 0:
			return s.nobody()
		}
		return nil
	})
}

// Ready implements [gcgate.Signal]. It waits until the clients use this process again.
func (s *Signal) Ready(ctx context.Context) error {
	s.flip(false)
	err := s.wait(ctx, func(now time.Time) error {
		absent := 0
		for w := range s.watches {
			if w.out && !w.isBack(now, s) {
				absent++
			}
		}
		if absent > 0 {
			return fmt.Errorf("grpcgate: %d of %d clients: %w", absent, len(s.watches), gcgate.ErrNotBack)
		}
		for w := range s.watches {
			w.serveFrom(now)
		}
		return nil
	})
	if err == nil {
		s.callers.look(false, false)
		s.callers.warn(s.log())
	}
	return err
}

func (s *Signal) away() bool { return isAway(s.flips.Load()) }

func isAway(flips uint64) bool { return flips%2 == 1 }

// flip sends watchers NOT_SERVING, or the service's own health.
func (s *Signal) flip(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away() == away {
		return
	}
	if away {
		s.callers.look(true, true)
	}
	s.flipped = time.Now()
	s.flips.Add(1)
	for w := range s.watches {
		if away {
			w.leave(s.flipped)
		}
		w.poke()
	}
}

// wait calls check with mu held, until it returns nil or ctx ends.
func (s *Signal) wait(ctx context.Context, check func(now time.Time) error) error {
	tick := time.NewTicker(waitTick)
	defer tick.Stop()
	for {
		s.mu.Lock()
		err := check(time.Now())
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		if err == nil {
			return nil
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, ctx.Err())
		}
	}
}

// wake has waits check again. mu is held.
func (s *Signal) wake() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Options configure a [Signal]. The zero value works.
type Options struct {
	// Health is the service's own health. The signal replaces SERVING in a Watch during a
	// collection. Default: nil, a health.Server that returns SERVING for the name "", the whole
	// server.
	Health grpc_health_v1.HealthServer

	// MaxWatches bounds the Watch streams. One more gets UNIMPLEMENTED. Default: 0, which is
	// 65,536. Limit: 2^31-1.
	MaxWatches int

	// ReturnTimeout is how long [Signal.Ready] waits for the next call of a client whose calls were
	// frequent. Calls of a slower client may fail with UNAVAILABLE, because the next replica drains
	// before it has heard of the return. Default: 0, which is 250 ms. Limit: 15 s.
	ReturnTimeout time.Duration
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
	o.MaxWatches = cmp.Or(o.MaxWatches, defaultMaxWatches)
	if o.MaxWatches < 0 || o.MaxWatches > 1<<31-1 {
		return o, evenkeel.NewOptionError("grpcgate.Options", "MaxWatches",
			"%d is out of range: use 1 to 2147483647, or 0 for %d", o.MaxWatches, defaultMaxWatches)
	}
	o.ReturnTimeout = cmp.Or(o.ReturnTimeout, defaultReturnTimeout)
	if o.ReturnTimeout < 0 || o.ReturnTimeout > mostReturnTimeout {
		return o, evenkeel.NewOptionError("grpcgate.Options", "ReturnTimeout",
			"%v is out of range: use up to %v, or 0 for %v", o.ReturnTimeout, mostReturnTimeout,
			defaultReturnTimeout)
	}
	return o, nil
}
