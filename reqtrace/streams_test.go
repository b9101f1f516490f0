package reqtrace

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/trace"
	"slices"
	"strings"
	"testing"
)

// TestRecordedStreams reads traces of HTTP/2, and of gRPC without and with stream workers, of all
// Go releases that write such traces: each request is found, and the planted lock.
func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/streams/*.trace.gz")
	if err != nil || len(names) < 18 {
		t.Fatalf("%q, %v: reqtrace/testdata/gen.sh writes them", names, err)
	}
	for _, name := range names {
		kind := strings.TrimSuffix(filepath.Base(name), ".trace.gz")
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			packed, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			z, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			r, err := Analyze(t.Context(), z, Options{})
			if err != nil {
				t.Fatal(err)
			}
			const requests = 200 // of genstreams
			if n := r.Requests + r.CutStart + r.CutEnd; n < requests-2 || n > requests+2 || r.Requests < requests-6 ||
				r.Broken != "" {
				t.Errorf("%d whole requests of %d, %d and %d cut, broken: %q", r.Requests, requests, r.CutStart,
					r.CutEnd, r.Broken)
			}
			slow := r.Bands[2] // a tenth of the requests meets the lock
			if b := slow.Sites[0]; slow.Name != "p90-99" ||
				b.Cause != CauseLock || !strings.HasPrefix(b.Site, "main.(*cache).get (main.go:") ||
				slow.Share(CauseLock) < .5 {
				t.Errorf("the lock has %f of the excess of %s; most is %+v", slow.Share(CauseLock), slow.Name, b)
			}
			class := "main.(*cache).Check"
			if strings.HasSuffix(kind, "http2") {
				class = "main.(*cache).ServeHTTP"
			}
			if i := slices.IndexFunc(r.Classes, func(c Class) bool { return c.Name == class }); i < 0 ||
				r.Classes[i].Requests < 15 || len(r.Classes) > 2 {
				t.Errorf("classes: %+v; want those that met the lock to be %s, and others not to be known", r.Classes,
					class)
			}
			if u := r.Total.Of(CauseUnknown); u > r.Total.Total()/1000 {
				t.Errorf("unknown: %v of %v", u, r.Total.Total())
			}
		})
	}
}

// TestHTTP2Found: of a server of HTTP/2 over TLS in this very Go, requests are found within 1% of
// what the client counted.
func TestHTTP2Found(t *testing.T) {
	const requests = 300
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = io.WriteString(w, "hello")
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	get := func() {
		res, err := s.Client().Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.ProtoMajor != 2 {
			t.Fatal(res.Proto, err)
		}
	}
	get() // the connection is there when the trace begins
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	for range requests {
		get()
	}
	trace.Stop()
	r, err := Analyze(t.Context(), &buf, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Requests + r.CutStart + r.CutEnd; n < requests*99/100 || n > requests*101/100 {
		t.Errorf("%d whole, %d and %d cut; the client counts %d", r.Requests, r.CutStart, r.CutEnd, requests)
	}
}
