//go:build unix

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// startNginx runs nginx with deploy/nginx/nginx.conf on free ports.
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
	os.Chmod(dir, 0o755) // its workers may run as another user
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
				if n := a.refused.Load(); n == 0 || n >= 50 { // a half each, if nginx did not leave it out
					t.Errorf("the replica refused %d requests, want some, until nginx leaves it out for a second", n)
				}
				a.refuse.Store(false)
				eventually(t, "nginx tries the replica again", func() bool {
					c.calls(t, 4, method)
					return a.ran.Load() > ranA
				})
				a, b = b, a
			}
			if n := a.control.Load() + b.control.Load(); n != 0 {
				t.Errorf("%d requests reached a replica with a gci header of the client's", n)
			}
		})
	}
}

func TestNginxRunsNoPostTwice(t *testing.T) {
	a, b := startReplica(t, "a", nil), startReplica(t, "b", nil)
	startNginx(t, a, b).runsOnce(t, a, b)
}
