//go:build unix

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/testutil"
)

// alone is net/http without httpd.
const alone = "nethttp"

const fileSize = 1 << 20

// served is a server for other people's clients.
type served struct {
	plain   string // URL: HTTP/1, and HTTP/2 by prior knowledge
	secure  string // URL with TLS
	cert    string // a PEM file that clients trust
	file    []byte // the content of /file
	path    string // a copy of file
	digest  string // of file
	streams sync.Map
}

// onServers tests httpd on each backend, and in make check also net/http alone, as a control.
func onServers(t *testing.T, test func(t *testing.T, s *served)) {
	ways := []string{aio.BackendEpoll.String(), aio.BackendIOUring.String()}
	if testutil.Checking() {
		ways = append(ways, alone)
	}
	for _, way := range ways {
		t.Run(way, func(t *testing.T) { test(t, serveClients(t, way)) })
	}
}

func serveClients(t *testing.T, way string) *served {
	t.Helper()
	serve := func(srv *http.Server, ln net.Listener) error { return srv.Serve(ln) }
	serveTLS := func(srv *http.Server, ln net.Listener) error { return srv.ServeTLS(ln, "", "") }
	if way != alone {
		var o httpd.Options
		if err := o.Backend.UnmarshalText([]byte(way)); err != nil {
			t.Fatal(err)
		}
		w, err := aio.New(aio.Options{Backend: o.Backend})
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		serve = func(srv *http.Server, ln net.Listener) error { return httpd.Serve(t.Context(), srv, ln, o) }
		serveTLS = func(srv *http.Server, ln net.Listener) error {
			return httpd.ServeTLS(t.Context(), srv, ln, "", "",
				o)
		}
	}

	from := httptest.NewUnstartedServer(nil)
	from.StartTLS()
	from.Close()
	s := &served{file: make([]byte, fileSize)}
	random := rand.NewChaCha8([32]byte{})
	random.Read(s.file)
	s.digest = digest(s.file)
	dir := t.TempDir()
	s.cert, s.path = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "file")
	for path, b := range map[string][]byte{s.cert: pem.EncodeToMemory(&pem.Block{
		Type:  "CERTIFICATE",
		Bytes: from.Certificate().Raw,
	}), s.path: s.file} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	// clients may go away
	srv := &http.Server{Handler: s.handler(), Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0)}
	srv.TLSConfig = from.TLS.Clone()
	srv.TLSConfig.NextProtos = []string{"h2", "http/1.1"} // net/http reads these for each listener
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetHTTP2(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	ended := make(chan error, 2)
	listen := func(serve func(*http.Server, net.Listener) error) string {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- serve(srv, ln) }()
		return ln.Addr().String()
	}
	s.plain, s.secure = "http://"+listen(serve), "https://"+listen(serveTLS)
	t.Cleanup(func() {
		srv.Close()
		for range 2 {
			if err := <-ended; err != http.ErrServerClosed {
				t.Errorf("Serve: %v", err)
			}
		}
	})
	return s
}

func digest(b []byte) string { return fmt.Sprintf("%d %x", len(b), sha256.Sum256(b)) }

func (s *served) handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "<!doctype html><title>clients</title>")
	})
	m.HandleFunc("GET /favicon.ico",
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	m.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s by %s", r.URL.Query().Get("n"), r.Proto)
	})
	m.HandleFunc("GET /file", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, s.path) })
	m.HandleFunc("/digest", func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("X-Encoding", fmt.Sprint(r.TransferEncoding))
		w.Header().Set("X-Trailer", r.Trailer.Get("X-Sum"))
		io.WriteString(w, r.Method+" "+digest(b))
	})
	m.HandleFunc("POST /refuse", func(w http.ResponseWriter,
		_ *http.Request,
	) {
		http.Error(w, "no", http.StatusRequestEntityTooLarge)
	})
	m.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	m.HandleFunc("GET /redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/hello?n=redirected", http.StatusFound)
	})
	m.HandleFunc("POST /moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/digest", http.StatusTemporaryRedirect)
	})
	m.HandleFunc("GET /close", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		io.WriteString(w, "closed")
	})
	m.HandleFunc("GET /trailers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "body")
		w.Header().Set("X-Sum", "4")
	})
	m.HandleFunc("GET /events", s.events)
	m.HandleFunc("POST /seen", func(w http.ResponseWriter, r *http.Request) {
		s.seen(r.URL.Query().Get("stream"))
		w.WriteHeader(http.StatusNoContent)
	})
	return m
}

