package main

import (
	"bytes"
	"context"
	"math"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"evenkeel.dev/loadgen"
)

func TestRun(t *testing.T) {
	for _, o := range []loadgen.Options{
		{Rate: 500, Requests: 100, Timeout: time.Minute},
		{Connections: 5, Requests: 100, Timeout: time.Minute},
	} {
		var out bytes.Buffer
		r, err := run(t.Context(), "", "", 2, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := summary(&out, r); err != nil {
			t.Error(err)
		}
		if !strings.Contains(out.String(), "100 calls answered, 0 failed") || !strings.Contains(out.String(), "p99.9") {
			t.Errorf("it says:\n%s", out.String())
		}
	}
}

// A call that times out has gRPC's own error, and counts as a time-out with the time it took.
func TestTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	health.RegisterHealthServer(s, &server{delay: func() time.Duration { return time.Second }})
	go s.Serve(l)
	defer s.Stop()
	r, err := load(t.Context(), l.Addr().String(), "", 1,
		loadgen.Options{Requests: 5, Connections: 5, Timeout: 50 * time.Millisecond},
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil || r.Failed != 5 || r.Failures[0].Class != loadgen.ClassTimeout || len(r.Failures) != 1 ||
		r.Latency.Quantile(0) < 49*time.Millisecond {
		// The server's deadline is as many whole microseconds.
		t.Errorf("%v, %+v", err, r)
	}
}

const (
	stallPeriod  = time.Second
	stallLength  = 200 * time.Millisecond
	stallService = 20 * time.Millisecond
)

// stallQuantile is the computed latency that a share q of calls, due evenly over time, does not
// exceed: four in five take the service time, the others up to a stall more, evenly.
func stallQuantile(q float64) time.Duration {
	calm := 1 - float64(stallLength)/float64(stallPeriod)
	return stallService + time.Duration(max(0, (q-calm)/(1-calm))*float64(stallLength))
}

// TestStall loads a service that stalls for 200 ms each second, in a clock of its own: p50 to p99.9
// are the computed ones within 5%, from the time due, and the machine has no say in it.
func TestStall(t *testing.T) {
	// With one processor loadgen's pacer sleeps by the runtime's clock, which is the bubble's.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := grpc.NewServer()
		health.RegisterHealthServer(s, &server{delay: func() time.Duration {
			if into := time.Since(began) % stallPeriod; into < stallLength {
				return stallLength - into + stallService
			}
			return stallService
		}})
		l := bufconn.Listen(1 << 20)
		go s.Serve(l)
		r, err := load(t.Context(), "passthrough:///stalling", "", 4,
			loadgen.Options{Rate: 500, Duration: 4 * stallPeriod, Timeout: time.Minute},
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
		s.Stop()
		if err != nil || r.Answered != 2000 || r.Failed != 0 {
			t.Fatalf("%v, %+v", err, r)
		}
		for _, q := range []float64{.5, .75, .85, .9, .95, .99, .999} {
			got, want := r.Latency.Quantile(q), stallQuantile(q)
			if math.Abs(float64(got)/float64(want)-1) > .05 {
				t.Errorf("p%v is %v, computed %v", 100*q, got, want)
			}
		}
	})
}
