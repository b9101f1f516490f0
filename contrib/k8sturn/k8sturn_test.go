package k8sturn_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/contrib/k8sturn"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/turnsuite"
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
		{"Group", k8sturn.Options{URL: url, Client: client, Group: strings.Repeat("a", 64)}},
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
		var oe *evenkeel.OptionError
		if _, err := k8sturn.New(tt.o); !errors.As(err, &oe) || oe.Option != tt.field {
			t.Errorf("%+v: error %v, want one about %s", tt.o, err, tt.field)
		}
	}
}

// TestLease tests what the Lease has during and after the turn.
func TestLease(t *testing.T) {
	s := newServer(t)
	l := turnsuite.Take(t, newTurns(t, s, k8sturn.Options{}))
	if spec := s.spec(lease0); spec["leaseDurationSeconds"] != 10. || spec["acquireTime"] == nil ||
		spec["renewTime"] == nil {
		t.Errorf("the Lease says %v", spec)
	}
	turnsuite.Release(t, l)
	if spec := s.spec(lease0); spec["holderIdentity"] != nil {
		t.Errorf("the Lease of a turn that was released says %v", spec)
	}
}

// TestRoundTrips counts the requests of a turn, and of a wait for one.
func TestRoundTrips(t *testing.T) {
	s := newServer(t)
	o := k8sturn.Options{Duration: 5 * time.Minute} // without a renewal
	turns, waits := newTurns(t, s, o), newTurns(t, s, o)
	turnsuite.Release(t, turnsuite.Take(t, turns))
	turnsuite.Release(t, turnsuite.Take(t, waits))
	requests := func() (n int) {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch} {
			n += s.count(method)
		}
		return n
	}
	// What the other one did must arrive first, or the first attempt is refused.
	l := turnsuite.Take(t, turns)
	turnsuite.Release(t, l)
	before := requests()
	l = turnsuite.Take(t, turns)
	if n := requests() - before; n != 1 {
		t.Errorf("TryAcquire took %d requests, want 1", n)
	}
	before = requests()
	for waited := 0; waited < 100; waited++ {
		if _, err := turnsuite.TryAcquire(waits); !errors.Is(err, gcgate.ErrHeld) {
			t.Fatalf("TryAcquire: %v, want ErrHeld", err)
		} else if strings.Contains(err.Error(), "which was faster") {
			// It has heard of the release, but not of the next holder.
			waited, before = 0, requests()
		}
	}
	if n := requests() - before; n != 0 {
		t.Errorf("waiting took %d requests, want none", n)
	}
	before = requests()
	turnsuite.Release(t, l)
	if n := requests() - before; n != 1 {
		t.Errorf("Release took %d requests, want 1", n)
	}
}

// TestForbidden tests the advice. TryAcquire waits for rights as it does for the server.
func TestForbidden(t *testing.T) {
	turns := newTurns(t, newServer(t), k8sturn.Options{Namespace: "another"})
	if err := turns.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "watch, create and patch") {
		t.Errorf("Check: %v, want an error that names the rights", err)
	}
	for end := time.Now().Add(turnsuite.Patience); ; {
		err := turnsuite.TryBriefly(t, turns)
		if err != nil && strings.Contains(err.Error(), "watch, create and patch") {
			return
		}
		if err == nil || time.Now().After(end) {
			t.Fatalf("error %v, want one that names the rights", err)
		}
	}
}
