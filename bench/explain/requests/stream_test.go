package requests

import (
	"bytes"
	"context"
	"runtime"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/region"
)

// slowHealth answers when the test tells it to.
type slowHealth struct {
	healthpb.UnimplementedHealthServer
	called, answer chan bool
}

func (h *slowHealth) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	h.called <- true
	<-h.answer
	return &healthpb.HealthCheckResponse{}, nil
}

// TestFreeStream tests a call that waits for a free stream, because the server allows one per
// connection.
func TestFreeStream(t *testing.T) {
	h := &slowHealth{called: make(chan bool, 2), answer: make(chan bool)}
	s := grpc.NewServer(grpc.MaxConcurrentStreams(1))
	healthpb.RegisterHealthServer(s, h)
	l := listen(t)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	failed := make(chan error, 2)
	call := func() {
		_, err := healthpb.NewHealthClient(conn).Check(context.Background(), &healthpb.HealthCheckRequest{})
		failed <- err
	}
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	go call()
	<-h.called
	go func() {
		r := region.Start(context.Background(), "")
		call()
		r.End()
	}()
	const waits = "[select]:\ngoogle.golang.org/grpc/internal/transport.(*http2Client).NewStream("
	for stacks := make([]byte, 1<<20); !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), waits); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(hold) // so that most of the call is that wait
	close(h.answer)
	for range 2 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	trace.Stop()
	for r, err := range reqtrace.Read(t.Context(), &buf, reqtrace.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		b := r.Sites[0]
		if b.Cause != reqtrace.CauseChannel || b.Op != "gRPC stream" || b.Time < hold || b.Holder != "" {
			t.Errorf("%+v", r.Sites)
		}
	}
}
