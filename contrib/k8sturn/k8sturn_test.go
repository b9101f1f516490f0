package k8sturn_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/contrib/k8sturn"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/turntest"
	"evenkeel.dev/internal/leaks"
)

func TestOptions(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	client := &http.Client{}
	const url = "https://127.0.0.1:6443"
	for _, tt := range []struct {
		field string
		o     k8sturn.Options
	}{
		{"URL", k8sturn.Options{}},
		{"Client", k8sturn.Options{URL: url}},
		{"Client", k8sturn.Options{Client: client}},
		{"URL", k8sturn.Options{URL: "127.0.0.1", Client: client}},
		{"Group", k8sturn.Options{URL: url, Client: client, Group: "a/b"}},
		{"Group", k8sturn.Options{URL: url, Client: client, Group: "A"}},
		{"Group", k8sturn.Options{URL: url, Client: client, Group: strings.Repeat("a", 64)}}, // a label's value has 63
		{"Group", k8sturn.Options{URL: url, Client: client, Group: "a..b"}},
		{"Group", k8sturn.Options{URL: url, Client: client, Group: "a.-b"}},
		{"K", k8sturn.Options{URL: url, Client: client, K: -1}},
		{"K", k8sturn.Options{URL: url, Client: client, K: 17}},
		{"Holder", k8sturn.Options{URL: url, Client: client, Holder: strings.Repeat("a", 256)}},
		{"Duration", k8sturn.Options{URL: url, Client: client, Duration: -1}},
		{"Duration", k8sturn.Options{URL: url, Client: client, Duration: time.Hour}},
	} {
		if tt.o.Group == "" {
			tt.o.Group = "g"
		}
		var oe *k8sturn.OptionError
		if _, err := k8sturn.New(tt.o); !errors.As(err, &oe) || oe.Option != tt.field {
			t.Errorf("%+v: error %v, want one about %s", tt.o, err, tt.field)
		}
	}
}

// TestNobodyThere needs no server: nothing listens where it looks.
func TestNobodyThere(t *testing.T) {
	turns := newTurns(t, &server{url: "http://127.0.0.1:1"}, k8sturn.Options{})
	wantNoAnswer(t, tryBriefly(t, turns))
	wantNoAnswer(t, turns.Check(t.Context()))
	done := make(chan error)
	go func() { // Close ends a TryAcquire that waits
		_, err := turns.TryAcquire(context.Background())
		done <- err
	}()
	if err := turns.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-done; !errors.Is(err, k8sturn.ErrClosed) {
		t.Errorf("TryAcquire during Close: %v, want ErrClosed", err)
	}
	if _, err := turns.TryAcquire(t.Context()); !errors.Is(err, k8sturn.ErrClosed) {
		t.Errorf("TryAcquire after Close: %v, want ErrClosed", err)
	}
	if err := turns.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// TestTurns runs the suite of all Turns.
func TestTurns(t *testing.T) {
	s := newServer(t)
	for _, k := range []int{1, 2} {
		if err := turntest.Check(t.Context(), k, func(group string) (gcgate.Turns, error) {
			return newTurns(t, s, k8sturn.Options{Group: fmt.Sprint(group, k), K: k, Duration: time.Minute}), nil
		}); err != nil {
			t.Error(err)
		}
	}
}

// TestLease: the Lease says who has the turn, and so does the error.
// TestCheck finds an API server that has no Lease of the group yet.
func TestCheck(t *testing.T) {
	if err := newTurns(t, newServer(t), k8sturn.Options{}).Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestLease(t *testing.T) {
	s := newServer(t)
	a, b := newTurns(t, s, k8sturn.Options{Holder: "replica a"}), newTurns(t, s, k8sturn.Options{})
	l := take(t, a)
	wantHeld(t, a)
	if _, err := tryAcquire(b); !errors.Is(err, gcgate.ErrHeld) || !strings.Contains(err.Error(), "replica a") {
		t.Errorf("TryAcquire: %v, want ErrHeld that names the holder", err)
	}
	if spec := s.spec(lease0); spec["leaseDurationSeconds"] != 10. || spec["acquireTime"] == nil || spec["renewTime"] == nil {
		t.Errorf("the Lease says %v", spec)
	}
	release(t, l)
	release(t, l) // idempotent
	if spec := s.spec(lease0); spec["holderIdentity"] != nil {
		t.Errorf("a Lease that was released says %v", spec)
	}
}

func TestManySlots(t *testing.T) {
	s := newServer(t)
	const k = 16
	for range k {
		take(t, newTurns(t, s, k8sturn.Options{K: k}))
	}
	wantHeld(t, newTurns(t, s, k8sturn.Options{K: k}))
}

// TestRoundTrips counts the requests of a turn, and of waiting for one.
func TestRoundTrips(t *testing.T) {
	s := newServer(t)
	o := k8sturn.Options{Duration: 5 * time.Minute} // a renewal would be a request more
	turns, waits := newTurns(t, s, o), newTurns(t, s, o)
	release(t, take(t, turns))
	release(t, take(t, waits))
	requests := func() (n int) {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch} {
			n += s.count(method)
		}
		return n
	}
	// What the other one did has to arrive first, else the first attempt is refused.
	l := take(t, turns)
	release(t, l)
	before := requests()
	l = take(t, turns)
	if n := requests() - before; n != 1 {
		t.Errorf("TryAcquire took %d requests, want 1", n)
	}
	before = requests()
	for waited := 0; waited < 100; waited++ {
		if _, err := tryAcquire(waits); !errors.Is(err, gcgate.ErrHeld) {
			t.Fatalf("TryAcquire: %v, want ErrHeld", err)
		} else if strings.Contains(err.Error(), "meanwhile") { // it has heard of the release, and not yet of the holder since
			waited, before = 0, requests()
		}
	}
	if n := requests() - before; n != 0 {
		t.Errorf("waiting took %d requests, want none", n)
	}
	before = requests()
	release(t, l)
	if n := requests() - before; n != 1 {
		t.Errorf("Release took %d requests, want 1", n)
	}
}

// TestForbidden says what to do, once the server has refused: TryAcquire waits for rights as it does for the server.
func TestForbidden(t *testing.T) {
	turns := newTurns(t, newServer(t), k8sturn.Options{Namespace: "another"})
	if err := turns.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "watch, create and patch") {
		t.Errorf("Check: %v, want an error that names the rights", err)
	}
	for end := time.Now().Add(eventTimeout); ; {
		err := tryBriefly(t, turns)
		if err != nil && strings.Contains(err.Error(), "watch, create and patch") {
			return
		}
		if err == nil || time.Now().After(end) {
			t.Fatalf("error %v, want one that names the rights", err)
		}
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	s := newServer(t)
	for range 3 {
		t.Run("", func(t *testing.T) {
			leaks.Test(t)
			client := &http.Client{Transport: &http.Transport{}}
			turns, err := k8sturn.New(k8sturn.Options{URL: s.url, Client: client, Group: "g", Duration: time.Minute, Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			l := take(t, turns) // at once: the one before was released
			if err := turns.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			wantLost(t, l)
			if err := l.Release(t.Context()); err != nil {
				t.Errorf("Release after Close: %v", err)
			}
			if spec := s.spec("gcgate-g-0"); spec["holderIdentity"] != nil {
				t.Errorf("after Close the Lease says %v", spec)
			}
			client.CloseIdleConnections()
			s.http.CloseClientConnections()
		})
	}
}
