package grpcgate_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// interopCalls are the cases of grpc-go's own interop client that any client and server have to
// manage. They end the process where a call fails, or its answer is another than it should be.
// DoCancelAfterBegin is not among them: it closes its stream right after it has cancelled it, and
// where the machine is busy the answer is there before grpc-go has seen the cancellation.
var interopCalls = []func(context.Context, testpb.TestServiceClient, ...grpc.CallOption){
	interop.DoEmptyUnaryCall, interop.DoLargeUnaryCall, interop.DoClientStreaming, interop.DoServerStreaming,
	interop.DoPingPong,
	interop.DoEmptyStream, interop.DoCancelAfterFirstResponse, interop.DoCustomMetadata, interop.DoStatusCodeAndMessage,
	interop.DoSpecialStatusMessage,
}

// TestInteropClients: grpc-go's own interop clients notice nothing of collections, which both
// replicas are asked for at once, time and again.
func TestInteropClients(t *testing.T) {
	gate := wide(turns(t))
	a := startService(t, patient, gate, interop.NewTestServer())
	b := startService(t, patient, gate, interop.NewTestServer())
	var running sync.WaitGroup
	var cases, stop atomic.Int64
	clients := watching(t, 2, a, b)
	for _, c := range clients {
		running.Go(func() {
			for stop.Load() == 0 {
				for _, call := range interopCalls {
					call(t.Context(), c)
					cases.Add(1)
				}
			}
		})
	}
	called(t, len(clients), a, b)
	asked := uint64(0)
	for end := time.Now().Add(4 * eventTimeout); asked < collections/4 ||
		cases.Load() < int64(2*len(clients)*len(interopCalls)); asked++ {
		if time.Now().After(end) {
			t.Errorf("%d cases in %v", cases.Load(), 4*eventTimeout)
			break
		}
		collect(t, 1, a, b)
	}
	stop.Store(1)
	running.Wait()
	t.Logf("%d cases during %d collections; %d calls met one", cases.Load(), 2*asked, a.met()+b.met())
	for _, r := range []*replica{a, b} {
		if n := r.announced(); n < asked {
			t.Errorf("%d of %d collections were announced", n, asked)
		}
	}
}
