package grpcregion_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"runtime/trace"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"evenkeel.dev/contrib/grpc/grpcregion"
	"evenkeel.dev/reqtrace"
)

// A server and a client whose calls evenkeel explain joins.
func Example() {
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(grpcregion.UnaryServer))
	defer server.Stop()
	conn, err := grpc.NewClient("dns:///prices:443", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(grpcregion.UnaryClient))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	fmt.Println(conn.Target())
	// Output:
	// dns:///prices:443
}

// service calls itself once.
type service struct {
	testpb.UnimplementedTestServiceServer

	client testpb.TestServiceClient
	sent   chan metadata.MD
}

func (s *service) EmptyCall(ctx context.Context, in *testpb.Empty) (*testpb.Empty, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	s.sent <- md
	if len(md.Get("last")) == 0 {
		return s.client.EmptyCall(metadata.AppendToOutgoingContext(ctx, "last", "1"), in)
	}
	return in, nil
}

// TestJoined: a call has the id of the request that it becomes, and nothing is sent without a trace.
func TestJoined(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{sent: make(chan metadata.MD, 2)}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(grpcregion.UnaryServer))
	testpb.RegisterTestServiceServer(server, s)
	go server.Serve(l) // until it is stopped
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(grpcregion.UnaryClient))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s.client = testpb.NewTestServiceClient(conn)

	const span = "00f067aa0ba902b7"
	call := func() (first, second metadata.MD) {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent",
			"00-4bf92f3577b34da6a3ce929d0e0e4736-"+span+"-01")
		if _, err := s.client.EmptyCall(ctx, &testpb.Empty{}); err != nil {
			t.Fatal(err)
		}
		return <-s.sent, <-s.sent
	}
	handle := func(context.Context, any) (any, error) { return nil, nil }
	if n := testing.AllocsPerRun(100, func() {
		_, _ = grpcregion.UnaryServer(t.Context(), nil, nil, handle)
	}); n != 0 {
		t.Errorf("without a trace: %v allocations", n)
	}
	if _, second := call(); len(second.Get("evenkeel-call")) > 0 {
		t.Errorf("without a trace: %v", second)
	}
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	first, second := call()
	server.GracefulStop() // the requests are over in the trace
	trace.Stop()
	if len(first.Get("evenkeel-call")) > 0 || len(second.Get("evenkeel-call")) != 1 {
		t.Fatalf("%v, %v", first, second)
	}
	id, found := second.Get("evenkeel-call")[0], 0
	o := reqtrace.Options{Each: func(q reqtrace.Request) {
		switch {
		case q.Caller == span && len(q.Calls) == 1 && q.Calls[0].ID == id:
			found |= 1
		case q.Caller == id:
			found |= 2
		}
	}}
	if _, err := reqtrace.Analyze(t.Context(), bytes.NewReader(b.Bytes()), o); err != nil {
		t.Fatal(err)
	}
	if found != 3 {
		t.Errorf("found %b of caller and callee", found)
	}
}
