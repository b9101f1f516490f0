package etcdturn_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"evenkeel.dev/contrib/etcdturn"
	"evenkeel.dev/internal/turnsuite"
)

// timeToLive returns the seconds that the holder's lease has left. 0 or less: no holder.
func timeToLive(t testing.TB, client *clientv3.Client) int64 {
	t.Helper()
	keys, err := client.Get(t.Context(), "/evenkeel/gcgate/g/0")
	if err != nil {
		t.Fatal(err)
	}
	if len(keys.Kvs) == 0 {
		return 0
	}
	lease, err := client.TimeToLive(t.Context(), clientv3.LeaseID(keys.Kvs[0].Lease))
	if err != nil {
		t.Fatal(err)
	}
	return lease.TTL
}

// TestFirstKeepAliveIsLate tests that a turn lasts for its TTL. The client gives a lease up if its
// first answer is late.
func TestFirstKeepAliveIsLate(t *testing.T) {
	s := sharedServer(t)
	var deaf atomic.Bool
	deaf.Store(true)
	config := etcdturn.ClientConfig(s.addr)
	config.DialTimeout = time.Millisecond // the client waits a second longer before it gives up
	config.DialOptions = append(config.DialOptions,
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn,
			method string, open grpc.Streamer, o ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			if strings.HasSuffix(method, "/LeaseKeepAlive") && deaf.Load() {
				return nil, status.Error(codes.Unavailable, "a stall")
			}
			return open(ctx, desc, conn, method, o...)
		}))
	far, err := clientv3.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	l := turnsuite.Take(t, newTurns(t, etcdturn.Options{Client: far}))
	select {
	case <-l.Lost():
		t.Fatal("lost within the TTL")
	case <-time.After(2 * time.Second):
	}
	deaf.Store(false)
	client := newClient(t, s)
	for last := timeToLive(t, client); ; time.Sleep(100 * time.Millisecond) {
		turnsuite.WantNotLost(t, l)
		left := timeToLive(t, client)
		if left > last {
			break
		}
		last = left
	}
	turnsuite.Release(t, l)
}

// TestKeyChanged does what an operator might do.
func TestKeyChanged(t *testing.T) {
	s := sharedServer(t)
	client := newClient(t, s)
	turns := newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}, TTL: time.Minute})
	const key = "/evenkeel/gcgate/g/0"
	for name, change := range map[string]func(){
		"delete": func() { client.Delete(t.Context(), key) },
		"put":    func() { client.Put(t.Context(), key, "operator") },
		"revoke": func() { revokeAll(t, client) },
	} {
		t.Run(name, func(t *testing.T) {
			l := turnsuite.Take(t, turns)
			turnsuite.WantNotLost(t, l)
			change()
			turnsuite.WantLost(t, l)
			turnsuite.Release(t, l)
			if name == "put" {
				turnsuite.WantHeld(t, turns)
				client.Delete(t.Context(), key)
			}
			turnsuite.Release(t, turnsuite.Take(t, turns))
		})
	}
}

// TestLateRelease has a Release arrive when another replica has the slot.
func TestLateRelease(t *testing.T) {
	s := sharedServer(t)
	p := newProxy(t, s.addr)
	far := newTurns(t, etcdturn.Options{Endpoints: []string{p.addr}})
	near := newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}})
	client := newClient(t, s)
	l := turnsuite.Take(t, far)
	p.hold(true, false)
	released := make(chan error)
	go func() { released <- l.Release(t.Context()) }()
	p.awaitHeld(t)
	revokeAll(t, client)
	next := turnsuite.Take(t, near)
	p.hold(false, false)
	if err := <-released; err != nil {
		t.Errorf("Release: %v", err)
	}
	turnsuite.WantHeld(t, far)
	turnsuite.WantNotLost(t, next)
	turnsuite.Release(t, next)
}
