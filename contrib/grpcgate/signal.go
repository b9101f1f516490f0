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
	"google.golang.org/grpc/health/grpc_health_v1"

	"evenkeel.dev/gcgate"
)

var (
	_ gcgate.Signal    = (*Signal)(nil)
	_ gcgate.Attacher  = (*Signal)(nil)
	_ gcgate.Checker   = (*Signal)(nil)
	_ gcgate.Confirmer = (*Signal)(nil)
	_ gcgate.Explainer = (*Signal)(nil)
)

// Times of the way back.
const (
	// idleSettle is when a client that is idle has this process back, after SERVING was sent to it:
	// some round trips within a data centre.
	idleSettle = 20 * time.Millisecond

	// waitTick is how often a wait looks at calls and clocks.
	waitTick = 2 * time.Millisecond
)

// A Signal is a [gcgate.Signal] to gRPC clients by the Watch streams of grpc.health.v1, and the
// interceptors that count their calls. Make it with [New], and use it with one gate and one server.
// Its methods may be called from any goroutine.
//
// Drain returns when each Watch was sent NOT_SERVING. Ready returns when each was sent SERVING
// and a call has come on its connection since; a connection on which calls were rare before the
// drain is waited for 20 ms, and any for [Options].ReturnTimeout.
//
// To count calls for a gate whose signals are others (HAProxy's runtime API, say), call
// [Signal.Attach] with it in the place of naming this signal among its options.
type Signal struct {
	options Options // with defaults
	gate    atomic.Pointer[gcgate.Gate]
	callers callers

	// flips counts how often this process went away and came back: it is away where this is odd.
	// Written with mu held.
	flips atomic.Uint64

	mu      sync.Mutex // may be taken with a watch's mu held, never the other way round
	watches map[*watch]struct{}
	flipped time.Time     // when flips last changed
	changed chan struct{} // closed when a watch was sent something or is gone; nil when nobody waits
}

// New returns a Signal, or an [*evenkeel.OptionError]. It starts nothing.
func New(o Options) (*Signal, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Signal{options: o, watches: make(map[*watch]struct{})}, nil
}

// Register registers the health service. Call it before the server serves;
// [grpc.Server.RegisterService] ends the process where another health service is registered
// already: give that as [Options].Health.
func (s *Signal) Register(r grpc.ServiceRegistrar) {
	grpc_health_v1.RegisterHealthServer(r, &service{signal: s})
}

// Attach implements [gcgate.Attacher]: calls are counted by g from now on.
func (s *Signal) Attach(g *gcgate.Gate) { s.gate.Store(g) }

// log returns the logger. Before a gate starts that is slog.Default().
func (s *Signal) log() *slog.Logger {
	if g := s.gate.Load(); g != nil && s.options.Logger == nil {
		return g.Logger()
	}
	return cmp.Or(s.options.Logger, slog.Default())
}

// String implements [gcgate.Signal].
func (s *Signal) String() string { return "gRPC health (Watch)" }

// Watches returns how many Watch streams are open.
func (s *Signal) Watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches)
}

// Check implements [gcgate.Checker]: it waits until a client watches.
func (s *Signal) Check(ctx context.Context) error {
	s.callers.look(true, false)
	return s.wait(ctx, func(time.Time) error {
		if len(s.watches) == 0 {
			return s.nobody()
		}
		return nil
	})
}

// CanConfirm implements [gcgate.Confirmer]: the signal is silent where no client watches.
func (s *Signal) CanConfirm(time.Duration) error {
	s.callers.warn(s.log())
	if s.Watches() == 0 {
		s.callers.look(true, false) // who calls, so that the log can name them at the next collection
		return s.nobody()
	}
	return nil
}

// nobody is the error of a signal that nobody watches.
func (s *Signal) nobody() error {
	return fmt.Errorf("grpcgate: no client watches grpc.health.v1.Health%s: %s", s.callers.names(), advice)
}

const advice = "give the clients the service configuration of contrib/grpcgate/client (round_robin and " +
	"healthCheckConfig), and in Go import google.golang.org/grpc/health; call Signal.Register in the server"

// WhyIgnored implements [gcgate.Explainer]: who calls without a Watch while this process is away,
// and what to do; "" where nobody does.
func (s *Signal) WhyIgnored() string {
	if s.callers.names() == "" {
		return ""
	}
	return fmt.Sprintf("clients call that do not watch health%s: %s", s.callers.names(), advice)
}

// Drain implements [gcgate.Signal]: it has each Watch sent NOT_SERVING, and waits until that was
// done. A client that opens a Watch meanwhile is sent the same.
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

// Ready implements [gcgate.Signal]: it has each Watch sent SERVING, if the service itself says so,
// and waits until their clients have this process back.
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

// away reports whether watchers are told to stay away.
func (s *Signal) away() bool { return isAway(s.flips.Load()) }

func isAway(flips uint64) bool { return flips%2 == 1 }

// flip changes what watchers are told.
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

// wait returns nil when check does, or at ctx's end its last error and ctx's. It calls check with
// mu held.
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

// wake lets a wait look again. mu is held.
func (s *Signal) wake() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}
