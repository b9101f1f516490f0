package main

import (
	"context"
	"errors"
	"io"
	"net"

	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// service does for a call what the handler does for a request.
type service struct {
	testpb.UnimplementedTestServiceServer
	subject *subject
}

// EmptyCall implements the test service.
func (s service) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	s.subject.met.add(1)
	defer s.subject.met.add(-1)
	s.subject.push()
	return &testpb.Empty{}, nil
}

// FullDuplexCall answers each message with one.
func (service) FullDuplexCall(stream testpb.TestService_FullDuplexCallServer) error {
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
func (s *subject) serveGRPC() (stop func(), err error) {
	l, err := net.Listen("tcp", s.grpcAddr)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(s.signal.ServerOptions()...)
	s.signal.Register(server)
	testpb.RegisterTestServiceServer(server, service{subject: s})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l) // it ends when stop is called
	}()
	return func() {
		server.Stop()
		<-served
	}, nil
}
