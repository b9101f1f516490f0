package etcdturn

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

const (
	dialTimeout = 2 * time.Second // of one attempt to connect
	retryMin    = 100 * time.Millisecond
	retryMax    = time.Second // gRPC's default is two minutes

	// pingEvery is gRPC's minimum. etcd drops clients that ping twice as often.
	pingEvery = 10 * time.Second

	// pingTimeout also bounds the kernel's wait for an acknowledgement, so that the messages that
	// keep the lease alive find a vanished machine.
	pingTimeout = time.Second
)

// ClientConfig returns the configuration of the client that [New] makes. It connects in the
// background, tries a dead server again every second, and logs nothing. For TLS or a password, add
// them, make a client, and set Options.Client.
func ClientConfig(endpoints ...string) clientv3.Config {
	return clientv3.Config{
		Endpoints:            endpoints,
		DialTimeout:          dialTimeout,
		DialKeepAliveTime:    pingEvery,
		DialKeepAliveTimeout: pingTimeout,
		PermitWithoutStream:  true,
		Logger:               zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: retryMin, Multiplier: 1.6, Jitter: 0.2, MaxDelay: retryMax},
			MinConnectTimeout: dialTimeout,
		})},
	}
}
