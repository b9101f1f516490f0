package grpcgate

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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

// stream counts nothing, because a client cannot move a stream.
func (s *Signal) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	handler grpc.StreamHandler,
) error {
	if !isHealth(info.FullMethod) {
		s.callers.called(stream.Context())
	}
	return handler(srv, stream)
}

func isHealth(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }
