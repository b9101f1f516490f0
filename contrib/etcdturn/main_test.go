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
	"evenkeel.dev/internal/leaks"
)

// childEndpoint makes this binary a holder of the turn that lives until it is killed.
const childEndpoint = "ETCDTURN_TEST_CHILD"

// childTTL says its TTL.
const childTTL = "ETCDTURN_TEST_TTL"

func verifyNoLeak(t testing.TB, ignore goleak.Option) {
	t.Helper()
	if err := leaks.Goroutines(ignore); err != nil {
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
	code := runTests(m)
	if code == 0 {
		if err := leaks.Goroutines(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines left:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// holdForever says when it has the turn, and when it has lost it.
func holdForever(endpoint string) {
	ttl, err := time.ParseDuration(os.Getenv(childTTL))
	var turns *etcdturn.Turns
	if err == nil {
		turns, err = etcdturn.New(etcdturn.Options{Endpoints: []string{endpoint}, Group: "g", TTL: ttl})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	go func() {
		end := time.Now().Add(eventTimeout + ttl)
		l, err := turns.TryAcquire(context.Background())
		for err != nil && time.Now().Before(end) { // a busy machine may be too slow for the TTL
			time.Sleep(20 * time.Millisecond)
			l, err = turns.TryAcquire(context.Background())
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("held")
		<-l.Lost()
		fmt.Println("lost")
	}()
	io.Copy(io.Discard, os.Stdin) // ends with the parent, if that dies first
	os.Exit(1)
}

var quiet = slog.New(slog.DiscardHandler)

// newTurns returns Turns in group g that are closed when the test ends. Their TTL is so long that no stall of a busy machine
// ends a turn, unless o has another.
func newTurns(t testing.TB, o etcdturn.Options) *etcdturn.Turns {
	t.Helper()
	if o.TTL == 0 {
		o.TTL = time.Minute
	}
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

// briefly has do wait for an answer until its context ends, and returns its error. What a busy machine had no time to begin did nothing,
// and gets more time.
func briefly(t testing.TB, do func(context.Context) error) error {
	t.Helper()
	for limit := 300 * time.Millisecond; ; limit *= 4 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err := do(ctx)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "not asked") || limit > eventTimeout {
			return err
		}
	}
}

func tryBriefly(t testing.TB, turns *etcdturn.Turns) error {
	t.Helper()
	return briefly(t, func(ctx context.Context) error {
		_, err := turns.TryAcquire(ctx)
		return err
	})
}

// take takes the turn, at once or else soon, and fails the test if that takes too long.
func take(t testing.TB, turns *etcdturn.Turns) gcgate.Lease {
	t.Helper()
	return takeWithin(t, turns, eventTimeout)
}

func takeWithin(t testing.TB, turns *etcdturn.Turns, bound time.Duration) gcgate.Lease {
	t.Helper()
	for end := time.Now().Add(bound); ; time.Sleep(20 * time.Millisecond) {
		l, err := tryAcquire(turns)
		if err == nil {
			return l
		}
		if time.Now().After(end) {
			t.Fatalf("no turn after %v: %v", bound, err)
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

// wantHeld asks again where a busy machine was too slow for an answer within the TTL.
func wantHeld(t testing.TB, turns *etcdturn.Turns) {
	t.Helper()
	for end := time.Now().Add(eventTimeout); ; time.Sleep(20 * time.Millisecond) {
		_, err := tryAcquire(turns)
		if errors.Is(err, gcgate.ErrHeld) {
			return
		}
		if err == nil || time.Now().After(end) {
			t.Fatalf("TryAcquire: %v, want ErrHeld", err)
		}
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
