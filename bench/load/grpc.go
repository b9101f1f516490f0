//go:build linux

package load

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
)

type grpcClients []*grpc.ClientConn

func dial(addr string) (clients grpcClients, err error) {
	for range grpcConnections {
		c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, errors.Join(err, clients.close())
		}
		clients = append(clients, c)
	}
	return clients, nil
}

func (g grpcClients) call(service string) func(context.Context, int) error {
	return func(ctx context.Context, worker int) error {
		_, err := health.NewHealthClient(g[worker%len(g)]).Check(ctx, &health.HealthCheckRequest{Service: service})
		return err
	}
}

func (g grpcClients) close() (err error) {
	for _, c := range g {
		err = errors.Join(err, c.Close())
	}
	return err
}
