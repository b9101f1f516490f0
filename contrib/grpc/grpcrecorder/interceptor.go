// Package grpcrecorder has a recorder of evenkeel.dev/reqtrace/recorder watch the calls of a
// grpc-go server. A slow call asks for a snapshot, and evenkeel report says why it was slow.
//
//	rec, err := recorder.Start(ctx, recorder.Options{Slow: 50 * time.Millisecond})
//	server := grpc.NewServer(grpc.ChainUnaryInterceptor(grpcrecorder.UnaryInterceptor(rec)))
//
// A call's class is its full method, such as /orders.Orders/Get. The page shows the x-request-id of
// its metadata. Put the interceptor first, but after one that puts a span into the context, whose
// trace id recorder.Options.TraceID returns.
//
// Most streams last long on purpose. [StreamInterceptor] watches those that you choose.
package grpcrecorder

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"evenkeel.dev/reqtrace/recorder"
	"evenkeel.dev/reqtrace/region"
)

// UnaryInterceptor returns a [grpc.UnaryServerInterceptor] that watches calls. It changes nothing.
func UnaryInterceptor(rec *recorder.Recorder) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		get := func(name string) string { return value(ctx, name) }
		defer rec.Begin(ctx, info.FullMethod, get("x-request-id")).End()
		region.MarkCaller(ctx, get)
		return handler(ctx, req)
	}
}

// StreamInterceptor returns a [grpc.StreamServerInterceptor] that watches the streams for whose
// full method watched returns true, from their start to their end. Any goroutine calls watched. If
// it is nil, no stream is watched.
func StreamInterceptor(rec *recorder.Recorder, watched func(fullMethod string) bool) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if watched == nil || !watched(info.FullMethod) {
			return handler(srv, stream)
		}
		defer rec.Begin(stream.Context(), info.FullMethod, value(stream.Context(), "x-request-id")).End()
		return handler(srv, stream)
	}
}

func value(ctx context.Context, name string) string {
	if values := metadata.ValueFromIncomingContext(ctx, name); len(values) > 0 {
		return values[0]
	}
	return ""
}
