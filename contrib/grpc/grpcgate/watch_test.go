package grpcgate

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"evenkeel.dev"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
)

const (
	unknown    = grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN
	serving    = grpc_health_v1.HealthCheckResponse_SERVING
	notServing = grpc_health_v1.HealthCheckResponse_NOT_SERVING
)

var quiet = slog.New(slog.DiscardHandler)

// fakeWatch is a client's Watch stream without a network.
type fakeWatch struct {
	grpc.ServerStream
	ctx   context.Context
	end   context.CancelFunc
	got   chan grpc_health_v1.HealthCheckResponse_ServingStatus
	stuck chan struct{} // nothing is sent before it is closed
	ended chan error
}

func (f *fakeWatch) Context() context.Context { return f.ctx }

func (f *fakeWatch) Send(r *grpc_health_v1.HealthCheckResponse) error {
	if f.stuck != nil {
		select {
		case <-f.stuck:
		case <-f.ctx.Done():
		}
	}
	if err := f.ctx.Err(); err != nil {
		return err
	}
	select {
	case f.got <- r.GetStatus():
		return nil
	default:
		return errors.New("a test that does not read")
	}
}

func client(t *testing.T, port int) context.Context {
	return peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, byte(port)), Port: port}})
}

func watchBy(t *testing.T, s *Signal, ctx context.Context, name string) *fakeWatch {
	ctx, cancel := context.WithCancel(ctx)
	f := &fakeWatch{
		ctx: ctx, end: cancel, got: make(chan grpc_health_v1.HealthCheckResponse_ServingStatus, 64),
		ended: make(chan error, 1),
	}
	go func() {
		f.ended <- (&service{signal: s}).Watch(&grpc_health_v1.HealthCheckRequest{Service: name}, f)
		close(f.ended)
	}()
	t.Cleanup(func() { cancel(); <-f.ended })
	synctest.Wait()
	return f
}

// wants fails the test unless these were sent after the last wants.
func (f *fakeWatch) wants(t *testing.T, want ...grpc_health_v1.HealthCheckResponse_ServingStatus) {
	t.Helper()
	synctest.Wait()
	for i, w := range want {
		select {
		case got := <-f.got:
			if got != w {
				t.Errorf("message %d is %v, want %v", i, got, w)
			}
		default:
			t.Errorf("message %d is missing, want %v", i, w)
		}
	}
	select {
	case got := <-f.got:
		t.Errorf("the client was sent %v, and nothing was to be", got)
	default:
	}
}

// newSignal returns one whose gate does not collect.
func newSignal(t *testing.T, o Options) *Signal {
	t.Helper()
	return newSignalLogging(t, o, quiet)
}

func newSignalLogging(t *testing.T, o Options, log *slog.Logger) *Signal {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	heap := gcgatetest.NewHeap()
	heap.Rate = 0
	g, err := gcgate.Start(t.Context(),
		gcgate.Options{Collector: heap, Policy: gcgate.PolicyThrough, Period: -1, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Stop(context.Background()) })
	s.Attach(g)
	return s
}

func call(t *testing.T, s *Signal, ctx context.Context) {
	t.Helper()
	_, err := s.unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/a.B/C"},
		func(context.Context, any) (any, error) { return nil, nil })
	if err != nil {
		t.Error(err)
	}
}

// took returns how long f took in the bubble.
func took(t *testing.T, f func(context.Context) error) time.Duration {
	t.Helper()
	begin := time.Now()
	if err := f(t.Context()); err != nil {
		t.Error(err)
	}
	return time.Since(begin)
}

func drain(s *Signal) func(context.Context) error {
	return func(ctx context.Context) error { return s.Drain(ctx, time.Second) }
}

func TestDrainWaitsUntilEachWatchWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignal(t, Options{})
		a, b := watchBy(t, s, client(t, 1), ""), watchBy(t, s, client(t, 2), "")
		a.wants(t, serving)
		b.wants(t, serving)
		b.stuck = make(chan struct{})
		drained := make(chan error, 1)
		go func() { drained <- s.Drain(t.Context(), time.Second) }()
		time.Sleep(time.Minute)
		a.wants(t, notServing)
		select {
		case err := <-drained:
			t.Fatalf("Drain returned %v before the second client was sent anything", err)
		default:
		}
		close(b.stuck)
		if err := <-drained; err != nil {
			t.Error(err)
		}
		b.wants(t, notServing)
		c := watchBy(t, s, client(t, 3), "")
		c.wants(t, notServing)
		if d := took(t, drain(s)); d != 0 { // a repeated drain
			t.Errorf("a second Drain took %v", d)
		}
		took(t, s.Ready)
		for _, f := range []*fakeWatch{a, b, c} {
			f.wants(t, serving)
		}
	})
}

func TestDrainNamesNoClientThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignal(t, Options{})
		watchBy(t, s, client(t, 1), "")
		b := watchBy(t, s, client(t, 2), "")
		b.stuck = make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Drain(ctx, time.Second); !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), "1 of 2") {
			t.Errorf("Drain returned %v", err)
		}
		b.end()
		if d := took(t, drain(s)); d > waitTick {
			t.Errorf("Drain waited for %v for a client that is gone", d)
		}
		if n := s.Watches(); n != 1 {
			t.Errorf("%d watches, want 1", n)
		}
	})
}

// TestReadyWaitsForACallWhereCallsAreFrequent tests that a busy client's next call is the proof,
// and that an idle client soon counts as back.
func TestReadyWaitsForACallWhereCallsAreFrequent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignal(t, Options{})
		busy, idle := client(t, 1), client(t, 2)
		watchBy(t, s, busy, "")
		watchBy(t, s, idle, "")
		round := func() time.Duration {
			for range 100 {
				time.Sleep(10 * time.Millisecond)
				call(t, s, busy)
			}
			took(t, drain(s))
			return took(t, s.Ready)
		}
		if d := round(); d < defaultReturnTimeout || d > defaultReturnTimeout+waitTick {
			t.Errorf("Ready took %v although the busy client did not come back, want the bound of %v", d,
				defaultReturnTimeout)
		}
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					call(t, s, busy)
				}
			}
		}()
		if d := round(); d < idleSettle || d > idleSettle+2*waitTick {
			t.Errorf("Ready took %v with a client that calls and one that is idle, want %v", d, idleSettle)
		}
		close(stop)
	})
}

// TestAShortTimeWithoutACallSaysNothing tests that a client that has not called between two close
// collections still counts as busy.
func TestAShortTimeWithoutACallSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignal(t, Options{})
		busy := client(t, 1)
		watchBy(t, s, busy, "")
		for range 100 {
			time.Sleep(10 * time.Millisecond)
			call(t, s, busy)
		}
		const after = 100 * time.Millisecond // the client's next call
		for range 2 {
			took(t, drain(s))
			time.AfterFunc(after, func() { call(t, s, busy) })
			if d := took(t, s.Ready); d < after || d > after+waitTick {
				t.Errorf("Ready took %v, want %v, when the client calls", d, after)
			}
		}
	})
}

// TestIdleClientsHoldUpNoCollection tests that collections may be close if no client calls.
func TestIdleClientsHoldUpNoCollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		heap := gcgatetest.NewHeap()
		heap.Rate = 0
		g, err := gcgate.Start(t.Context(), gcgate.Options{
			Signals: []gcgate.Signal{s}, Turns: gcgate.FileTurns{Path: t.TempDir() + "/turn"}, Collector: heap,
			Policy: gcgate.PolicyDrain, Period: -1, Logger: quiet,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Stop(context.Background()) })
		for n := range 3 {
			watchBy(t, s, client(t, n+1), "")
		}
		const rounds = 10
		d := took(t, func(ctx context.Context) error {
			for range rounds {
				if err := g.Collect(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		if n := g.Stats().Phases[gcgate.StateAnnouncing].Count; n != rounds {
			t.Errorf("%d of %d collections were announced", n, rounds)
		}
		const pause = 50 * time.Millisecond // in which no request comes
		if most := rounds * (pause + heap.Mark + idleSettle + 20*time.Millisecond); d > most {
			t.Errorf("%d collections of %v took %v, want %v at most", rounds, heap.Mark, d, most)
		}
	})
}

func TestWhatTheServiceSaysOfItselfStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := health.NewServer()
		own.SetServingStatus("index", notServing)
		s := newSignal(t, Options{Health: own})
		all, index, other := watchBy(t, s, client(t, 1), ""), watchBy(t, s, client(t, 1), "index"),
			watchBy(t, s, client(t, 2), "other")
		all.wants(t, serving)
		index.wants(t, notServing)
		other.wants(t, unknown)
		took(t, drain(s))
		all.wants(t, notServing)
		index.wants(t)
		other.wants(t)
		own.SetServingStatus("index", serving)
		index.wants(t)
		own.SetServingStatus("", notServing)
		all.wants(t)
		took(t, s.Ready)
		index.wants(t, serving)
		all.wants(t)
		other.wants(t)
		if r, err := (&service{signal: s}).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil ||
			r.GetStatus() != notServing {
			t.Errorf("Check says %v, %v", r, err)
		}
		if r, err := (&service{signal: s}).List(t.Context(), &grpc_health_v1.HealthListRequest{}); err != nil ||
			len(r.GetStatuses()) != 2 {
			t.Errorf("List says %v, %v", r, err)
		}
	})
}

