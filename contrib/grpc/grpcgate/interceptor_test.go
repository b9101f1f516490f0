package grpcgate

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
)

func inFlight(t *testing.T, s *Signal, want int, entered uint32) {
	t.Helper()
	if n, e := s.gate.Load().Requests(); n != want || e != entered {
		t.Errorf("%d requests are in flight and %d have entered, want %d and %d", n, e, want, entered)
	}
}

func TestCallsAreCountedAndHealthIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignal(t, Options{})
		unary := func(method string, handler grpc.UnaryHandler) {
			s.unary(client(t, 1), nil, &grpc.UnaryServerInfo{FullMethod: method}, handler)
		}
		unary("/a.B/C", func(context.Context, any) (any, error) { inFlight(t, s, 1, 1); return nil, nil })
		inFlight(t, s, 0, 1)
		func() {
			defer func() { recover() }()
			unary("/a.B/C", func(context.Context, any) (any, error) { panic("the handler") })
		}()
		inFlight(t, s, 0, 2)
		for _, method := range []string{"Check", "List", "Watch"} {
			unary("/grpc.health.v1.Health/"+method,
				func(context.Context, any) (any, error) { inFlight(t, s, 0, 2); return nil, nil })
			s.stream(nil, &fakeStream{ctx: client(t, 1)},
				&grpc.StreamServerInfo{FullMethod: "/grpc.health.v1.Health/" + method},
				func(any, grpc.ServerStream) error { inFlight(t, s, 0, 2); return nil })
		}
	})
}

// fakeStream's client sends some messages.
type fakeStream struct {
	grpc.ServerStream
	ctx  context.Context
	left int
}

func (f *fakeStream) Context() context.Context { return f.ctx }
func (f *fakeStream) SendMsg(any) error        { return nil }

func (f *fakeStream) RecvMsg(any) error {
	if f.left == 0 {
		return io.EOF
	}
	f.left--
	return nil
}

func TestMessagesCountOnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignal(t, Options{Messages: func(method string) bool { return method == "/a.B/Short" }})
		stream := func(method string, handler grpc.StreamHandler) {
			s.stream(nil, &fakeStream{ctx: client(t, 1), left: 3},
				&grpc.StreamServerInfo{FullMethod: method}, handler)
		}
		stream("/a.B/Long", func(_ any, ss grpc.ServerStream) error {
			ss.RecvMsg(nil)
			inFlight(t, s, 0, 0)
			return nil
		})
		stream("/a.B/Short", func(_ any, ss grpc.ServerStream) error {
			inFlight(t, s, 0, 0)
			ss.RecvMsg(nil)
			inFlight(t, s, 1, 1)
			ss.SendMsg(nil)
			inFlight(t, s, 0, 1)
			ss.SendMsg(nil)
			inFlight(t, s, 0, 1)
			ss.RecvMsg(nil)
			inFlight(t, s, 1, 2)
			ss.RecvMsg(nil)
			inFlight(t, s, 1, 3)
			if err := ss.RecvMsg(nil); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			inFlight(t, s, 0, 3)
			return nil
		})
		stream("/a.B/Short", func(_ any, ss grpc.ServerStream) error {
			ss.RecvMsg(nil)
			return nil
		})
		inFlight(t, s, 0, 4)
	})
}

// chattyStream's client sends a message each millisecond.
type chattyStream struct{ fakeStream }

func (f *chattyStream) RecvMsg(any) error {
	select {
	case <-time.After(time.Millisecond):
		return nil
	case <-f.ctx.Done():
		return io.EOF
	}
}

// TestMessagesAreNoIgnoredDrain tests that messages of an open stream, which cannot move, do not
// count as ignoring a drain.
func TestMessagesAreNoIgnoredDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{Messages: func(string) bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		heap := gcgatetest.NewHeap()
		heap.Rate = 20 << 20 // 3.75 s from trigger to hard limit
		g, err := gcgate.Start(t.Context(), gcgate.Options{
			Collector: heap, Policy: gcgate.PolicyDrain, Signals: []gcgate.Signal{s}, DisableTurns: true, Logger: quiet,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(client(t, 1))
		watchBy(t, s, ctx, "")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.stream(nil, &chattyStream{fakeStream{ctx: ctx}},
				&grpc.StreamServerInfo{FullMethod: "/a.B/Chat"},
				func(_ any, ss grpc.ServerStream) error {
					for ss.RecvMsg(nil) == nil {
						time.Sleep(100 * time.Microsecond)
						ss.SendMsg(nil)
					}
					return nil
				})
		}()
		time.Sleep(time.Minute)
		stats := g.Stats()
		d := stats.Phases[gcgate.StateDraining]
		if stats.IgnoredDrains > 0 || d.Count < 5 || d.Max > 105*time.Millisecond {
			t.Errorf("%d drains were ignored; drained %+v", stats.IgnoredDrains, d)
		}
		if err := g.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		cancel()
		<-ended
		time.Sleep(time.Second) // a collection may be running
	})
}

// TestReaderThatOutlivesItsHandler tests that a message after the handler's return does not count.
func TestReaderThatOutlivesItsHandler(t *testing.T) {
	s := newSignal(t, Options{Messages: func(string) bool { return true }})
	stream := &lateStream{fakeStream: fakeStream{ctx: client(t, 1)}, more: make(chan struct{})}
	received := make(chan struct{})
	err := s.stream(nil, stream, &grpc.StreamServerInfo{FullMethod: "/a.B/C"},
		func(_ any, st grpc.ServerStream) error {
			go func() {
				defer close(received)
				_ = st.RecvMsg(nil)
			}()
			return nil
		})
	close(stream.more)
	<-received
	if err != nil {
		t.Error(err)
	}
	inFlight(t, s, 0, 0)
}

type lateStream struct {
	fakeStream
	more chan struct{}
}

func (l *lateStream) RecvMsg(any) error {
	<-l.more
	return nil
}

func TestRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		var refusal error
		ran := false
		look := func(e gcgate.Event) {
			if e.State != gcgate.StateCollecting {
				return
			}
			_, refusal = s.unary(client(t, 1), nil, &grpc.UnaryServerInfo{FullMethod: "/a.B/C"},
				func(context.Context, any) (any, error) { return nil, nil })
			s.stream(nil, &fakeStream{ctx: client(t, 1)}, &grpc.StreamServerInfo{FullMethod: "/a.B/Long"},
				func(any, grpc.ServerStream) error { ran = true; return nil })
		}
		heap := gcgatetest.NewHeap()
		heap.Rate = 0
		g, err := gcgate.Start(t.Context(), gcgate.Options{
			Collector: heap, Policy: gcgate.PolicyShed, Turns: gcgate.FileTurns{Path: t.TempDir() + "/turn"},
			Period: -1, OnEvent: look, Logger: quiet,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Attach(g)
		if err := g.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if status.Code(refusal) != codes.Unavailable || g.Stats().Refused != 1 {
			t.Errorf("a call got %v, and %d were refused; want UNAVAILABLE and one", refusal, g.Stats().Refused)
		}
		if !ran {
			t.Error("a stream was refused")
		}
		if err := g.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestWithoutAGate(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	call(t, s, client(t, 1))
}

func TestCallsAllocateNothing(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := client(t, 1)
	s.callers.connect(ctx)
	if n := testing.AllocsPerRun(1000, func() { s.callers.called(ctx) }); n > 0 {
		t.Errorf("%v allocations a call", n)
	}
}
