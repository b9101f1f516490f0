package grpcgate

import (
	"context"
	"testing"
	"testing/synctest"

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
		s.stream(nil, &fakeStream{ctx: client(t, 1)}, &grpc.StreamServerInfo{FullMethod: "/a.B/Long"},
			func(any, grpc.ServerStream) error { inFlight(t, s, 0, 2); return nil })
		for _, method := range []string{"Check", "List", "Watch"} {
			unary("/grpc.health.v1.Health/"+method,
				func(context.Context, any) (any, error) { inFlight(t, s, 0, 2); return nil, nil })
			s.stream(nil, &fakeStream{ctx: client(t, 1)},
				&grpc.StreamServerInfo{FullMethod: "/grpc.health.v1.Health/" + method},
				func(any, grpc.ServerStream) error { inFlight(t, s, 0, 2); return nil })
		}
	})
}

type fakeStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (f *fakeStream) Context() context.Context { return f.ctx }

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
