package etcdturn_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"evenkeel.dev/contrib/etcdturn"
)

// TestHolderDies kills a process that has the turn.
func TestHolderDies(t *testing.T) {
	s := sharedServer(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEndpoint+"="+s.addr)
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
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "held\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	turns := newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}})
	client := newClient(t, s)
	for renewed, last := false, int64(0); !renewed; time.Sleep(100 * time.Millisecond) { // it is kept alive
		wantHeld(t, turns)
		left := timeToLive(t, client)
		if left > last && last != 0 {
			renewed = true
		}
		last = left
	}
	cmd.Process.Kill()
	killed := time.Now()
	release(t, take(t, turns))
	t.Logf("free %v after the kill, TTL %v", time.Since(killed).Round(time.Millisecond), holderTTL)
}

// timeToLive returns the seconds that the lease of the one holder has left.
func timeToLive(t *testing.T, client *clientv3.Client) int64 {
	t.Helper()
	keys, err := client.Get(t.Context(), "/evenkeel/gcgate/g/0")
	if err != nil || len(keys.Kvs) != 1 {
		t.Fatalf("who holds the turn: %v, %v", keys, err)
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
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		start := time.Now()
		_, err := turns.TryAcquire(ctx)
		cancel()
		wantNoAnswer(t, err)
		if took := time.Since(start); took > eventTimeout {
			t.Errorf("TryAcquire took %v beyond its deadline", took)
		}
	}
	if err := l.Release(t.Context()); err != nil { // there is nothing to release
		t.Errorf("Release of a lost turn: %v", err)
	}
	s.start(t)
	release(t, take(t, turns))
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
		"revoke": func() {
			leases, _ := client.Leases(t.Context())
			for _, l := range leases.Leases {
				client.Revoke(t.Context(), l.ID)
			}
		},
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
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			wantNoAnswer(t, do(ctx))
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
	far := newTurns(t, etcdturn.Options{Endpoints: []string{p.addr}, TTL: time.Second})
	near := newTurns(t, etcdturn.Options{Endpoints: []string{s.addr}})
	l := take(t, far)
	p.hold(true, false)
	released := make(chan error)
	go func() { released <- l.Release(t.Context()) }()
	next := take(t, near) // the TTL freed it
	p.hold(false, false)
	<-released
	wantHeld(t, far)
	wantNotLost(t, next)
	release(t, next)
}
