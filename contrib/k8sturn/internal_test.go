package k8sturn

import (
	"context"
	"encoding/pem"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/internal/turnsuite"
)

// A busy machine may keep Close from its answer for longer than a second.
func init() { closeTimeout = time.Minute }

// LogTo has Turns without a gate log to l.
func (t *Turns) LogTo(l *slog.Logger) { t.gateLog.Store(l) }

func TestLogIsTheGates(t *testing.T) {
	turns, err := New(Options{URL: "http://127.0.0.1:1", Client: &http.Client{}})
	if err != nil {
		t.Fatal(err)
	}
	defer turns.Close()
	turnsuite.LogIsTheGates(t, turns, turns.log)
}

// pod writes the files that the kubelet gives a pod.
func pod(t *testing.T, server *httptest.Server) (dir string) {
	t.Helper()
	dir = t.TempDir()
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, text := range map[string]string{"ca.crt": string(cert), "token": "first\n", "namespace": "prod\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", host)
	t.Setenv("KUBERNETES_SERVICE_PORT", port)
	return dir
}

// TestInCluster tests that a request has the token that the file has then.
func TestInCluster(t *testing.T) {
	var valid atomic.Value // the token
	valid.Store("first")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer "+valid.Load().(string):
			w.WriteHeader(http.StatusUnauthorized)
		case r.ProtoMajor != 2 || !strings.HasPrefix(r.URL.Path, "/apis/coordination.k8s.io/v1/namespaces/prod/leases"):
			w.WriteHeader(http.StatusTeapot)
		default:
			w.Write([]byte(`{"metadata":{"resourceVersion":"7"}}`))
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	dir := pod(t, server)
	o, err := Options{Group: "g"}.inClusterAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Client.CloseIdleConnections()
	a := newAPI(o)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if o, err := a.get(ctx, "gcgate-g-0"); err != nil || o.Metadata.ResourceVersion != "7" {
		t.Fatalf("%+v, %v", o, err)
	}
	valid.Store("second")
	if _, err := a.get(ctx, "gcgate-g-0"); !isCode(err, http.StatusUnauthorized) {
		t.Errorf("an old token: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.get(ctx, "gcgate-g-0"); err != nil {
		t.Errorf("a new token: %v", err)
	}
}

func TestNoAccount(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	for _, file := range []string{"ca.crt", "namespace"} {
		dir := pod(t, server)
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
		var oe *evenkeel.OptionError
		if _, err := (Options{}).inClusterAt(dir); !errors.As(err, &oe) {
			t.Errorf("without %s: %v", file, err)
		}
	}
}
