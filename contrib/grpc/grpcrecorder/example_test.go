package grpcrecorder_test

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"evenkeel.dev/contrib/grpc/grpcrecorder"
	"evenkeel.dev/reqtrace/recorder"
)

// A server whose recorder keeps snapshots of slow calls, for evenkeel report. Its page is on an
// address of its own.
func Example() {
	rec, err := recorder.Start(context.Background(), recorder.Options{Slow: 50 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rec.Stop(context.Background())
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(grpcrecorder.UnaryInterceptor(rec)))
	defer server.Stop()
	fmt.Println(rec.Stats().Threshold)
	// Output:
	// 50ms
}
