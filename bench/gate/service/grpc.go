//go:build linux

package main

import (
	"context"
	"errors"
	"io"
	"net"

	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"evenkeel.dev/contrib/grpc/grpcgate"
)

// calls is the handler, for gRPC.
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

// serveGRPC serves until stop is called. Without a gate the signal does nothing.
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
