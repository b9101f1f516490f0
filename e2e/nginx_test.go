//go:build unix

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/examples/child"
	"evenkeel.dev/internal/testutil"
)

// startNginx uses deploy/nginx/nginx.conf.
func startNginx(t *testing.T, a, b *replica) *caller {
	t.Helper()
	bin := server(t, "nginx")
	text, err := os.ReadFile("../deploy/nginx/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	dir, port := t.TempDir(), freeServerPort(t)
	http := "http {\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		http += kind + "_temp_path " + filepath.Join(dir, kind) + ";\n"
	}
	conf := string(text)
	for _, r := range [][2]string{
		{"http {\n", http},
		{"127.0.0.1:8000", "127.0.0.1:" + port},
		{"127.0.0.1:8081", "127.0.0.1:" + a.port},
		{"127.0.0.1:8082", "127.0.0.1:" + b.port},
	} {
		if !strings.Contains(conf, r[0]) {
			t.Fatalf("nginx.conf has no %q", r[0])
		}
		conf = strings.ReplaceAll(conf, r[0], r[1])
	}
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	os.Chmod(dir, 0o755) // for workers of another user
	startServer(t, "127.0.0.1:"+port, nil, bin,
		"-p", dir, "-c", path, "-e", "stderr", "-g", "daemon off; pid "+filepath.Join(dir, "pid")+";")
	return newCaller(t, port)
}

func TestNginxRetriesWhatAReplicaRefuses(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			a, b := startReplica(t, "a", nil), startReplica(t, "b", nil)
			c := startNginx(t, a, b)
			for range 2 { // a refuses, then b does
				a.refuse.Store(true)
				ranA, ranB := a.ran.Load(), b.ran.Load()
				c.calls(t, 100, method)
				if x, y := a.ran.Load()-ranA, b.ran.Load()-ranB; x != 0 || y != 100 {
					t.Errorf("of 100 requests %d ran where they are refused and %d on the other replica", x, y)
				}
				if n := a.refused.Load(); n == 0 || n >= 50 { // a half, unless nginx left it out
					t.Errorf("the replica refused %d requests, want some, until nginx leaves it out for a second", n)
				}
				a.refuse.Store(false)
				eventually(t, "nginx tries the replica again", func() bool {
					c.calls(t, 4, method)
					return a.ran.Load() > ranA
				})
				a, b = b, a
			}
		})
	}
}

func TestNginxRunsNoPostTwice(t *testing.T) {
	a, b := startReplica(t, "a", nil), startReplica(t, "b", nil)
	startNginx(t, a, b).runsOnce(t, a, b)
}

const (
	stopTimeout = time.Minute // of what hangs
	// A whole demo takes a quarter of a minute by itself, and several beside other tests.
	readyTimeout = 5 * time.Minute
)

var binDir string // TestMain makes and removes it

func TestMain(m *testing.M) {
	if setup := os.Getenv(gatedEnv); setup != "" {
		fmt.Fprintln(os.Stderr, runGated(setup)) // until it is killed
		os.Exit(1)
	}
	os.Exit(func() int {
		var err error
		if binDir, err = os.MkdirTemp("", "e2e-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(binDir)
		code := m.Run()
		if err := endChrome(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}())
}

// build compiles the package in dir once, as this test is built.
func build(t *testing.T, dir string) string {
	t.Helper()
	bin := filepath.Join(binDir, filepath.Base(dir))
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", testutil.RaceFlag, "-ldflags=-w", "-o", bin, ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build in %s: %v\n%s", dir, err, out)
	}
	return bin
}

// start runs bin, and returns the submatch when a line of its stdout matches ready.
func start(t *testing.T, ready *regexp.Regexp, bin string, args ...string) (c *child.Child, match string) {
	t.Helper()
	c, err := child.Start(t.Context(), child.Options{
		Args: append([]string{bin}, args...), Ready: ready,
		ReadyTimeout: readyTimeout, StopTimeout: stopTimeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Kill()
		if t.Failed() {
			out, errOut := c.Output()
			t.Logf("%s\nstdout:\n%s\nstderr:\n%s", bin, out, errOut)
		}
	})
	return c, c.Match
}

// stop returns the exit code.
func stop(t *testing.T, c *child.Child) int {
	t.Helper()
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	return c.State().ExitCode()
}
