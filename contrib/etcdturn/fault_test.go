package etcdturn_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"evenkeel.dev/contrib/etcdturn"
)

// TestHolderDies kills a process that has the turn.
func TestHolderDies(t *testing.T) {
	s := sharedServer(t)
	for ttl := 5 * time.Second; !holderDies(t, s, ttl); ttl *= 2 {
		if t.Logf("the child lost a turn with a TTL of %v", ttl); ttl >= 40*time.Second {
			t.Fatal("no child kept its turn")
		}
	}
}

// holderDies reports whether a child had the turn until it was killed: one that stands still for two thirds of the TTL loses it.
func holderDies(t *testing.T, s *server, ttl time.Duration) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEndpoint+"="+s.addr, childTTL+"="+ttl.String())
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	said := bufio.NewReader(stdout)
	if line, err := said.ReadString('\n'); line != "held\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	lost := make(chan struct{})
	go func() {
		if line, _ := said.ReadString('\n'); line == "lost\n" {
			close(lost)
		}
	}()
	turns := newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}})
	client := newClient(t, s)
	for renewed, last := false, int64(0); !renewed; time.Sleep(100 * time.Millisecond) { // it is kept alive
		l, err := tryAcquire(turns)
		if err == nil {
			select {
			case <-lost:
			case <-time.After(eventTimeout):
				t.Fatal("two have the turn: the child did not say that it has lost it")
			}
			release(t, l)
			return false
		}
		left := timeToLive(t, client)
		renewed = left > last && last > 0
		last = left
	}
	cmd.Process.Kill()
	killed := time.Now()
	release(t, takeWithin(t, turns, ttl+eventTimeout))
	t.Logf("free %v after the kill, TTL %v", time.Since(killed).Round(time.Millisecond), ttl)
	return true
}

// timeToLive returns the seconds that the lease of the one holder has left; 0 or less: nobody holds the turn.
func timeToLive(t *testing.T, client *clientv3.Client) int64 {
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

// TestEtcdDies kills etcd while a turn is held, and starts it again.
func TestEtcdDies(t *testing.T) {
	s := newServer(t)
	turns := newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}, TTL: time.Second})
	l := take(t, turns)
	s.kill()
	wantLost(t, l)
	for range 2 {
		start := time.Now()
		wantNoAnswer(t, tryBriefly(t, turns))
		if took := time.Since(start); took > eventTimeout {
			t.Errorf("TryAcquire took %v beyond its deadline", took)
		}
	}
	if err := l.Release(t.Context()); err != nil { // there is nothing to release
		t.Errorf("Release of a lost turn: %v", err)
	}
	s.start(t)
	take(t, turns) // and no release, which has no longer for it than the TTL
}

// TestEtcdRestarts starts etcd again before the TTL is over: nothing is lost.
func TestEtcdRestarts(t *testing.T) {
	s := newServer(t)
	turns := newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}, TTL: time.Minute})
	l := take(t, turns)
	s.kill()
	s.start(t)
	wantHeld(t, newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}}))
	wantNotLost(t, l)
	release(t, l)
	release(t, take(t, turns))
}

// TestFirstKeepAliveIsLate: a turn is kept for its TTL, although the client gives a lease up of which it hears nothing in its first seconds.
func TestFirstKeepAliveIsLate(t *testing.T) {
	s := sharedServer(t)
	var deaf atomic.Bool
	deaf.Store(true)
	asked := make(chan struct{}, 1)
	config := etcdturn.ClientConfig(s.addr)
	config.DialTimeout = time.Millisecond // a second longer does the client wait
	config.DialOptions = append(config.DialOptions,
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
			if strings.HasSuffix(method, "/LeaseKeepAlive") && deaf.Load() {
				return nil, status.Error(codes.Unavailable, "a stall")
			}
			return open(ctx, desc, conn, method, o...)
		}),
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
			if strings.HasSuffix(method, "/LeaseTimeToLive") {
				select {
				case asked <- struct{}{}:
				default:
				}
			}
			return call(ctx, method, req, reply, conn, o...)
		}))
	far, err := clientv3.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	l := take(t, newTurns(t, etcdturn.Options{Client: far}))
	select {
	case <-asked: // the client has given up
	case <-l.Lost():
		t.Fatal("lost within the TTL")
	case <-time.After(eventTimeout):
		t.Fatal("the client did not give up")
	}
	deaf.Store(false)
	client := newClient(t, s)
	for last := timeToLive(t, client); ; time.Sleep(100 * time.Millisecond) {
		wantNotLost(t, l)
		left := timeToLive(t, client)
		if left > last {
			break
		}
		last = left
	}
	release(t, l)
}

// TestEtcdDiesForRelease releases while etcd is away; the lease outlives it there.
func TestEtcdDiesForRelease(t *testing.T) {
	s := newServer(t)
	turns := newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}, TTL: time.Minute})
	l := take(t, turns)
	s.kill()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	wantNoAnswer(t, l.Release(ctx))
	release(t, l) // idempotent
	s.start(t)
	release(t, take(t, turns)) // its own stale slot does not stop it
	wantNotLost(t, l)
}

// TestKeyChanged does what an operator might do to the keys, and to the lease.
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
			l := take(t, turns)
			wantNotLost(t, l)
			change()
			wantLost(t, l)
			release(t, l) // takes nothing away from anyone
			if name == "put" {
				wantHeld(t, turns)
				client.Delete(t.Context(), key)
			}
			release(t, take(t, turns))
		})
	}
}

// TestUnheard cuts the way to etcd in one direction while a turn is taken or released. The
// TTL is too long to be what frees the slot.
func TestUnheard(t *testing.T) {
	for _, tt := range []struct {
		name              string
		requests, answers bool
	}{
		{"request lost", true, false},
		{"answer lost", false, true},
	} {
		s := sharedServer(t)
		p := newProxy(t, s.addr)
		far := newTurns(t, etcdturn.Options{Endpoints: []string{p.addr}, TTL: time.Minute})
		near := newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}})
		try := func(do func(context.Context) error) {
			t.Helper()
			p.hold(tt.requests, tt.answers)
			wantNoAnswer(t, briefly(t, do))
			p.hold(false, false)
		}
		t.Run(tt.name+"/Release", func(t *testing.T) {
			try(take(t, far).Release)
			release(t, take(t, near)) // freed in the background
			release(t, take(t, far))
		})
		t.Run(tt.name+"/Release and take again", func(t *testing.T) {
			try(take(t, far).Release)
			release(t, take(t, far))
		})
		t.Run(tt.name+"/TryAcquire", func(t *testing.T) {
			try(func(ctx context.Context) error {
				_, err := far.TryAcquire(ctx)
				return err
			})
			release(t, take(t, near))
			release(t, take(t, far))
		})
	}
}

// TestLateRelease lets a Release through when the slot is somebody else's already.
func TestLateRelease(t *testing.T) {
	s := sharedServer(t)
	p := newProxy(t, s.addr)
	far := newTurns(t, etcdturn.Options{Endpoints: []string{p.addr}})
	near := newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}})
	client := newClient(t, s)
	l := take(t, far)
	p.hold(true, false)
	released := make(chan error)
	go func() { released <- l.Release(t.Context()) }()
	p.awaitHeld(t)
	revokeAll(t, client)
	next := take(t, near)
	p.hold(false, false)
	if err := <-released; err != nil {
		t.Errorf("Release: %v", err)
	}
	wantHeld(t, far)
	wantNotLost(t, next)
	release(t, next)
}
