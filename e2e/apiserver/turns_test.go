//go:build linux

package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"evenkeel.dev/contrib/k8sturn"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/turnsuite"
)

// paths are where the manifest's objects go.
var paths = map[string]string{
	"ServiceAccount": "/api/v1/namespaces/default/serviceaccounts", "Service": "/api/v1/namespaces/default/services",
	"Role":        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
	"RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
	"Deployment":  "/apis/apps/v1/namespaces/default/deployments",
}

// TestAPIServer applies deploy/kubernetes/gate.yaml, and has replicas take turns with the rights of
// its service account.
func TestAPIServer(t *testing.T) {
	c := newCluster(t)
	text, err := os.ReadFile("../../deploy/kubernetes/gate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var kind struct{ Kind string }
		object, err := yaml.YAMLToJSON(doc)
		if err == nil {
			err = yaml.Unmarshal(doc, &kind)
		}
		if err != nil {
			t.Fatal(err)
		}
		c.call(t, http.MethodPost, paths[kind.Kind]+"?fieldValidation=Strict", object)
	}
	token := c.tokenOf(t, "msgpush")
	replica := func(t *testing.T, client *http.Client, o k8sturn.Options) *k8sturn.Turns {
		t.Helper()
		o.URL, o.Client = c.url, client
		turns, err := k8sturn.New(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = turns.Close() })
		return turns
	}

	t.Run("turns", func(t *testing.T) {
		for _, k := range []int{1, 2, 16} {
			group := 0
			turnsuite.Check(t, k, func(name string) gcgate.Turns {
				group++
				return replica(t, c.client(t, token),
					k8sturn.Options{
						Group: fmt.Sprint(name, "-", k), K: k, Holder: fmt.Sprint("pod-", group),
						Duration: time.Minute,
					})
			})
		}
	})

	t.Run("a Lease as kubectl shows it", func(t *testing.T) {
		turns := replica(t, c.client(t, token), k8sturn.Options{Group: "shown", Holder: "pod-a"})
		l := take(t, turns)
		list := c.call(t, http.MethodGet,
			"/apis/coordination.k8s.io/v1/namespaces/default/leases?labelSelector=evenkeel.dev%2Fgcgate-group%3Dshown",
			nil)
		items, _ := list["items"].([]any)
		if len(items) != 1 || !strings.Contains(fmt.Sprint(items[0]), "holderIdentity:pod-a_") {
			t.Errorf("the label finds %v", items)
		}
		release(t, l)
	})

	t.Run("a holder that is cut off", func(t *testing.T) {
		client := c.client(t, token)
		cut := &switched{RoundTripper: client.Transport}
		client.Transport = cut
		a := replica(t, client, k8sturn.Options{Group: "cut", Duration: time.Second})
		b := replica(t, c.client(t, token), k8sturn.Options{Group: "cut", Duration: time.Second})
		l := take(t, a)
		if _, err := b.TryAcquire(t.Context()); !errors.Is(err, gcgate.ErrHeld) {
			t.Fatalf("%v, want ErrHeld", err)
		}
		cut.off.Store(true)
		release(t, await(t, b))
		select {
		case <-l.Lost():
		case <-time.After(patience):
			t.Error("whose turn another has had was not told")
		}
	})

	t.Run("a server that is killed", func(t *testing.T) {
		a := replica(t, c.client(t, token), k8sturn.Options{Group: "killed", Duration: 5 * time.Minute})
		b := replica(t, c.client(t, token), k8sturn.Options{Group: "killed", Duration: 5 * time.Minute})
		l := take(t, a)
		if _, err := b.TryAcquire(t.Context()); !errors.Is(err, gcgate.ErrHeld) {
			t.Fatalf("%v, want ErrHeld", err)
		}
		c.server.Kill()
		c.up()
		release(t, l) // the turn outlived the server
		release(t, await(t, b))
	})

	t.Run("an account without the Role", func(t *testing.T) {
		c.call(t, http.MethodPost, paths["ServiceAccount"],
			[]byte(`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"nobody"}}`))
		turns := replica(t, c.client(t, c.tokenOf(t, "nobody")),
			k8sturn.Options{Group: "forbidden", Duration: 2 * time.Second})
		if _, err := turns.TryAcquire(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "give it get, create and patch of leases") {
			t.Errorf("%v", err)
		}
	})
}

// switched is a transport that fails when it is off, as in a partition.
type switched struct {
	http.RoundTripper
	off atomic.Bool
}

func (s *switched) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.off.Load() {
		return nil, errors.New("cut off")
	}
	return s.RoundTripper.RoundTrip(r)
}

func take(t *testing.T, turns gcgate.Turns) gcgate.Lease {
	t.Helper()
	l, err := turns.TryAcquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func await(t *testing.T, turns gcgate.Turns) gcgate.Lease {
	t.Helper()
	for until := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		l, err := turns.TryAcquire(t.Context())
		switch {
		case err == nil:
			return l
		case time.Now().After(until):
			t.Fatalf("no turn within %v: %v", patience, err)
		}
	}
}

func release(t *testing.T, l gcgate.Lease) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := l.Release(ctx); err != nil {
		t.Errorf("Release: %v", err)
	}
}
