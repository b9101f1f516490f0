package loadgen

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// handlers are the shapes that answers of net/http's server take.
var handlers = map[string]http.HandlerFunc{
	"/empty":   func(w http.ResponseWriter, r *http.Request) {},
	"/hello":   answerOK,
	"/missing": http.NotFound,
	"/broken": func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "broken",
			http.StatusInternalServerError)
	},
	"/moved": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/hello", http.StatusFound) },
	"/none":  func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) },
	"/same":  func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotModified) },
	"/odd":   func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(799); io.WriteString(w, "odd") },
	"/large": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", 1<<18)) },
	"/sized": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "70000")
		io.WriteString(w, strings.Repeat("x", 70000))
	},
	"/chunks": func(w http.ResponseWriter, r *http.Request) {
		for i := range 20 {
			io.WriteString(w, strings.Repeat("x", i*i*7))
			w.(http.Flusher).Flush()
		}
	},
	"/trailers": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "body")
		w.Header().Set("X-Sum", "1")
	},
	"/hints": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		for range 3 {
			w.WriteHeader(http.StatusEarlyHints)
		}
		io.WriteString(w, "hinted")
	},
	"/close": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		io.WriteString(w, "closing")
	},
	"/plain": func(w http.ResponseWriter, r *http.Request) { // to the end of the connection
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			io.WriteString(c, "HTTP/1.0 200 OK\r\n\r\nas long as it lasts")
			c.Close()
		}
	},
	"/headers": func(w http.ResponseWriter, r *http.Request) {
		for i := range 100 {
			w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("y", 100))
		}
	},
	"/gzip": func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			io.WriteString(z, strings.Repeat("x", 10000))
			return
		}
		io.WriteString(w, strings.Repeat("x", 10000))
	},
	"/echo": func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Write(b)
	},
	// body unread
	"/reject": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) },
}

// The built-in client and net/http's see the same answers.
func TestAsNetHTTP(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/reject" && r.URL.Path != "/echo" {
			io.Copy(io.Discard, r.Body)
		}
		handlers[r.URL.Path](w, r)
	})
	type seen struct {
		Statuses map[int]int64
		Bytes    int64
		Failed   int64
	}
	for path := range handlers {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			if method == "HEAD" && path == "/plain" {
				continue // a body behind the answer to HEAD is the handler's fault
			}
			var want seen
			for i, o := range []Options{
				{Transport: &http.Transport{}},
				{},
				{Rate: 2000},
				{DisableKeepAlive: true},
				{Rate: 2000, Transport: &http.Transport{}},
			} {
				if o.DisableKeepAlive && path == "/reject" {
					continue // closing with a body unread can reset the connection before the answer is read
				}
				o.Targets = []Target{{Method: method, URL: srv.URL + path}}
				if method == "POST" {
					o.Targets[0].Body = []byte(strings.Repeat("z", 20000))
				}
				o.Requests, o.Connections = 6, 3
				r := run(t, o)
				got := seen{r.Statuses, r.Bytes, r.Failed}
				if i == 0 {
					want = got
				}
				if d := cmp.Diff(want, got); d != "" || got.Failed != 0 {
					t.Errorf("%s %s, rate %v, transport %v: %v\n%s", method, path, o.Rate, o.Transport != nil,
						r.Failures, d)
				}
				if tr, ok := o.Transport.(*http.Transport); ok {
					tr.CloseIdleConnections()
				}
			}
		}
	}
}
