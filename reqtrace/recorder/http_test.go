package recorder

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// TestPaths: there are few pages, wherever the recorder is mounted.
func TestPaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, newFake(), Options{})
		defer end(t, r)
		mux := http.NewServeMux()
		mux.Handle("/debug/evenkeel/", r)
		mux.Handle("GET example.com/one/{name}/", r)
		mux.Handle("/stripped/", http.StripPrefix("/stripped", r))
		root := http.NewServeMux()
		// a router that sets no pattern
		root.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { r.ServeHTTP(w, q) }))
		for _, c := range []struct {
			h    http.Handler
			path string
			want int
		}{
			{mux, "/debug/evenkeel/", 200},
			{mux, "/debug/evenkeel/json", 200},
			{mux, "/debug/evenkeel/stats", 200},
			{mux, "/debug/evenkeel/snapshot/", 404},
			{mux, "/debug/evenkeel/snapshot/x", 404},
			{mux, "/debug/evenkeel/foo", 404},
			{mux, "/debug/evenkeel/foo/bar", 404},
			{mux, "http://example.com/one/orders/", 200},
			{mux, "http://example.com/one/orders/json", 200},
			{mux, "http://example.com/one/orders/foo", 404},
			{mux, "/stripped/", 200},
			{mux, "/stripped/json", 200},
			{mux, "/stripped/foo", 404},
			{root, "/debug/evenkeel/", 200},
			{root, "/debug/evenkeel/json", 200},
			{root, "/debug/evenkeel/foo", 404},
			{r, "/debug/evenkeel/json", 200},
			{r, "/", 200},
			{r, "/foo", 404},
		} {
			w := httptest.NewRecorder()
			c.h.ServeHTTP(w, httptest.NewRequest("GET", c.path, nil))
			if w.Code != c.want {
				t.Errorf("%s: %d, want %d", c.path, w.Code, c.want)
			}
		}
	})
}

type broken struct{ http.ResponseWriter }

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestSnapshotBreaksOff: an answer that is not whole does not end as if it were.
func TestSnapshotBreaksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.perByte = func() int64 { return int64(time.Since(f.began).Seconds() * 2e6) }
		r := begin(t, f, Options{})
		defer end(t, r)
		time.Sleep(time.Second)
		defer func() {
			if v := recover(); v != http.ErrAbortHandler {
				t.Errorf("%v, want a panic with %v", v, http.ErrAbortHandler)
			}
		}()
		r.ServeHTTP(broken{httptest.NewRecorder()}, httptest.NewRequest("GET", "/snapshot", nil))
	})
}

// TestBuildName: two executables that differ have names that differ, whatever the go command knew.
func TestBuildName(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3":                           "v1.2.3",
		"v1.2.4-0.20261122-0123456789ab":   "v1.2.4-0.20261122-0123456789ab",
		"v1.2.4-0.2026-0123456789ab+dirty": "v1.2.4-0.2026-0123456789ab+dirty executable h",
		"(devel)":                          "(devel) executable h",
		"":                                 "executable h",
	} {
		if got := buildName(version, func() string { return "h" }); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
	if got := buildName("", func() string { return "" }); got != "executable unknown" {
		t.Errorf("without a hash: %q", got)
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := executableHash(), fmt.Sprintf("%x", sha256.Sum256(b))[:hashDigits]; got != want {
		t.Errorf("the hash of this executable is %q, want %q", got, want)
	}
}
