//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"evenkeel.dev/contrib/grpc/grpcgate"
	"evenkeel.dev/gcgate"
)

// counts counts the requests after an announcement. Any goroutine may call its methods.
type counts struct {
	mu        sync.Mutex
	announced time.Time // zero: no collection is
	drained   bool      // the balancers have confirmed it
	current   collection
	total     totals
}

type totals struct {
	Polls       int          // of health
	Collections []collection // announced ones
}

type collection struct {
	Announced int           // requests after it
	Drained   int           // of them, after the confirmation
	Last      time.Duration // after the announcement
}

const mostCollections = 10_000

func (c *counts) see(e gcgate.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.State {
	case gcgate.StateAnnouncing:
		c.announced, c.drained, c.current = time.Now(), false, collection{}
	case gcgate.StateDraining, gcgate.StateCollecting:
		c.drained = true
	default:
		if !c.announced.IsZero() && len(c.total.Collections) < mostCollections {
			c.total.Collections = append(c.total.Collections, c.current)
		}
		c.announced = time.Time{}
	}
}

func (c *counts) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.came()
		next.ServeHTTP(w, r)
	})
}

func (c *counts) came() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.announced.IsZero() {
		return
	}
	c.current.Announced++
	c.current.Last = time.Since(c.announced)
	if c.drained {
		c.current.Drained++
	}
}

func (c *counts) polled() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total.Polls++
}

func (c *counts) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = json.NewEncoder(w).Encode(c.total) // the client may have gone
}

type calls struct {
	testpb.UnimplementedTestServiceServer
	service *service
}

func (c calls) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	c.service.counts.came()
	c.service.push()
	return &testpb.Empty{}, nil
}

func (calls) FullDuplexCall(stream testpb.TestService_FullDuplexCallServer) error {
	for {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := stream.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
}

// Without a gate the signal does nothing.
func (s *service) serveGRPC(signal *grpcgate.Signal) (stop func(), err error) {
	l, err := net.Listen("tcp", s.grpcAddr)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(signal.ServerOptions()...)
	signal.Register(server)
	testpb.RegisterTestServiceServer(server, calls{service: s})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	return func() {
		server.Stop()
		<-served
	}, nil
}
