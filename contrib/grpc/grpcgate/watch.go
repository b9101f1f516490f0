package grpcgate

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// service is grpc.health.v1.
type service struct {
	grpc_health_v1.UnimplementedHealthServer
	signal *Signal
}

func (s *service) Check(
	ctx context.Context, r *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	return s.signal.options.Health.Check(ctx, r)
}

func (s *service) List(
	ctx context.Context, r *grpc_health_v1.HealthListRequest,
) (*grpc_health_v1.HealthListResponse, error) {
	return s.signal.options.Health.List(ctx, r)
}

func (s *service) Watch(r *grpc_health_v1.HealthCheckRequest,
	stream grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse],
) error {
	w := s.signal.open(stream)
	if w == nil {
		return status.Error(codes.Unimplemented, "too many Watch streams: see Options.MaxWatches of grpcgate")
	}
	defer w.end()
	return s.signal.options.Health.Watch(r, w)
}

// watch is one Watch stream. The service's own health sends on it, and so does follow.
type watch struct {
	grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]
	signal *Signal
	conn   *conn
	flip   chan struct{} // full: the signal has flipped
	over   chan struct{}

	mu    sync.Mutex
	own   grpc_health_v1.HealthCheckResponse_ServingStatus // the service's health, or none; guarded by mu
	sent  grpc_health_v1.HealthCheckResponse_ServingStatus // or none; guarded by mu
	ended bool                                             // guarded by mu

	// Guarded by signal.mu.
	begun  bool      // own was sent
	heard  uint64    // the flips that the client knows of
	out    bool      // the client does not use this process
	told   time.Time // when SERVING was sent; zero: not yet
	at     uint64    // calls by then
	active bool      // calls were frequent before the drain
	since  time.Time // when the client came back
	base   uint64    // calls by then
}

// none is not yet a health.
const none grpc_health_v1.HealthCheckResponse_ServingStatus = -1

// open begins a Watch, or returns nil if there are too many.
func (s *Signal) open(stream grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) *watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.watches) >= s.options.MaxWatches {
		return nil
	}
	w := &watch{
		ServerStreamingServer: stream, signal: s, conn: s.callers.connect(stream.Context()),
		flip: make(chan struct{}, 1), over: make(chan struct{}), own: none, sent: none,
	}
	w.serveFrom(time.Now())
	s.watches[w] = struct{}{}
	go w.follow()
	return w
}

func (w *watch) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	close(w.over)
	w.forget()
	w.signal.callers.disconnect(w.conn)
}

// forget ends all waits for the client.
func (w *watch) forget() {
	s := w.signal
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watches, w)
	s.wake()
}

func (w *watch) poke() {
	select {
	case w.flip <- struct{}{}:
	default:
	}
}

func (w *watch) follow() {
	for {
		select {
		case <-w.over:
			return
		case <-w.flip:
		}
		w.mu.Lock()
		err := w.send()
		w.mu.Unlock()
		if err != nil {
			w.forget() // the stream is broken
			return
		}
	}
}

// Send implements [grpc.ServerStreamingServer] for the service's own health.
func (w *watch) Send(r *grpc_health_v1.HealthCheckResponse) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.own = r.GetStatus()
	return w.send()
}

// send sends the health if it has changed. mu is held.
func (w *watch) send() error {
	if w.ended || w.own == none {
		return nil
	}
	flips, says := w.signal.flips.Load(), w.own
	if isAway(flips) && says == grpc_health_v1.HealthCheckResponse_SERVING {
		says = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	if says != w.sent {
		if err := w.ServerStreamingServer.Send(&grpc_health_v1.HealthCheckResponse{Status: says}); err != nil {
			return err
		}
		w.sent = says
	}
	w.hear(flips)
	return nil
}

func (w *watch) hear(flips uint64) {
	s := w.signal
	s.mu.Lock()
	defer s.mu.Unlock()
	first := w.heard != flips
	w.begun, w.heard = true, flips
	switch {
	case isAway(flips):
		w.out, w.told = true, time.Time{}
	case w.out && first:
		w.told, w.at = time.Now(), w.conn.calls.Load()
	}
	s.wake()
}

// leave notes at a drain whether calls were frequent. signal.mu is held.
func (w *watch) leave(now time.Time) {
	calls, bound := w.conn.calls.Load()-w.base, w.signal.options.ReturnTimeout
	switch {
	case calls > 0:
		w.active = now.Sub(w.since)/time.Duration(calls) < bound
	case now.Sub(w.since) >= bound: // a shorter time says nothing
		w.active = false
	}
}

// isBack reports whether the client probably uses this process again. signal.mu is held.
func (w *watch) isBack(now time.Time, s *Signal) bool {
	told := !w.told.IsZero()
	switch {
	case told && w.conn.calls.Load() != w.at:
		return true
	case now.Sub(s.flipped) >= s.options.ReturnTimeout:
		w.active = false // it did not call
		return true
	}
	return told && !w.active && now.Sub(w.told) >= idleSettle
}

// serveFrom notes that the client uses this process. signal.mu is held.
func (w *watch) serveFrom(now time.Time) {
	w.out, w.since, w.base = false, now, w.conn.calls.Load()
}
