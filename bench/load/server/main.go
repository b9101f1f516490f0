//go:build linux

// Command server answers / at once, /work after 0.5 ms of computing, /wait after 20 ms, and /stall
// like a service that stalls for 200 ms each second. It speaks HTTP/1.1 and h2c, or with -grpc
// gRPC's health service.
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
	"syscall"
	"time"

	"google.golang.org/grpc"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

const (
	period  = time.Second
	length  = 200 * time.Millisecond
	service = 20 * time.Millisecond
)

var start = time.Now()

// stall waits in the kernel, because a timer of an idle Go program fires up to a millisecond late.
func stall() {
	wait := service
	if into := time.Since(start) % period; into < length {
		wait += length - into
	}
	for end := time.Now().Add(wait); wait > 0; wait = time.Until(end) {
		t := syscall.NsecToTimespec(int64(wait))
		_ = syscall.Nanosleep(&t, nil) // a signal ends it early
	}
}

func main() {
	rpc := flag.Bool("grpc", false, "serve gRPC")
	flag.Parse()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	if *rpc {
		s := grpc.NewServer()
		health.RegisterHealthServer(s, checker{})
		reflection.Register(s) // ghz asks it for the method
		fmt.Println(l.Addr())
		log.Fatal(s.Serve(l))
	}
	hello := func(before func()) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			before()
			io.WriteString(w, "hello, world\n")
		}
	}
	block := make([]byte, 1<<20)
	http.HandleFunc("/", hello(func() {}))
	http.HandleFunc("/wait", hello(func() { time.Sleep(service) }))
	http.HandleFunc("/stall", hello(stall))
	http.HandleFunc("/work", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "%x\n", sha256.Sum256(block))
	})
	srv := &http.Server{Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 1000}}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	fmt.Printf("http://%s\n", l.Addr())
	log.Fatal(srv.Serve(l))
}

type checker struct {
	health.UnimplementedHealthServer
}

func (checker) Check(_ context.Context, r *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	if r.Service == "/stall" {
		stall()
	}
	return &health.HealthCheckResponse{Status: health.HealthCheckResponse_SERVING}, nil
}
