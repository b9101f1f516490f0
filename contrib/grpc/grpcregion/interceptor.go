// Package grpcregion marks gRPC calls in execution traces, as package evenkeel.dev/reqtrace/region marks
// those of HTTP. evenkeel explain of several services then joins a call with what the server did for it.
//
//	server := grpc.NewServer(grpc.ChainUnaryInterceptor(grpcregion.UnaryServer))
//	conn, err := grpc.NewClient(target, grpc.WithChainUnaryInterceptor(grpcregion.UnaryClient))
//
// The id is the caller's span in the metadata traceparent, b3 or x-b3-spanid. Put UnaryClient after an
// interceptor that sets these. Without them, and only while a trace is taken, a call is sent with
// evenkeel-call. Streams are not marked, because most last long on purpose.
package grpcregion

import (
	"context"
	"runtime/trace"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"evenkeel.dev/reqtrace/region"
)

// UnaryServer is a [grpc.UnaryServerInterceptor] that marks calls as requests. Their id is the
// x-request-id of the metadata.
func UnaryServer(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if !trace.IsEnabled() {
		return handler(ctx, req)
	}
	get := func(name string) string { return first(metadata.ValueFromIncomingContext(ctx, name)) }
	defer region.Start(ctx, get("x-request-id")).End()
	region.MarkCaller(ctx, get)
	return handler(ctx, req)
}

// UnaryClient is a [grpc.UnaryClientInterceptor] that marks calls.
func UnaryClient(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	if !trace.IsEnabled() {
		return invoke(ctx, method, req, reply, conn, options...)
	}
	sent, _ := metadata.FromOutgoingContext(ctx)
	name, value := region.MarkCall(ctx, func(name string) string { return first(sent.Get(name)) })
	if name != "" {
		sent = metadata.Join(sent) // it may be nil
		sent.Set(name, value)
		ctx = metadata.NewOutgoingContext(ctx, sent)
	}
	return invoke(ctx, method, req, reply, conn, options...)
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
