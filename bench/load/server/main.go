// Command server answers what bench/load sends: "/" at once; "/work" after some 0.5 ms of
// computing; "/wait" after 20 ms of waiting; "/stall" as a service that stalls for 200 ms at the
// start of each second and needs 20 ms a request otherwise. It speaks HTTP/1.1 and h2c; with -grpc it is gRPC's health
// service instead, whose Check answers as "/" does, or as PATH where the request names one as its service.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"google.golang.org/grpc"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

func main() {
	period := flag.Duration("period", time.Second, "time from one stall to the next")
	stall := flag.Duration("stall", 200*time.Millisecond, "length of a stall")
	service := flag.Duration("service", 20*time.Millisecond, "time that a request takes outside a stall")
	rpc := flag.Bool("grpc", false, "serve gRPC")
	flag.Parse()
	start := time.Now()
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "hello, world\n")
	})
	block := make([]byte, 1<<20)
	http.HandleFunc("/work", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "%x\n", sha256.Sum256(block))
	})
	http.HandleFunc("/wait", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(*service)
		io.WriteString(w, "hello, world\n")
	})
	stalling := func() {
		// Nothing moves in a stall: a request that arrives in one starts at its end.
		wait := *service
		if into := time.Since(start) % *period; into < *stall {
			wait += *stall - into
		}
		sleep(wait)
	}
	http.HandleFunc("/stall", func(w http.ResponseWriter, _ *http.Request) {
		stalling()
		io.WriteString(w, "hello, world\n")
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	if *rpc {
		s := grpc.NewServer()
		health.RegisterHealthServer(s, &checker{stalling: stalling})
		reflection.Register(s) // ghz asks it for the method
		io.WriteString(os.Stdout, l.Addr().String()+"\n")
		log.Fatal(s.Serve(l))
	}
	srv := &http.Server{Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 1000}}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	io.WriteString(os.Stdout, "http://"+l.Addr().String()+"\n")
	log.Fatal(srv.Serve(l))
}

// checker is gRPC's health service.
type checker struct {
	health.UnimplementedHealthServer
	stalling func()
}

func (c *checker) Check(_ context.Context, r *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	if r.Service == "/stall" {
		c.stalling()
	}
	return &health.HealthCheckResponse{Status: health.HealthCheckResponse_SERVING}, nil
}
