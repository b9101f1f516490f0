package grpcgate_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"evenkeel.dev/contrib/grpc/grpcgate/client"
)

// TestClientInPython: gRPC's other implementation, which C++, Python, Ruby and PHP share, takes the
// same service configuration.
func TestClientInPython(t *testing.T) {
	python := ""
	for _, name := range []string{"../../../.bin/python/bin/python", "python3"} { // the first is what .ci/setup installs
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