// TestCheckIsNoPlaceForADrain tests that no probe restarts a process that collects.
func TestCheckIsNoPlaceForADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignal(t, Options{})
		watchBy(t, s, client(t, 1), "")
		took(t, drain(s))
		if r, err := (&service{signal: s}).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil ||
			r.GetStatus() != serving {
			t.Errorf("Check says %v, %v while the process is away", r, err)
		}
	})
}

func TestClientsThatDoNotWatchAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newSignalLogging(t, Options{}, slog.New(slog.NewTextHandler(&log, nil)))
		if err := s.CanConfirm(time.Second); err == nil || !strings.Contains(err.Error(), "no client watches") {
			t.Errorf("CanConfirm returned %v although nobody watches", err)
		}
		call(t, s, client(t, 7))
		if err := s.CanConfirm(time.Second); err == nil || !strings.Contains(err.Error(), "(10.0.0.7)") {
			t.Errorf("CanConfirm returned %v, which does not name the caller", err)
		}
		if n := strings.Count(log.String(), "10.0.0.7"); n != 1 {
			t.Errorf("the log names the client %d times:\n%s", n, &log)
		}

		watching := client(t, 1)
		watchBy(t, s, watching, "")
		if err := s.CanConfirm(time.Second); err != nil {
			t.Error(err)
		}
		for range 2 {
			took(t, drain(s))
			if why := s.WhyIgnored(); why != "" {
				t.Errorf("nobody calls, and it says %q", why)
			}
			call(t, s, watching)
			call(t, s, client(t, 8))
			if why := s.WhyIgnored(); !strings.Contains(why, "(10.0.0.8)") ||
				!strings.Contains(why, "healthCheckConfig") {
				t.Errorf("of a client that does not watch it says %q", why)
			}
			took(t, s.Ready)
		}
		if text := log.String(); strings.Count(text, "10.0.0.8") != 1 || strings.Contains(text, "10.0.0.1") {
			t.Errorf("the log does not name the client that does not watch once, or another:\n%s", text)
		}
	})
}

func TestTooManyWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignal(t, Options{MaxWatches: 1})
		watchBy(t, s, client(t, 1), "")
		second := watchBy(t, s, client(t, 2), "")
		if err := <-second.ended; status.Code(err) != codes.Unimplemented {
			t.Errorf("the second Watch ended with %v, want UNIMPLEMENTED, which lets the client go on without", err)
		}
	})
}

func TestCheckWaitsForAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignal(t, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Check(ctx); !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), "no client watches") {
			t.Errorf("Check returned %v", err)
		}
		checked := make(chan error, 1)
		go func() { checked <- s.Check(t.Context()) }()
		time.Sleep(time.Minute)
		watchBy(t, s, client(t, 1), "")
		if err := <-checked; err != nil {
			t.Error(err)
		}
	})
}

func TestOptionsThatCannotWork(t *testing.T) {
	for option, o := range map[string]Options{
		"MaxWatches":    {MaxWatches: -1},
		"ReturnTimeout": {ReturnTimeout: time.Minute},
	} {
		_, err := New(o)
		var refused *evenkeel.OptionError
		if !errors.As(err, &refused) || refused.Option != option {
			t.Errorf("got %v, want an OptionError of %s", err, option)
		}
	}
}
