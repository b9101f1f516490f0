package etcdturn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"evenkeel.dev/contrib/etcdturn"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/turntest"
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
		var oe *etcdturn.OptionError
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

// TestNobodyThere needs no etcd: nothing listens where it looks.
func TestNobodyThere(t *testing.T) {
	turns := newTurns(t, etcdturn.Options{Endpoints: []string{"127.0.0.1:1"}}) // a port that is free now may be somebody's soon
	wantNoAnswer(t, tryBriefly(t, turns))
	wantNoAnswer(t, turns.Check(t.Context()))
	done := make(chan error)
	go func() { // Close ends a TryAcquire that waits
		_, err := turns.TryAcquire(context.Background())
		done <- err
	}()
	time.Sleep(20 * time.Millisecond)
	if err := turns.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-done; !errors.Is(err, etcdturn.ErrClosed) {
		t.Errorf("TryAcquire during Close: %v, want ErrClosed", err)
	}
	if _, err := turns.TryAcquire(t.Context()); !errors.Is(err, etcdturn.ErrClosed) {
		t.Errorf("TryAcquire after Close: %v, want ErrClosed", err)
	}
	if err := turns.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// TestTurns runs the suite of all Turns.
func TestTurns(t *testing.T) {
	s := sharedServer(t)
	for _, k := range []int{1, 2} {
		if err := turntest.Check(t.Context(), k, func(group string) (gcgate.Turns, error) {
			return newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}, Group: fmt.Sprint(group, k), K: k, TTL: time.Minute}), nil
		}); err != nil {
			t.Error(err)
		}
	}
}

// TestHolder: the error says who has the turn.
func TestHolder(t *testing.T) {
	s := sharedServer(t)
	a, b := newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}, Holder: "replica a"}), newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}})
	if err := a.Check(t.Context()); err != nil {
		t.Errorf("Check: %v", err)
	}
	l := take(t, a)
	wantHeld(t, a)
	if _, err := tryAcquire(b); !errors.Is(err, gcgate.ErrHeld) || !strings.Contains(err.Error(), "replica a") {
		t.Errorf("TryAcquire: %v, want ErrHeld that names the holder", err)
	}
	release(t, l)
	release(t, l) // idempotent
}

func TestManySlots(t *testing.T) {
	s := sharedServer(t)
	client := newClient(t, s)
	const k = 64
	for range k {
		take(t, newTurns(t, etcdturn.Options{Client: client, K: k}))
	}
	wantHeld(t, newTurns(t, etcdturn.Options{Client: client, K: k}))
}

// TestRoundTrips counts the calls of a turn when the lease is there already.
func TestRoundTrips(t *testing.T) {
	s := sharedServer(t)
	var calls atomic.Int64
	config := etcdturn.ClientConfig(s.addr)
	config.DialOptions = append(config.DialOptions, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
			calls.Add(1)
			return call(ctx, method, req, reply, conn, o...)
		}))
	client, err := clientv3.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	take(t, newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}, K: 3})) // so that the first slot is taken
	turns := newTurns(t, etcdturn.Options{Client: client, K: 3})
	defer turns.Close()
	release(t, take(t, turns))
	calls.Store(0)
	l := take(t, turns)
	if n := calls.Load(); n != 1 {
		t.Errorf("TryAcquire took %d calls, want 1", n)
	}
	release(t, l)
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

func TestCloseLeavesNothing(t *testing.T) {
	s := sharedServer(t)
	before := goleak.IgnoreCurrent()
	for range 3 {
		turns, err := etcdturn.New(etcdturn.Options{Endpoints: []string{s.addr}, Group: "g", TTL: time.Minute, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		l := take(t, turns) // at once: the one before was revoked
		if err := turns.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		wantLost(t, l)
		if err := l.Release(t.Context()); err != nil {
			t.Errorf("Release after Close: %v", err)
		}
		verifyNoLeak(t, before)
	}

	client := newClient(t, s)
	turns := newTurns(t, etcdturn.Options{Client: client})
	release(t, take(t, turns))
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
