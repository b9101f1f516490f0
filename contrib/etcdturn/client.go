package etcdturn

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// How fast a dead server is noticed, and a living one found again.
const (
	dialTimeout = 2 * time.Second // of one attempt to connect
	retryMin    = 100 * time.Millisecond
	retryMax    = time.Second // gRPC's default is two minutes

	// pingEvery is gRPC's minimum; etcd's servers drop clients that ping twice as often.
	pingEvery = 10 * time.Second

	// pingTimeout is also how long the kernel waits for sent data to be acknowledged, so that
	// the keepalive messages of the lease find a vanished machine before the next ping does.
	pingTimeout = time.Second
)

// ClientConfig returns the configuration of the client that [New] makes: it connects in the
// background, tries a dead server again every second, and logs nothing. Add TLS or a password
// to it, make a client, and pass that in Options.Client.
func ClientConfig(endpoints ...string) clientv3.Config {
	return clientv3.Config{
		Endpoints:            endpoints,
		DialTimeout:          dialTimeout,
		DialKeepAliveTime:    pingEvery,
		DialKeepAliveTimeout: pingTimeout,
		PermitWithoutStream:  true,
		Logger:               zap.NewNop(), // what matters is in the errors
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: retryMin, Multiplier: 1.6, Jitter: 0.2, MaxDelay: retryMax},
			MinConnectTimeout: dialTimeout,
		})},
	}
}
