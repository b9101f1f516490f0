package etcdturn_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"evenkeel.dev"
	"evenkeel.dev/contrib/etcdturn"
	"evenkeel.dev/gcgate"
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
	turns, err := etcdturn.New(etcdturn.Options{}) // works without an etcd
	if err != nil {
		t.Fatal(err)
	}
	if err := turns.Close(); err != nil {
		t.Error(err)
	}
}

// TestRoundTrips counts the calls of a turn with a lease.
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

// TestCloseKeepsTheClient tests that Close leaves nothing but the client of Options.
func TestCloseKeepsTheClient(t *testing.T) {
	s := sharedServer(t)
	before := goleak.IgnoreCurrent()
	client := newClient(t, s)
	turns := newTurns(t, etcdturn.Options{Client: client})
	turnsuite.Release(t, turnsuite.Take(t, turns))
	if err := turns.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	// The client keeps its own goroutines while it is open.
	verifyNoneOfOurs(t)
	if leases, err := client.Leases(t.Context()); err != nil || len(leases.Leases) != 0 {
		t.Errorf("leases left: %v, %v", leases, err)
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

func queued(t testing.TB, client *clientv3.Client) (keys []string) {
	t.Helper()
	answer, err := client.Get(t.Context(), "/evenkeel/gcgate/g/queue/", clientv3.WithPrefix(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range answer.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys
}

func awaitQueued(t testing.TB, client *clientv3.Client, n int) {
	t.Helper()
	for end := time.Now().Add(turnsuite.Patience); len(queued(t, client)) != n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q wait, want %d", queued(t, client), n)
		}
	}
}

func acquire(t testing.TB, turns *etcdturn.Turns) gcgate.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnsuite.Patience)
	defer cancel()
	l, err := turns.Acquire(ctx)
	if err != nil {
		t.Errorf("Acquire: %v", err)
		return nil
	}
	return l
}

// TestHoldersWhileWaiting tests that Holders follows the turn.
func TestHoldersWhileWaiting(t *testing.T) {
	s := sharedServer(t)
	client := newClient(t, s)
	held := turnsuite.Take(t, newTurns(t, etcdturn.Options{Client: client, Holder: "first"}))
	second, third := newTurns(t, etcdturn.Options{Client: client, Holder: "second"}),
		newTurns(t, etcdturn.Options{Client: client})
	names := func(want string) {
		t.Helper()
		for end := time.Now().Add(turnsuite.Patience); third.Holders() != want; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the holder is %q, want %q", third.Holders(), want)
			}
		}
	}
	var waiting sync.WaitGroup
	released := make(chan struct{})
	waiting.Go(func() {
		if l := acquire(t, second); l != nil {
			<-released
			l.Release(t.Context())
		}
	})
	awaitQueued(t, client, 1)
	waiting.Go(func() {
		if l := acquire(t, third); l != nil {
			l.Release(t.Context())
		}
	})
	awaitQueued(t, client, 2)
	names("first")
	held.Release(t.Context())
	names("second")
	close(released)
	waiting.Wait()
}

// TestQueueOrder tests that replicas take turns in the order of their arrival.
func TestQueueOrder(t *testing.T) {
	s := sharedServer(t)
	client := newClient(t, s)
	held := turnsuite.Take(t, newTurns(t, etcdturn.Options{Client: client}))
	var mu sync.Mutex
	var went []int
	var running sync.WaitGroup
	for who := range 5 {
		turns := newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}})
		running.Go(func() {
			l := acquire(t, turns)
			if l == nil {
				return
			}
			mu.Lock()
			went = append(went, who)
			mu.Unlock()
			turnsuite.Release(t, l)
		})
		awaitQueued(t, client, who+1)
	}
	turnsuite.Release(t, held)
	running.Wait()
	if !slices.Equal(went, []int{0, 1, 2, 3, 4}) {
		t.Errorf("they went in the order %v", went)
	}
	awaitQueued(t, client, 0)
}

// TestQueueIsNotPassed tests that TryAcquire does not overtake the queue.
func TestQueueIsNotPassed(t *testing.T) {
	s := sharedServer(t)
	client := newClient(t, s)
	turns := newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}})
	const key = "/evenkeel/gcgate/g/queue/somebody"
	if _, err := client.Put(t.Context(), key, "somebody"); err != nil {
		t.Fatal(err)
	}
	if _, err := turnsuite.TryAcquire(turns); !errors.Is(err, gcgate.ErrHeld) ||
		!strings.Contains(err.Error(), "somebody") {
		t.Errorf("while somebody waits: %v, want ErrHeld that names it", err)
	}
	done := make(chan gcgate.Lease)
	go func() { done <- acquire(t, turns) }()
	awaitQueued(t, client, 2)
	if _, err := client.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	turnsuite.Release(t, <-done)
}

// TestQueueGivesUp tests that a place ends with its context, its Turns, and its lease.
func TestQueueGivesUp(t *testing.T) {
	s := sharedServer(t)
	client := newClient(t, s)
	held := turnsuite.Take(t, newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}}))
	turns := newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}, TTL: time.Minute})
	done := make(chan error)
	wait := func(ctx context.Context) {
		_, err := turns.Acquire(ctx)
		done <- err
	}
	ctx, cancel := context.WithCancel(t.Context())
	go wait(ctx)
	awaitQueued(t, client, 1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Acquire: %v, want canceled", err)
	}
	awaitQueued(t, client, 0)

	go wait(t.Context())
	awaitQueued(t, client, 1)
	lease, err := client.Get(t.Context(), queued(t, client)[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Revoke(t.Context(), clientv3.LeaseID(lease.Kvs[0].Lease)); err != nil {
		t.Fatal(err)
	}
	awaitQueued(t, client, 1)
	if err := turns.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "etcdturn: closed") {
		t.Errorf("Acquire during Close: %v, want an error that says so", err)
	}
	awaitQueued(t, client, 0)
	turnsuite.Release(t, held)
}
