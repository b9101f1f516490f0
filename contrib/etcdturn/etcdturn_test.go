package etcdturn_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"evenkeel.dev"
	"evenkeel.dev/contrib/etcdturn"
	"evenkeel.dev/internal/turnsuite"
)

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		field string
		o     etcdturn.Options
	}{
		{"Group", etcdturn.Options{Group: "a/b"}},
		{"Group", etcdturn.Options{Group: strings.Repeat("a", 256)}},
		{"K", etcdturn.Options{K: -1}},
		{"K", etcdturn.Options{K: 65}},
		{"Holder", etcdturn.Options{Holder: strings.Repeat("a", 256)}},
		{"TTL", etcdturn.Options{TTL: -1}},
		{"TTL", etcdturn.Options{TTL: time.Hour}},
		{"Endpoints", etcdturn.Options{Endpoints: []string{"a"}, Client: new(clientv3.Client)}},
	} {
		var oe *evenkeel.OptionError
		if _, err := etcdturn.New(tt.o); !errors.As(err, &oe) || oe.Option != tt.field {
			t.Errorf("%+v: error %v, want one about %s", tt.o, err, tt.field)
		}
	}
	turns, err := etcdturn.New(etcdturn.Options{}) // works, without an etcd too
	if err != nil {
		t.Fatal(err)
	}
	if err := turns.Close(); err != nil {
		t.Error(err)
	}
}

// TestRoundTrips counts the calls of a turn when the lease is there already.
func TestRoundTrips(t *testing.T) {
	s := sharedServer(t)
	var calls atomic.Int64
	config := etcdturn.ClientConfig(s.addr)
	config.DialOptions = append(config.DialOptions, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker,
			o ...grpc.CallOption,
		) error {
			calls.Add(1)
			return call(ctx, method, req, reply, conn, o...)
		}))
	client, err := clientv3.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	// So that the first slot is taken.
	turnsuite.Take(t, newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}, K: 3}))
	turns := newTurns(t, etcdturn.Options{Client: client, K: 3})
	defer turns.Close()
	turnsuite.Release(t, turnsuite.Take(t, turns))
	calls.Store(0)
	l := turnsuite.Take(t, turns)
	if n := calls.Load(); n != 1 {
		t.Errorf("TryAcquire took %d calls, want 1", n)
	}
	turnsuite.Release(t, l)
	if n := calls.Load(); n != 2 {
		t.Errorf("TryAcquire and Release took %d calls, want 2", n)
	}
}

func newClient(t testing.TB, s *server) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(etcdturn.ClientConfig(s.addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// TestCloseKeepsTheClient tests that Close leaves nothing but the client, which Options has.
func TestCloseKeepsTheClient(t *testing.T) {
	s := sharedServer(t)
	before := goleak.IgnoreCurrent()
	client := newClient(t, s)
	turns := newTurns(t, etcdturn.Options{Client: client})
	turnsuite.Release(t, turnsuite.Take(t, turns))
	if err := turns.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	// The client keeps its own goroutines while it is open: a stream, too, whose only watch was
	// cancelled before it began.
	verifyNoneOfOurs(t)
	if leases, err := client.Leases(t.Context()); err != nil || len(leases.Leases) != 0 {
		t.Errorf("leases left: %v, %v", leases, err) // and the client is open
	}
	client.Close()
	verifyNoLeak(t, before)
}

func BenchmarkTryAcquireRelease(b *testing.B) {
	turns := newTurns(b, etcdturn.Options{Endpoints: []string{newServer(b).addr}})
	ctx := b.Context()
	for b.Loop() {
		l, err := turns.TryAcquire(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Release(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
