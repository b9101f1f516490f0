//go:build linux

package gate

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/bench/harness"
)

// quick runs a case shortly and returns what it printed.
func quick(t *testing.T, c harness.Case, ways ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds programs and runs them")
	}
	var out strings.Builder
	h := &harness.Harness{Cases: []harness.Case{c}, Out: &out, Quick: true, Ways: ways}
	if err := h.Run(t.Context(), ""); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	return out.String()
}

// TestOriginal builds the way gci-go with packages that have the names of gci-go's and do nothing.
func TestOriginal(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"gccontrol/gccontrol.go": `package gccontrol

import "time"

type Interceptor struct{}

type ShedResponse struct {
	Unavailabity time.Duration
	ShouldShed   bool
}

func NewInterceptor() *Interceptor          { return &Interceptor{} }
func (i *Interceptor) Before() ShedResponse { return ShedResponse{} }
func (i *Interceptor) After(r ShedResponse) {}
`,
		"httphandler/handler.go": `package httphandler

import "net/http"

func GCI(next http.Handler) http.Handler { return next }
`,
	} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700),
			os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(sourceVariable, dir)
	if out := quick(t, helloGroup().build(), gcigo); !strings.Contains(out, "round 1: gci-go, hello  requests 45") {
		t.Error(out)
	}
	if out := quick(t, literalCase(), gcigo); !strings.Contains(out, "round 1: gci-go, 1 MB") {
		t.Error(out)
	}
	t.Setenv(sourceVariable, "")
	if out := quick(t, literalCase(), gcigo); !strings.Contains(out, "is left out: "+sourceVariable) {
		t.Error(out)
	}
}

// TestClaims: claims name ways and loads that there are.
func TestClaims(t *testing.T) {
	for _, c := range Cases() {
		ways, loads := map[string]bool{"": true}, map[string]bool{"": len(c.Loads) == 0}
		for _, way := range c.Ways {
			ways[way] = true
		}
		for _, load := range c.Loads {
			loads[load] = true
		}
		for _, claim := range c.Claims {
			named := ways[claim.Way] && ways[claim.Over] && ways[claim.Minus] && loads[claim.Load]
			if !named || c.Skip != nil && c.Skip(claim.Way, claim.Load) {
				t.Errorf("%s: %+v", c.Name, claim)
			}
		}
	}
}

// TestResends: what a balancer answers in the place of the service is asked again, and nothing
// else.
func TestResends(t *testing.T) {
	answers := []int{http.StatusServiceUnavailable, http.StatusOK, http.StatusNotFound}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		status := answers[0]
		answers = answers[1:]
		w.WriteHeader(status)
	}))
	defer server.Close()
	again := &resends{base: &http.Transport{}}
	defer again.base.CloseIdleConnections()
	for _, want := range []int{http.StatusOK, http.StatusNotFound} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := again.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s, want %d", resp.Status, want)
		}
	}
	if n := again.n.Load(); n != 1 {
		t.Errorf("%d were sent again, want 1", n)
	}
}

// TestWithin: a program runs in the group, and not its parent; the group goes.
func TestWithin(t *testing.T) {
	q, err := newQuotas(1)
	if err != nil {
		t.Skip(err)
	}
	argv := within(q[0], "cat", "/proc/self/cgroup")
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), filepath.Base(q[0])) {
		t.Errorf("%v\n%s", err, out)
	}
	if err := q.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(q[0]); !os.IsNotExist(err) {
		t.Errorf("the group stays: %v", err)
	}
}
