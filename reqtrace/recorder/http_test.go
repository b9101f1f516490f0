package recorder

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
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
			{mux, "/debug/evenkeel/foo/bar/", 404},
			{mux, "/debug/evenkeel/foo/json", 404},
			{mux, "/debug/evenkeel/foo/snapshot/x", 404},
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
