//go:build linux

// Command calls is grpc-go's server for interoperability tests. An interceptor fetches a key under
// a lock.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

type keys struct {
	url string
	mu  sync.RWMutex
	now []byte
}

func main() {
	log.SetFlags(0)
	upstream := os.Getenv("UPSTREAM")
	k := &keys{url: upstream + "/after/60ms"}
	go func() {
		for range time.Tick(500 * time.Millisecond) {
			if err := k.renew(); err != nil {
				log.Print(err)
			}
		}
	}()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("calls: ", err)
	}
	admin, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("calls: ", err)
	}
	go func() { log.Fatal((&http.Server{ReadHeaderTimeout: time.Minute}).Serve(admin)) }()
	srv := grpc.NewServer(grpc.UnaryInterceptor(k.check))
	testpb.RegisterTestServiceServer(srv, interop.NewTestServer())
	fmt.Println("listening on", ln.Addr(), admin.Addr())
	log.Fatal("calls: ", srv.Serve(ln))
}

func (k *keys) check(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := k.valid(); err != nil {
		return nil, err
	}
	return next(ctx, req)
}

func (k *keys) valid() error {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if len(k.now) > 1<<20 {
		return io.ErrShortBuffer
	}
	return nil
}

func (k *keys) renew() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	res, err := http.Get(k.url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	k.now, err = io.ReadAll(res.Body)
	return err
}