// stream is told that the client has an event.
func (s *served) stream(name string) chan struct{} {
	c, _ := s.streams.LoadOrStore(name, make(chan struct{}, 1))
	return c.(chan struct{})
}

func (s *served) seen(name string) { s.stream(name) <- struct{}{} }

// events sends each of three events when the client has the one before, so that none may wait in a
// buffer.
func (s *served) events(w http.ResponseWriter, r *http.Request) {
	seen := s.stream(r.URL.Query().Get("stream"))
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range 3 {
		fmt.Fprintf(w, "data: %d\n\n", i)
		w.(http.Flusher).Flush()
		select {
		case <-seen:
		case <-r.Context().Done():
			return
		}
	}
}

// tool returns the path of a client, or skips.
func tool(t *testing.T, name, from string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is missing: install %s", name, from)
	}
	return path
}

func out(t *testing.T, args ...string) string {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, said.String())
	}
	return said.String()
}

func needsCheck(t *testing.T) {
	t.Helper()
	testutil.Long(t, "takes longer than the other clients")
}

// TestClientsOfPython has http.client and urllib, and in make check also requests and httpx, which
// speaks HTTP/2.
func TestClientsOfPython(t *testing.T) {
	python := tool(t, "python3", "python3")
	onServers(t, func(t *testing.T, s *served) {
		run := func(python, library, url, proto string) {
			t.Helper()
			out(t, python, "testdata/clients.py", library, url, proto, s.cert, s.path)
		}
		run(python, "stdlib", s.plain, "HTTP/1.1")
		if !testutil.Checking() {
			return
		}
		run(python, "stdlib", s.secure, "HTTP/1.1")
		const installed = "../.bin/python/bin/python"
		if err := exec.Command(installed, "-c", "import requests, httpx, h2").Run(); err != nil {
			t.Logf("without requests and httpx: .ci/setup installs them: %v", err)
			return
		}
		for _, library := range []string{"requests", "httpx"} {
			run(installed, library, s.plain, "HTTP/1.1")
			run(installed, library, s.secure, "HTTP/1.1")
		}
		run(installed, "httpx", s.secure, "HTTP/2.0")
		run(installed, "httpx", s.plain, "HTTP/2.0")
	})
}

// TestH2load sends thousands of requests, by pipelining in HTTP/1.1 and by streams in HTTP/2.
func TestH2load(t *testing.T) {
	needsCheck(t)
	bin := tool(t, "h2load", "nghttp2-client")
	onServers(t, func(t *testing.T, s *served) {
		for _, c := range []struct {
			n    int
			path string
			args []string
		}{
			{1000, "/hello", []string{"-c20", "-m10"}},
			{40, "/file", []string{"-c5", "-m4"}},
			{40, "/digest", []string{"-c5", "-m4", "-d", s.path}},
		} {
			for _, url := range []string{s.plain, s.secure} {
				for _, version := range []string{"--h1", "-t1"} {
					args := append([]string{bin, "-n" + strconv.Itoa(c.n), version}, c.args...)
					said := out(t, append(args, url+c.path)...)
					want := fmt.Sprintf("requests: %[1]d total, %[1]d started, %[1]d done, %[1]d succeeded, "+
						"0 failed, 0 errored, 0 timeout", c.n)
					if !strings.Contains(said, want) || c.path == "/file" &&
						!strings.Contains(said, fmt.Sprintf("(%d) data", c.n*fileSize)) {
						t.Errorf("%v %s%s: no %q in\n%s", args, url, c.path, want, said)
					}
				}
			}
		}
	})
}

// TestNghttp tests trailers and 100-continue over HTTP/2.
func TestNghttp(t *testing.T) {
	needsCheck(t)
	bin := tool(t, "nghttp", "nghttp2-client")
	onServers(t, func(t *testing.T, s *served) {
		for _, url := range []string{s.plain, s.secure} {
			said := out(t, bin, "-v", "-y", "--no-dep", "--trailer", "x-sum: 5", "--expect-continue", "-d", s.path,
				"-H", "trailer: x-sum", url+"/digest")
			for _, want := range []string{":status: 100", ":status: 200", "x-trailer: 5", "POST " + s.digest} {
				if !strings.Contains(said, want) {
					t.Errorf("%s: no %q in\n%s", url, want, said)
				}
			}
			said = out(t, bin, "-v", "-y", "--no-dep", url+"/trailers")
			if !strings.Contains(said, "x-sum: 4") {
				t.Errorf("%s: no trailer in\n%s", url, said)
			}
		}
	})
}
