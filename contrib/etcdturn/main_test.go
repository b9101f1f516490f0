package etcdturn_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evenkeel.dev/contrib/etcdturn"
	"evenkeel.dev/gcgate"
)

// childEndpoint makes this binary a holder of the turn that lives until it is killed.
const childEndpoint = "ETCDTURN_TEST_CHILD"

// holderTTL is its TTL: the child may stall for two thirds of it.
const holderTTL = 5 * time.Second

// verifyNoLeak waits until no goroutine is left but those that ignore names: goleak alone waits
// for a second or so.
func verifyNoLeak(t testing.TB, ignore goleak.Option) {
	t.Helper()
	err := goleak.Find(ignore)
	for n := 0; err != nil && n < 20; n++ {
		err = goleak.Find(ignore)
	}
	if err != nil {
		t.Error(err)
	}
}

// verifyNoneOfOurs waits until no goroutine runs a method of this package, or was started by one.
func verifyNoneOfOurs(t testing.TB) {
	t.Helper()
	const ours = "evenkeel.dev/contrib/etcdturn.("
	stacks := make([]byte, 1<<20)
	for range 600 {
		text := string(stacks[:runtime.Stack(stacks, true)])
		if !strings.Contains(text, ours) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("goroutines of etcdturn are left:\n%s", stacks[:runtime.Stack(stacks, true)])
}

func TestMain(m *testing.M) {
	if endpoint := os.Getenv(childEndpoint); endpoint != "" {
		holdForever(endpoint)
	}
	goleak.VerifyTestMain(tests{m})
}

func holdForever(endpoint string) {
	turns, err := etcdturn.New(etcdturn.Options{Endpoints: []string{endpoint}, Group: "g", TTL: holderTTL})
	if err == nil {
		_, err = turns.TryAcquire(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin) // ends with the parent, if that dies first
	os.Exit(1)
}

var quiet = slog.New(slog.DiscardHandler)

// newTurns returns Turns in group g that are closed when the test ends.
func newTurns(t testing.TB, o etcdturn.Options) *etcdturn.Turns {
	t.Helper()
	if o.Group == "" {
		o.Group = "g"
	}
	o.Logger = quiet
	turns, err := etcdturn.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { turns.Close() })
	return turns
}

// tryAcquire gives etcd as long as Options.TTL does.
func tryAcquire(turns *etcdturn.Turns) (gcgate.Lease, error) {
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	return turns.TryAcquire(ctx)
}

// take takes the turn, at once or else soon, and fails the test if that takes too long.
func take(t testing.TB, turns *etcdturn.Turns) gcgate.Lease {
	t.Helper()
	for end := time.Now().Add(eventTimeout); ; time.Sleep(20 * time.Millisecond) {
		l, err := tryAcquire(turns)
		if err == nil {
			return l
		}
		if time.Now().After(end) {
			t.Fatalf("no turn after %v: %v", eventTimeout, err)
		}
	}
}

func release(t testing.TB, l gcgate.Lease) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	if err := l.Release(ctx); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

func wantHeld(t testing.TB, turns *etcdturn.Turns) {
	t.Helper()
	if _, err := tryAcquire(turns); !errors.Is(err, gcgate.ErrHeld) {
		t.Fatalf("TryAcquire: %v, want ErrHeld", err)
	}
}

func wantLost(t testing.TB, l gcgate.Lease) {
	t.Helper()
	select {
	case <-l.Lost():
	case <-time.After(eventTimeout):
		t.Fatalf("not lost after %v", eventTimeout)
	}
}

func wantNotLost(t testing.TB, l gcgate.Lease) {
	t.Helper()
	select {
	case <-l.Lost():
		t.Fatal("lost")
	default:
	}
}

func wantNoAnswer(t testing.TB, err error) {
	t.Helper()
	if err == nil || errors.Is(err, gcgate.ErrHeld) || !strings.Contains(err.Error(), "no answer from etcd") {
		t.Fatalf("error %v, want no answer", err)
	}
}
