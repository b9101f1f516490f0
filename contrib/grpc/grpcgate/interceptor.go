package grpcgate

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"evenkeel.dev/gcgate"
)

// ServerOptions returns both interceptors for grpc.NewServer. Pass them first.
func (s *Signal) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
	}
}

// unary counts calls. Under [gcgate.PolicyShed] it refuses them during a collection.
func (s *Signal) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo,
	handler grpc.UnaryHandler,
) (any, error) {
	g := s.gate.Load()
	if g == nil || isHealth(info.FullMethod) {
		return handler(ctx, req)
	}
	s.callers.called(ctx)
	if g.Refusing() {
		g.CountRefused()
		return nil, status.Error(codes.Unavailable,
			fmt.Sprintf("collecting garbage: try another replica, or again in %v", g.Remaining()))
	}
	t := g.Enter()
	defer t.Exit()
	return handler(ctx, req)
}

// stream counts the messages of the methods of [Options].Messages.
func (s *Signal) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	handler grpc.StreamHandler,
) error {
	g := s.gate.Load()
	if g == nil || isHealth(info.FullMethod) {
		return handler(srv, stream)
	}
	s.callers.called(stream.Context())
	if s.options.Messages == nil || !s.options.Messages(info.FullMethod) {
		return handler(srv, stream)
	}
	c := &countedStream{ServerStream: stream, gate: g}
	defer c.end()
	return handler(srv, c)
}

func isHealth(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }

// countedStream counts messages. One goroutine may receive while another sends.
type countedStream struct {
	grpc.ServerStream
	gate *gcgate.Gate

	mu     sync.Mutex
	ticket gcgate.Ticket // of the current message, or zero; guarded by mu
	over   bool          // guarded by mu
}

func (c *countedStream) count(another bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ticket.Exit()
	c.ticket = gcgate.Ticket{}
	if another && !c.over {
		c.ticket = c.gate.EnterKept()
	}
}

// end ends the last message. A goroutine of the handler may receive one later, which does not
// count.
func (c *countedStream) end() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.count(false)
}

func (c *countedStream) RecvMsg(m any) error {
	c.count(false)
	err := c.ServerStream.RecvMsg(m)
	if err == nil {
		c.count(true)
	}
	return err
}

func (c *countedStream) SendMsg(m any) error {
	defer c.count(false)
	return c.ServerStream.SendMsg(m)
}
