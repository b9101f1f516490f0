//go:build unix

package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/gcgate/health"
	"evenkeel.dev/internal/testutil"
)

// startEnvoy runs Envoy with deploy/envoy/envoy.yaml before these replicas, or skips. edit may
// change the configuration.
func startEnvoy(t *testing.T, edit func(string) string, portA, portB string) *caller {
	t.Helper()
	bin := envoy(t)
	b, err := os.ReadFile("../deploy/envoy/envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	port := freeServerPort(t)
	text := string(b)
	for _, r := range [][2]string{
		{"port_value: 8000", "port_value: " + port},
		{"port_value: 8081", "port_value: " + portA},
		{"port_value: 8082", "port_value: " + portB},
		{"timeout: 1s\n      interval", "timeout: 20s\n      interval"}, // for a stall of the machine
	} {
		text = replace(t, text, r[0], r[1])
	}
	if edit != nil {
		text = edit(text)
	}
	path := filepath.Join(t.TempDir(), "envoy.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	startServer(t, "127.0.0.1:"+port, nil, bin, "-c", path, "--concurrency", "2", "--disable-hot-restart",
		"--log-level", "error")
	return newCaller(t, port)
}

func envoy(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"envoy", "../.bin/python/bin/envoy"} { // the second one is .ci/setup's
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("envoy is missing: neither in PATH nor installed from PyPI by .ci/setup")
	return ""
}

// slowly lets Envoy poll slowly.
func slowly(t *testing.T, text string) string {
	return replace(t, text, "interval: 0.010s # 0.500s where", "interval: 0.100s # 0.500s where")
}

// TestEnvoyDrains tests that nearly no request reaches a drained replica, that none fails, and that
// the replica gets its share after Ready.
func TestEnvoyDrains(t *testing.T) {
	s := &health.Handler{Fall: 1, Rise: 1}
	a, b := startReplica(t, "a", s), startReplica(t, "b", new(health.Handler))
	c := startEnvoy(t, nil, a.port, b.port)
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.load(t)
	for range 3 {
		if err := s.Drain(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		before := a.marked.Load()
		c.calls(t, 100, http.MethodGet)
		if n := a.marked.Load() - before; n > 8 { // Envoy's workers hear of it later than its main thread
			t.Errorf("%d of 100 requests reached the drained replica", n)
		}
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		before = a.marked.Load()
		c.calls(t, 100, http.MethodPost)
		if n := a.marked.Load() - before; n < 16 {
			t.Errorf("%d of 100 requests reached the replica that is back, want about half", n)
		}
	}
}

// TestEnvoyServesWhenAllAreOut tests Envoy's panic mode.
func TestEnvoyServesWhenAllAreOut(t *testing.T) {
	signals := [2]*health.Handler{{Fall: 1, Rise: 1}, {Fall: 1, Rise: 1}}
	a, b := startReplica(t, "a", signals[0]), startReplica(t, "b", signals[1])
	c := startEnvoy(t, nil, a.port, b.port)
	c.load(t)
	for _, s := range signals {
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Drain(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	c.calls(t, 100, http.MethodGet)
}

func TestEnvoyRunsNoPostTwice(t *testing.T) {
	a, b := startReplica(t, "a", new(health.Handler)), startReplica(t, "b", new(health.Handler))
	startEnvoy(t, nil, a.port, b.port).runsOnce(t, a, b)
}

// TestEnvoyKeepsItsHeaderToItself protects an Envoy before this one.
func TestEnvoyKeepsItsHeaderToItself(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			w.Header().Set("x-envoy-immediate-health-check-fail", "1")
		}
	}))
	defer s.Close()
	c := startEnvoy(t, nil, portOnly(s.URL), portOnly(s.URL))
	resp, err := c.client.Get(c.url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("x-envoy-immediate-health-check-fail") != "" {
		t.Errorf("the client got %s with %v", resp.Status, resp.Header)
	}
}

// TestEnvoyTwoAtOnce has two replicas collect at once, time and again. No request fails, and with
// the right settings nearly none overlaps a collection.
func TestEnvoyTwoAtOnce(t *testing.T) {
	envoy(t)
	t.Parallel()
	for _, c := range []struct {
		name      string
		inAnswers bool
		rounds    int
		edit      func(*testing.T, string) string
		followed  bool
		slow      bool // turns last for seconds
	}{
		{"polled", false, 20, func(_ *testing.T, text string) string { return text }, true, false},
		{"in answers", true, 10, slowly, true, false},
		{"without panic", false, 10, noPanic, true, false},
		{"its own defaults", false, 3, defaults, false, true},
		{"back after more polls than the gate was told", false, 3, slowlyBack, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.slow {
				testutil.Long(t, "each turn is held for seconds, until Envoy has put the replica back")
			}
			s := gatedSetup{
				Turns: filepath.Join(t.TempDir(), "turn"), AnnounceTimeout: wide, Mark: 50 * time.Millisecond,
				Health: &struct{ Fall, Rise int }{1, 1}, InAnswers: c.inAnswers,
			}
			a, b := s, s
			a.Name, b.Name = "a", "b"
			replicas := [2]*gated{startGated(t, a), startGated(t, b)}
			through := startEnvoy(t, func(text string) string { return c.edit(t, text) }, replicas[0].port,
				replicas[1].port)
			for _, g := range replicas {
				g.polled(t, 20) // until the pace is known
			}
			n := rounds(c.rounds)
			sent := together(t, through, n, replicas, nil)
			var met, ignored uint64
			var logs string
			for _, g := range replicas {
				now := g.stats(t)
				if met += now.Overlapped; now.Announced < uint64(n) {
					t.Errorf("%d of %d collections were announced", now.Announced, n)
				}
				ignored += now.IgnoredDrains
				_, log := g.Output()
				logs += log
				t.Logf("polled %d times; %d requests met a collection, %d drains were ignored", now.Polls,
					now.Overlapped, now.IgnoredDrains)
			}
			if met*20 > uint64(sent) {
				// on a busy machine Envoy's threads may hear of a drain too late
				t.Errorf("%d of %d requests met a collection", met, sent)
			}
			if warned := strings.Contains(logs, "requests keep coming") &&
				strings.Contains(logs, "update_merge_window"); warned != (ignored > 0) || !c.followed && !warned {
				t.Errorf("%d drains were ignored, and the log names update_merge_window: %v", ignored, warned)
			}
		})
	}
}

// noPanic has Envoy answer 503 if all replicas are out.
func noPanic(t *testing.T, text string) string {
	return replace(t, text, "healthy_panic_threshold: { value: 1 }", "healthy_panic_threshold: { value: 0 }")
}

func slowlyBack(t *testing.T, text string) string {
	text = replace(t, text, "      healthy_threshold: 1", "      healthy_threshold: 3")
	return replace(t, text, "      interval: 0.010s", "      interval: 0.200s")
}

// defaults keeps only the checks' interval.
func defaults(t *testing.T, text string) string {
	block := regexp.MustCompile(`(?m)^    common_lb_config:\n(      .*\n)+`)
	if !block.MatchString(text) {
		t.Fatal("the configuration has no common_lb_config")
	}
	return strings.Replace(text, block.FindString(text), "", 1)
}
