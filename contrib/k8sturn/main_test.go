package k8sturn_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/contrib/k8sturn"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/leaks"
)

// eventTimeout bounds what only a hang meets.
const eventTimeout = 30 * time.Second

// childURL makes this binary a holder of the turn that lives until it is killed.
const childURL = "K8STURN_TEST_CHILD"

// childDuration says its Duration.
const childDuration = "K8STURN_TEST_DURATION"

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		holdForever(url)
	}
	leaks.Main(m)
}

// holdForever says when it has the turn, and when it has lost it.
func holdForever(url string) {
	duration, err := time.ParseDuration(os.Getenv(childDuration))
	var turns *k8sturn.Turns
	if err == nil {
		turns, err = k8sturn.New(k8sturn.Options{URL: url, Client: &http.Client{}, Group: "g", Duration: duration})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	go func() {
		end := time.Now().Add(eventTimeout + duration)
		l, err := turns.TryAcquire(context.Background())
		for err != nil && time.Now().Before(end) { // a busy machine may be too slow for the Duration
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

// newTurns returns Turns in group g that are closed when the test ends.
func newTurns(t testing.TB, s *server, o k8sturn.Options) *k8sturn.Turns {
	t.Helper()
	if o.Group == "" {
		o.Group = "g"
	}
	if o.Client == nil {
		o.Client = &http.Client{Transport: &http.Transport{}}
	}
	if o.Logger == nil {
		o.Logger = quiet
	}
	o.URL = s.url
	turns, err := k8sturn.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		turns.Close()
		o.Client.CloseIdleConnections()
	})
	return turns
}

func tryAcquire(turns *k8sturn.Turns) (gcgate.Lease, error) {
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

func tryBriefly(t testing.TB, turns *k8sturn.Turns) error {
	t.Helper()
	return briefly(t, func(ctx context.Context) error {
		_, err := turns.TryAcquire(ctx)
		return err
	})
}

// take takes the turn, at once or else soon, and fails the test if that takes too long.
func take(t testing.TB, turns *k8sturn.Turns) gcgate.Lease {
	t.Helper()
	return takeWithin(t, turns, eventTimeout)
}

func takeWithin(t testing.TB, turns *k8sturn.Turns, bound time.Duration) gcgate.Lease {
	t.Helper()
	for end := time.Now().Add(bound); ; time.Sleep(10 * time.Millisecond) {
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

// wantHeld asks again where a busy machine was too slow for an answer within the Duration.
func wantHeld(t testing.TB, turns *k8sturn.Turns) {
	t.Helper()
	for end := time.Now().Add(eventTimeout); ; time.Sleep(10 * time.Millisecond) {
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
	if err == nil || errors.Is(err, gcgate.ErrHeld) || !strings.Contains(err.Error(), "no answer from the API server") {
		t.Fatalf("error %v, want no answer", err)
	}
}
