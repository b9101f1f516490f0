package grpcregion_test

import (
	"bytes"
	"context"
	"net"
	"runtime/trace"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"evenkeel.dev/reqtrace"
)

// relay passes a call on to next, or answers.
type relay struct {
	testpb.UnimplementedTestServiceServer

	next testpb.TestServiceClient
}

func (s *relay) EmptyCall(ctx context.Context, in *testpb.Empty) (*testpb.Empty, error) {
	if s.next != nil {
		return s.next.EmptyCall(ctx, in)
	}
	time.Sleep(time.Millisecond)
	return in, nil
}

// TestConnections: without interceptors, calls and their requests have their connections.
func TestConnections(t *testing.T) {
	serve := func(next testpb.TestServiceClient) (testpb.TestServiceClient, *grpc.Server) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer()
		testpb.RegisterTestServiceServer(server, &relay{next: next})
		go server.Serve(l) // until it is stopped
		t.Cleanup(server.Stop)
		conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return testpb.NewTestServiceClient(conn), server
	}
	callee, _ := serve(nil)
	caller, server := serve(callee)
	call := func() {
		if _, err := caller.EmptyCall(t.Context(), &testpb.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
	call() // connects
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		call()
	}
	server.GracefulStop() // the requests are over in the trace
	trace.Stop()
	callers, callees, calls := map[int64]bool{}, map[int64]bool{}, 0
	o := reqtrace.Options{Each: func(q reqtrace.Request) {
		callees[q.Conn] = true
		for _, c := range q.Calls {
			callers[c.Conn] = true
			calls++
			if c.ID != "" || c.Start < q.Start || c.End <= c.Start || c.End > q.End {
				t.Errorf("%+v in a request from %v to %v", c, q.Start, q.End)
			}
		}
	}}
	if _, err := reqtrace.Analyze(t.Context(), bytes.NewReader(b.Bytes()), o); err != nil {
		t.Fatal(err)
	}
	// A call does not show if the caller is later than the answer.
	t.Logf("%d of 50 calls", calls)
	if len(callers) != 1 || callers[0] || len(callees) != 2 || callees[0] || calls == 0 || calls > 50 {
		t.Errorf("%d calls by %v, requests by %v", calls, callers, callees)
	}
}
