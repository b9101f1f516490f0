package etcdturn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"evenkeel.dev"
	"evenkeel.dev/gcgate"
)

const (
	maxK     = 64 // a slot is a level of the transaction, and etcd allows 128
	maxName  = 255
	maxTTL   = time.Minute
	localURL = "http://127.0.0.1:2379"
)

// Options configure [Turns]. The zero value works where an etcd listens on this machine.
type Options struct {
	// Client talks to etcd. Make it from [ClientConfig]. It stays open after Close. Default: nil, a
	// client of Endpoints.
	Client *clientv3.Client

	// Endpoints are the addresses of etcd's servers, each host:port or a URL. Leave them out with
	// Client. Default: none, which is http://127.0.0.1:2379.
	Endpoints []string

	// Group names the replicas behind one balancer. Default: empty, the program's file name. Limit:
	// 255 bytes, without '/'.
	Group string

	// K is how many of the group may collect at once, the same in all of them. Default: 0, which is
	// 1. Limit: 64.
	K int

	// Holder names this process to operators. Default: empty, which is host:pid. Limit: 255 bytes.
	Holder string

	// TTL is how long the slot of a dead holder stays taken, and the longest wait for an answer,
	// rounded up to seconds. etcd's own minimum is usually 2 s. A holder that is stopped for longer
	// loses the turn. Default: 0, which is 5 s. Limit: 1 minute.
	TTL time.Duration
}

func refuse(option, format string, args ...any) error {
	return evenkeel.NewOptionError("etcdturn.Options", option, format, args...)
}

func (o Options) withDefaults() (Options, error) {
	if o.Client != nil && len(o.Endpoints) > 0 {
		return o, refuse("Endpoints", "it is set, and Client is, too: set one of them")
	}
	if len(o.Endpoints) == 0 {
		o.Endpoints = []string{localURL}
	}
	if o.Group == "" {
		o.Group = filepath.Base(os.Args[0])
	}
	if len(o.Group) > maxName || strings.Contains(o.Group, "/") {
		return o, refuse("Group", "%.40q is not a name: use at most %d bytes and no '/'", o.Group, maxName)
	}
	o.K = cmp.Or(o.K, 1)
	if o.K < 0 || o.K > maxK {
		return o, refuse("K", "%d is out of range: use 1 to %d", o.K, maxK)
	}
	if o.Holder == "" {
		host, _ := os.Hostname()
		o.Holder = fmt.Sprintf("%s:%d", cmp.Or(host, "unknown"), os.Getpid())
	}
	if len(o.Holder) > maxName {
		return o, refuse("Holder", "it has %d bytes: use at most %d", len(o.Holder), maxName)
	}
	o.TTL = cmp.Or(o.TTL, 5*time.Second)
	if o.TTL < 0 || o.TTL > maxTTL {
		return o, refuse("TTL", "%v is out of range: use 1s to %v", o.TTL, maxTTL)
	}
	o.TTL = (o.TTL + time.Second - 1).Truncate(time.Second)
	return o, nil
}

const (
	dialTimeout = 2 * time.Second
	retryMin    = 100 * time.Millisecond
	retryMax    = time.Second

	// pingEvery is gRPC's minimum. etcd drops clients that ping twice as often.
	pingEvery = 10 * time.Second

	// pingTimeout bounds the kernel's wait for an acknowledgement too.
	pingTimeout = time.Second
)

// ClientConfig returns the configuration of the client that [New] makes. The client tries a dead
// server again every second, and logs nothing. For TLS or a password, add them, make a client, and
// set Options.Client.
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

var errClosed = errors.New("etcdturn: closed: make new Turns with New")

var (
	errEnded     = errors.New("the lease ended before the turn was free")
	errChanged   = errors.New("the key was deleted or changed")
	errUnwatched = errors.New("the key cannot be watched: the client was closed")
)

func (t *Turns) explain(err error) error {
	select {
	case <-t.closing:
		return errClosed
	default:
	}
	code := status.Code(err)
	if refusal, ok := errors.AsType[rpctypes.EtcdError](err); ok {
		code = refusal.Code()
	}
	switch {
	case errors.Is(err, gcgate.ErrHeld):
		return err
	case errors.Is(err, errEnded):
		return fmt.Errorf("etcdturn: group %q: %w: try again", t.options.Group, err)
	case errors.Is(err, context.Canceled), code == codes.Canceled:
		return fmt.Errorf("etcdturn: group %q: given up: %w", t.options.Group, err)
	case errors.Is(err, context.DeadlineExceeded), code == codes.DeadlineExceeded, code == codes.Unavailable:
		return fmt.Errorf("etcdturn: no answer from etcd at %v: check that it runs, has a leader and can be "+
			"reached: %w",
			t.client.Endpoints(), err)
	}
	return fmt.Errorf("etcdturn: etcd at %v refused: check its alarms, and the user's rights below %s: %w",
		t.client.Endpoints(), t.prefix, err)
}
