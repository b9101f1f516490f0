package k8sturn

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

const (
	dialTimeout = 2 * time.Second
	pingEvery   = 10 * time.Second
	pingTimeout = 5 * time.Second
)

// inClusterAt sets server and client from the service account in dir.
func (o Options) inClusterAt(dir string) (Options, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), //nolint:forbidigo // as client-go does
		os.Getenv("KUBERNETES_SERVICE_PORT") //nolint:forbidigo // as client-go does
	if host == "" || port == "" {
		return o, refuse("URL",
			"it is empty, and this process runs in no pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are "+
				"not set")
	}
	o.URL = "https://" + net.JoinHostPort(host, port)
	pem, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return o, refuse("Client",
			"it is nil, and the pod has no certificates for the API server: set automountServiceAccountToken: %v", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return o, refuse("Client", "it is nil, and %s/ca.crt has no certificate", dir)
	}
	o.ownClient = true
	o.Client = &http.Client{Transport: &account{file: filepath.Join(dir, "token"), next: transport(roots)}}
	if o.Namespace == "" {
		text, err := os.ReadFile(filepath.Join(dir, "namespace"))
		if err != nil {
			return o, refuse("Namespace", "it is empty, and the pod does not know its own: %v", err)
		}
		o.Namespace = strings.TrimSpace(string(text))
	}
	return o, nil
}

// transport pings, so that the connection to a server that has vanished is closed.
func transport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots},
		TLSHandshakeTimeout: dialTimeout,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingEvery, PingTimeout: pingTimeout},
	}
}

// account adds the token of a file to requests. The kubelet replaces the token, so each request
// reads it.
type account struct {
	file string
	next http.RoundTripper
}

func (a *account) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := os.ReadFile(a.file)
	if err != nil {
		return nil, fmt.Errorf("the pod's token: %w", err)
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return a.next.RoundTrip(r)
}

// CloseIdleConnections is called by that of http.Client.
func (a *account) CloseIdleConnections() {
	(&http.Client{Transport: a.next}).CloseIdleConnections()
}
