package grpcgate_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"evenkeel.dev/contrib/grpc/grpcgate"
	"evenkeel.dev/contrib/grpc/grpcgate/client"
	"evenkeel.dev/gcgate"
)

type hello struct {
	testpb.UnimplementedTestServiceServer
}

func (hello) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	return &testpb.Empty{}, nil
}

func Example() {
	dir, err := os.MkdirTemp("", "grpcgate")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	signal, err := grpcgate.New(grpcgate.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	gate, err := gcgate.Start(context.Background(), gcgate.Options{
		Signals: []gcgate.Signal{signal},
		Turns:   gcgate.FileTurns{Path: filepath.Join(dir, "turn")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gate.Stop(context.Background())
	server := grpc.NewServer(signal.ServerOptions()...)
	signal.Register(server)
	testpb.RegisterTestServiceServer(server, hello{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go server.Serve(l)
	defer server.Stop()

	conn, err := grpc.NewClient(l.Addr().String(), // a name that all replicas have
		grpc.WithDefaultServiceConfig(client.ServiceConfig),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	_, err = testpb.NewTestServiceClient(conn).EmptyCall(context.Background(), &testpb.Empty{})
	fmt.Println("the call:", err)
	fmt.Println("who watches:", signal.Watches())
	_, entered := gate.Requests()
	fmt.Println("counted:", entered)
	// Output:
	// the call: <nil>
	// who watches: 1
	// counted: 1
}
