// Command loadgrpc puts an open-loop load on a gRPC service by loadgen.Options.Call.
//
//	go run ./load/loadgrpc                          # from bench/: a server of its own
//	go run ./load/loadgrpc -addr 127.0.0.1:50051    # one that has gRPC's health service
//
// The method is Check of grpc.health.v1.Health, which most services have. Put a generated client of
// your own in its place.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"evenkeel.dev/loadgen"
)

func main() {
	log.SetFlags(0)
	addr := flag.String("addr", "", "`host:port` of the service (default: one of its own)")
	rate := flag.Float64("rate", 1000, "`calls` a second")
	length := flag.Duration("z", 3*time.Second, "`duration` of the load")
	conns := flag.Int("c", 2, "connections, over which the calls are spread")
	closed := flag.Int("closed", 0, "closed loop with as many `workers` instead of -rate")
	service := flag.String("service", "", "`name` of the service to check")
	asJSON := flag.Bool("json", false, "print the whole result as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := loadgen.Options{Rate: *rate, Duration: *length, Timeout: 5 * time.Second}
	if *closed > 0 {
		o.Rate, o.Connections = 0, *closed
	}
	write := summary
	if *asJSON {
		write = func(w io.Writer, r *loadgen.Result) error { return json.NewEncoder(w).Encode(r) }
	}
	result, err := run(ctx, *addr, *service, *conns, o)
	if err == nil {
		err = write(os.Stdout, result)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run loads the service at addr, or one of its own.
func run(ctx context.Context, addr, service string, conns int, o loadgen.Options) (*loadgen.Result, error) {
	if addr == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		s := grpc.NewServer()
		health.RegisterHealthServer(s, &server{})
		go s.Serve(l)
		defer s.Stop()
		addr = l.Addr().String()
	}
	return load(ctx, addr, service, conns, o, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// summary prints a result in a few lines.
func summary(w io.Writer, result *loadgen.Result) error {
	fmt.Fprintf(w, "%d calls answered, %d failed, %.0f/s\n", result.Answered, result.Failed, result.Throughput())
	for _, f := range result.Failures {
		fmt.Fprintf(w, "%d x %s: %s\n", f.Count, f.Class, f.Example)
	}
	for _, q := range []float64{.5, .9, .99} {
		fmt.Fprintf(w, "p%-5v %10v\n", 100*q, result.Latency.Quantile(q).Round(time.Microsecond))
	}
	_, err := fmt.Fprintf(w, "p99.9  %10v\n", result.Latency.Quantile(.999).Round(time.Microsecond))
	return err
}

// load puts the load on over as many connections: gRPC alone would open one, and a server may
// allow a hundred streams on it.
func load(ctx context.Context, target, service string, conns int, o loadgen.Options,
	dial ...grpc.DialOption,
) (*loadgen.Result, error) {
	clients := make([]health.HealthClient, max(conns, 1))
	for i := range clients {
		cc, err := grpc.NewClient(target, dial...)
		if err != nil {
			return nil, err
		}
		defer cc.Close()
		clients[i] = health.NewHealthClient(cc)
	}
	o.Call = func(ctx context.Context, worker int) error {
		_, err := clients[worker%len(clients)].Check(ctx, &health.HealthCheckRequest{Service: service})
		if status.Code(err) == codes.DeadlineExceeded { // the server's clock may say so before this one's does
			err = fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
		}
		return err
	}
	return loadgen.Run(ctx, o)
}

// server answers Check, after as long as delay says.
type server struct {
	health.UnimplementedHealthServer
	delay func() time.Duration // nil: none
}

func (s *server) Check(context.Context, *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	if s.delay != nil {
		time.Sleep(s.delay())
	}
	return &health.HealthCheckResponse{Status: health.HealthCheckResponse_SERVING}, nil
}
