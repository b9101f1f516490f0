package grpcgate_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"evenkeel.dev/contrib/grpc/grpcgate/client"
)

// interopCalls are cases of grpc-go's own interop client, which end the process if a call fails.
// DoCancelAfterBegin is left out, because on a busy machine the answer may come before the
// cancellation.
var interopCalls = []func(context.Context, testpb.TestServiceClient, ...grpc.CallOption){
	interop.DoEmptyUnaryCall, interop.DoLargeUnaryCall, interop.DoClientStreaming, interop.DoServerStreaming,
	interop.DoPingPong,
	interop.DoEmptyStream, interop.DoCancelAfterFirstResponse, interop.DoCustomMetadata, interop.DoStatusCodeAndMessage,
	interop.DoSpecialStatusMessage,
}

// TestInteropClients tests that these clients notice nothing of collections.
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

// TestClientInPython tests that gRPC's core, which C++, Python, Ruby and PHP share, takes the same
// service configuration.
func TestClientInPython(t *testing.T) {
	python := ""
	for _, name := range []string{"../../../.bin/python/bin/python", "python3"} { // the first one is .ci/setup's
		if exec.Command(name, "-c", "import grpc").Run() == nil {
			python = name
			break
		}
	}
	if python == "" {
		t.Skip("no Python with grpcio: .ci/setup installs one from PyPI")
	}
	gate := wide(turns(t))
	a, b := startReplica(t, patient, gate), startReplica(t, patient, gate)
	cmd := exec.CommandContext(t.Context(), python, "testdata/client.py", a.addr+","+b.addr, client.ServiceConfig)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(output)
	if line, err := lines.ReadString('\n'); line != "calling\n" {
		t.Fatalf("the client said %q, %v", line, err)
	}
	watched(t, 1, a, b)
	called(t, 1, a, b)
	collect(t, collections/2, a, b)
	input.Close()
	var got struct {
		Calls, Failed  int
		First, Version string
	}
	if err := json.NewDecoder(lines).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("grpcio %s: %d calls, %d failed, %d met one of %d collections", got.Version, got.Calls, got.Failed,
		a.met()+b.met(), collections)
	if got.Failed > 0 || got.Calls == 0 {
		t.Errorf("%d of %d calls failed, the first with %s", got.Failed, got.Calls, got.First)
	}
	for _, r := range []*replica{a, b} {
		if r.announced() < collections/2 || r.calls.Load() == 0 {
			t.Errorf("%d of %d collections were announced, and %d calls came", r.announced(), collections/2,
				r.calls.Load())
		}
	}
	wantFollowed(t, 1, a, b)
}
