package client_test

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"evenkeel.dev/contrib/grpc/grpcgate/client"
)

// A client of all replicas that a name has.
func Example() {
	conn, err := grpc.NewClient("dns:///localhost:50051",
		grpc.WithDefaultServiceConfig(client.ServiceConfig),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	fmt.Println(conn.GetState())
	// Output:
	// IDLE
}
