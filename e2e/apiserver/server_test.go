//go:build linux

package apiserver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"evenkeel.dev/examples/child"
)

// patience ends what hangs.
const patience = 5 * time.Minute

const admin = "admin" // a token

// cluster is a kube-apiserver over an etcd. It has no kubelet, so the test is the pod.
type cluster struct {
	t      *testing.T
	url    string
	args   []string
	server *child.Child
	pool   *x509.CertPool
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "kube-apiserver")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "k8s.io/kubernetes/cmd/kube-apiserver")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	etcd, peers, addr := "http://"+freeAddr(t), "http://"+freeAddr(t), freeAddr(t)
	start(t, "etcd", "--data-dir="+filepath.Join(dir, "etcd"), "--listen-client-urls="+etcd, "--advertise-client-urls="+
		etcd,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers,
		"--unsafe-no-fsync")
	_, port, _ := net.SplitHostPort(addr)
	key := file("accounts.key", accountKey(t))
	c := &cluster{t: t, url: "https://" + addr, args: []string{
		bin, "--etcd-servers=" + etcd, "--bind-address=127.0.0.1", "--secure-port=" + port, "--cert-dir=" + dir,
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC", "--token-auth-file=" + file("tokens", admin+",admin,1,system:masters\n"),
		"--service-account-issuer=https://evenkeel.test", "--service-account-key-file=" + key,
		"--service-account-signing-key-file=" + key,
	}}
	c.up()
	text, err := os.ReadFile(filepath.Join(dir, "apiserver.crt"))
	if err != nil {
		t.Fatal(err)
	}
	c.pool = x509.NewCertPool()
	if !c.pool.AppendCertsFromPEM(text) {
		t.Fatal("apiserver.crt holds no certificate")
	}
	return c
}

// up returns when the server is ready.
func (c *cluster) up() {
	t := c.t
	t.Helper()
	c.server = start(t, c.args...)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}}
	for until := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		select {
		case <-c.server.Done():
			t.Fatalf("kube-apiserver left: %v", c.server.State())
		default:
		}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+"/readyz", nil)
		req.Header.Set("Authorization", "Bearer "+admin)
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(until) {
			t.Fatalf("kube-apiserver is not ready within %v", patience)
		}
	}
}

// client returns one with this token and connections of its own.
func (c *cluster) client(t *testing.T, token string) *http.Client {
	tr := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: c.pool, ServerName: "kubernetes"},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: &bearer{Transport: tr, token: token}}
}

// bearer adds a token (RFC 6750).
type bearer struct {
	*http.Transport
	token string
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.Transport.RoundTrip(r)
}

// call has admin send in, which may be nil, and returns the answer.
func (c *cluster) call(t *testing.T, method, path string, in []byte) map[string]any {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.url+path, bytes.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.client(t, admin).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %s, %v\n%s", method, path, resp.Status, err, text)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// tokenOf returns a token of a service account.
func (c *cluster) tokenOf(t *testing.T, account string) string {
	t.Helper()
	out := c.call(t, http.MethodPost, "/api/v1/namespaces/default/serviceaccounts/"+account+"/token",
		[]byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":3600}}`))
	status, _ := out["status"].(map[string]any)
	token, _ := status["token"].(string)
	if token == "" {
		t.Fatalf("no token in %v", out)
	}
	return token
}

func start(t *testing.T, args ...string) *child.Child {
	t.Helper()
	p, err := child.Start(t.Context(), child.Options{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			_, stderr := p.Output()
			t.Logf("%s:\n%s", filepath.Base(args[0]), stderr[max(0, len(stderr)-8<<10):])
		}
	})
	return p
}

// freeAddr returns a free address on loopback.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// accountKey signs the tokens of service accounts.
func accountKey(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}
