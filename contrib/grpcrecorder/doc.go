// Package grpcrecorder has a recorder of evenkeel.dev/reqtrace/recorder watch the calls of a
// grpc-go server: one that was slow asks for a snapshot, and evenkeel report says why it was.
//
//	rec, err := recorder.Start(ctx, recorder.Options{Slow: 50 * time.Millisecond})
//	server := grpc.NewServer(grpc.ChainUnaryInterceptor(grpcrecorder.UnaryInterceptor(rec)))
//
// A call's class is its full method, such as /orders.Orders/Get. The page calls it by the
// x-request-id of its metadata, if it has one. Its time is that of the handler and of the
// interceptors after this one: it comes first, but after one that puts a span into the context,
// whose trace id recorder.Options.TraceID tells.
//
// Most streams last for long on purpose, and each of them would be slow: [StreamInterceptor]
// watches those that it is told to.
package grpcrecorder
