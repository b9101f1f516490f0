package etcdturn_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"evenkeel.dev/contrib/etcdturn"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/turnsuite"
)

// queued returns the keys of those who wait, in order.
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

// awaitQueued waits until so many wait.
func awaitQueued(t testing.TB, client *clientv3.Client, n int) {
	t.Helper()
	for end := time.Now().Add(turnsuite.Patience); len(queued(t, client)) != n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q wait, want %d", queued(t, client), n)
		}
	}
}

// acquire is Acquire within turnsuite.Patience.
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

// TestHoldersWhileWaiting names who has the turn, also once that is another one.
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

// TestQueueOrder has some wait one after the other, of whom capital letters go last.
func TestQueueOrder(t *testing.T) {
	s := sharedServer(t)
	client := newClient(t, s)
	for _, tt := range []struct{ come, want string }{{"abcde", "abcde"}, {"LaMb", "abLM"}} {
		t.Run(tt.come, func(t *testing.T) {
			held := turnsuite.Take(t, newTurns(t, etcdturn.Options{Client: client}))
			var mu sync.Mutex
			var went []byte
			var running sync.WaitGroup
			for i := range len(tt.come) {
				who := tt.come[i]
				turns := newTurns(t,
					etcdturn.Options{
						Endpoints: []string{s.addr}, TTL: time.Minute,
						Last: func() bool { return who < 'a' },
					})
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
				awaitQueued(t, client, i+1)
			}
			turnsuite.Release(t, held)
			running.Wait()
			if string(went) != tt.want {
				t.Errorf("%s came, %s went, want %s", tt.come, went, tt.want)
			}
			awaitQueued(t, client, 0)
		})
	}
}

// TestQueueIsNotPassed: TryAcquire takes nothing from those who wait, though a slot is free.
func TestQueueIsNotPassed(t *testing.T) {
	s := sharedServer(t)
	client := newClient(t, s)
	turns := newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}})
	const key = "/evenkeel/gcgate/g/queue/0/somebody"
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

// TestQueueGivesUp: a place is gone when its context has ended, when its Turns are closed, and when
// its process is dead.
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
	if _, err := client.Revoke(t.Context(), clientv3.LeaseID(lease.Kvs[0].Lease)); err != nil { // as after its TTL
		t.Fatal(err)
	}
	awaitQueued(t, client, 1) // it has come again, by itself
	if err := turns.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, etcdturn.ErrClosed) {
		t.Errorf("Acquire during Close: %v, want ErrClosed", err)
	}
	awaitQueued(t, client, 0)
	turnsuite.Release(t, held)
}
