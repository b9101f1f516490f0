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
