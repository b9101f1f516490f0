package grpcrecorder_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"evenkeel.dev/contrib/grpc/grpcrecorder"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/recorder"
)

func TestMain(m *testing.M) { leaks.Main(m) }

const planted = 300 * time.Millisecond

// sleeper is a service whose calls sleep.
type sleeper struct {
	testpb.UnimplementedTestServiceServer
}

func (sleeper) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	time.Sleep(planted)
	return &testpb.Empty{}, nil
}

func (sleeper) FullDuplexCall(testpb.TestService_FullDuplexCallServer) error { return nil }

func (sleeper) HalfDuplexCall(testpb.TestService_HalfDuplexCallServer) error { return nil }

func start(t *testing.T) *recorder.Recorder {
	t.Helper()
	rec, err := recorder.Start(t.Context(), recorder.Options{
		Slow: planted / 3, Every: time.Second, CPU: 1, InProcess: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rec.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return rec
}

// TestCalls: a slow call is explained, by its method, and a stream is watched where it is told to.
func TestCalls(t *testing.T) {
	rec := start(t)
	explained := make(chan recorder.Explained, 100)
	rec.Subscribe(func(e recorder.Explained) { explained <- e })
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(grpcrecorder.UnaryInterceptor(rec)),
		grpc.ChainStreamInterceptor(
			grpcrecorder.StreamInterceptor(rec,
				func(method string) bool { return strings.HasSuffix(method, "/HalfDuplexCall") })))
	testpb.RegisterTestServiceServer(server, sleeper{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l) // until it is stopped
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	client := testpb.NewTestServiceClient(conn)

	// An analysis takes a small part of a processor, and the machine may be busy.
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	for _, open := range []func() (grpc.ClientStream, error){
		func() (grpc.ClientStream, error) { return client.FullDuplexCall(ctx) },
		func() (grpc.ClientStream, error) { return client.HalfDuplexCall(ctx) },
	} {
		s, err := open()
		if err != nil {
			t.Fatal(err)
		}
		_ = s.RecvMsg(&testpb.StreamingOutputCallResponse{}) // its end
	}
	calls := uint64(0)
	var e recorder.Explained
	for {
		if _, err := client.EmptyCall(metadata.AppendToOutgoingContext(ctx, "x-request-id", "a"),
			&testpb.Empty{}); err != nil {
			t.Fatalf("%v: %+v, the last that was explained: %+v", err, rec.Stats(), e)
		}
		calls++
		select {
		case e = <-explained:
			if e.Cause != reqtrace.CauseSleep || e.Lost < planted/2 {
				continue // the machine stood still while it slept, or before
			}
			if e.Class != "/grpc.testing.TestService/EmptyCall" || e.RequestID != "a" {
				t.Errorf("%+v", e)
			}
			for rec.Stats().Requests < calls+1 && ctx.Err() == nil {
				time.Sleep(time.Millisecond) // a call is counted after its answer
			}
			if n := rec.Stats().Requests; n != calls+1 {
				t.Errorf("%d requests; want %d calls and one stream", n, calls)
			}
			return
		case <-time.After(time.Second):
		}
	}
}

// TestPanic: a handler's panic is counted, and goes on.
func TestPanic(t *testing.T) {
	rec := start(t)
	defer func() {
		if v := recover(); v != "a defect" {
			t.Errorf("it panics with %v", v)
		}
		if n := rec.Stats().Requests; n != 1 {
			t.Errorf("%d requests", n)
		}
	}()
	_, err := grpcrecorder.UnaryInterceptor(rec)(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/a/B"},
		func(context.Context, any) (any, error) { panic("a defect") })
	t.Errorf("it returns %v", err)
}

// TestNoStreams: without watched no stream is watched, and each is handled.
func TestNoStreams(t *testing.T) {
	rec := start(t)
	handled := false
	err := grpcrecorder.StreamInterceptor(rec, nil)(nil, nil, &grpc.StreamServerInfo{FullMethod: "/a/B"},
		func(any, grpc.ServerStream) error {
			handled = true
			return context.Canceled
		})
	if n := rec.Stats().Requests; err != context.Canceled || !handled || n != 0 {
		t.Errorf("error %v, handled %t, %d requests", err, handled, n)
	}
}
