// Command gen writes the execution trace of a small service with a planted lock to standard output,
// for the recorded traces of reqtrace: of HTTP/1 and HTTP/2 by the standard library (http1, http2),
// or of gRPC without and with stream workers (grpc, workers).
//
// It builds with every Go release since 1.22; testdata/gen.sh runs it.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/trace"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// cache is what the service answers from.
type cache struct {
	healthpb.UnimplementedHealthServer
	mu sync.Mutex
}

func (c *cache) get() {
	c.mu.Lock() // the planted place: the requests wait here
	defer c.mu.Unlock()
}

const (
	clients = 2
	held    = 12 * time.Millisecond
)

// refresh holds the lock for long, and closes locked when it has it.
func (c *cache) refresh(locked chan<- bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(locked)
	time.Sleep(held)
}

// Check is the service's method of gRPC.
func (c *cache) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	c.get()
	return &healthpb.HealthCheckResponse{}, nil
}

// ServeHTTP is its handler of HTTP.
func (c *cache) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.get()
	fmt.Fprintln(w, "hello")
}

// requests starts a server of a version of HTTP, and returns what makes a request.
func requests(c *cache, version int) func() error {
	s := httptest.NewUnstartedServer(c)
	if version == 1 {
		s.Start()
	} else {
		s.EnableHTTP2 = true
		s.StartTLS()
	}
	return func() error {
		res, err := s.Client().Get(s.URL)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.ProtoMajor != version {
			return fmt.Errorf("it answers %s", res.Proto)
		}
		_, err = io.Copy(io.Discard, res.Body)
		return err
	}
}

// calls starts a server with so many stream workers, and returns what makes a call.
func calls(c *cache, workers uint32) func() error {
	s := grpc.NewServer(grpc.NumStreamWorkers(workers))
	healthpb.RegisterHealthServer(s, c)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("gen: ", err)
	}
	go s.Serve(l)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal("gen: ", err)
	}
	client := healthpb.NewHealthClient(conn)
	return func() error {
		_, err := client.Check(context.Background(), &healthpb.HealthCheckRequest{})
		return err
	}
}

func main() {
	log.SetFlags(0)
	c := &cache{}
	var call func() error
	count, each := 100, 10 // of each client; of which one meets the lock while it is held
	switch kind := os.Args[1]; kind {
	case "http1":
		call, count, each = requests(c, 1), 150, 15
	case "http2":
		call = requests(c, 2)
	case "grpc":
		call = calls(c, 0)
	case "workers":
		call = calls(c, 3)
	default:
		log.Fatal("gen: no ", kind)
	}
	if err := call(); err != nil { // the connection is there when the trace begins
		log.Fatal("gen: ", err)
	}
	if err := trace.Start(os.Stdout); err != nil {
		log.Fatal("gen: ", err)
	}
	var done sync.WaitGroup
	for i := 0; i < clients; i++ {
		done.Add(1)
		go func() {
			defer done.Done()
			for i := 0; i < count; i++ {
				if i%each == each-1 {
					locked := make(chan bool)
					go c.refresh(locked)
					<-locked
				}
				if err := call(); err != nil {
					log.Fatal("gen: ", err)
				}
			}
		}()
	}
	done.Wait()
	trace.Stop()
}
