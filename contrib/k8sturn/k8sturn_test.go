package k8sturn_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
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
	synctest.Test(t, func(t *testing.T) {
		s := serverWithoutNet()
		client := &http.Client{Transport: &transport{s: s}}
		o := k8sturn.Options{Client: client, Duration: 5 * time.Minute} // without a renewal
		turns, waits := newTurns(t, s, o), newTurns(t, s, o)
		turnsuite.Release(t, turnsuite.Take(t, turns))
		want := func(what string, gets, patches int, do func()) {
			t.Helper()
			g, p := s.count(http.MethodGet), s.count(http.MethodPatch)
			do()
			if g, p = s.count(http.MethodGet)-g, s.count(http.MethodPatch)-p; g != gets || p != patches {
				t.Errorf("%s: %d reads and %d writes, want %d and %d", what, g, p, gets, patches)
			}
		}
		var l gcgate.Lease
		want("TryAcquire", 1, 1, func() { l = turnsuite.Take(t, turns) })
		want("a wait of a second", 5, 0, func() {
			for range 100 {
				turnsuite.WantHeld(t, waits)
				time.Sleep(10 * time.Millisecond)
			}
		})
		want("Release", 0, 1, func() { turnsuite.Release(t, l) })
	})
}

// TestForbidden tests the advice.
func TestForbidden(t *testing.T) {
	turns := newTurns(t, newServer(t), k8sturn.Options{Namespace: "another"})
	_, err := turns.TryAcquire(t.Context())
	for _, err := range []error{err, turns.Check(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "get, create and patch") {
			t.Errorf("error %v, want one that names the rights", err)
		}
	}
}
