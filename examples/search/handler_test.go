package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/examples/search/feed"
	"evenkeel.dev/examples/search/match"
)

func TestHandler(t *testing.T) {
	h := sampleSearcher(t, match.Lean).routes()
	const all = "&cnn=on&bbc=on&nyt=on"
	tests := []struct {
		name    string
		method  string
		target  string
		body    string
		status  int
		want    []string
		wantNot []string
	}{
		{
			"form", "GET", "/", "", 200,
			[]string{`id="cnn" checked`, `id="bbc" checked`, `id="nyt" checked`},
			[]string{"<section"},
		},
		{"POST with query", "POST", "/search?term=president" +
			all, "", 200, []string{
			"<mark>president</mark>", "<mark>President</mark>", "feed-cnn", "feed-bbc",
			"feed-nyt",
		}, nil},
		{"GET with query", "GET", "/search?term=topic" + all, "", 200, []string{"<mark>topic</mark>"}, nil},
		{
			"POST with form", "POST", "/search", "term=storm&bbc=on", 200,
			[]string{"<mark>storm</mark>", "feed-bbc", `id="bbc" checked`},
			[]string{"feed-cnn", "feed-nyt", `id="cnn" checked`},
		},
		{"form before query", "POST", "/search?term=topic", "term=storm&bbc=on", 200, []string{"<q>storm</q>"}, nil},
		{
			"a box is on or off", "GET", "/search?term=storm&bbc=on&cnn=1", "", 200,
			[]string{"feed-bbc"},
			[]string{"feed-cnn"},
		},
		{"capitals", "GET", "/search?term=STORM&bbc=on", "", 200, []string{"<mark>storm</mark>", "<q>STORM</q>"}, nil},
		{"no hits", "GET", "/search?term=zebra" +
			all, "", 200, []string{"<b>0</b> hits", "Nothing found."}, []string{"<li>"}},
		{"hostile term", "GET", "/search?term=%3Cscript%3Ealert(1)%3C/script%3E" +
			all, "", 200, []string{"&lt;script&gt;"}, []string{"<script"}},
		{
			"more than shown", "GET", "/search?term=e&cnn=on", "", 200,
			[]string{"<b>280</b> hits", "The newest 25 of 280 are shown."},
			nil,
		},

		{"no term", "GET", "/search?cnn=on", "", 400, []string{"Type a term", `id="cnn" checked`}, nil},
		{"no feed", "GET", "/search?term=storm", "", 400, []string{"Choose at least one feed"}, nil},
		{"longest term", "GET", "/search?cnn=on&term=" +
			strings.Repeat("a", maxTermLen), "", 200, []string{"<b>0</b>"}, nil},
		{
			"too long a term", "GET", "/search?cnn=on&term=" +
				strings.Repeat("a", maxTermLen+1), "", 400,
			[]string{"too long: 201 bytes, and 200 are allowed"},
			[]string{"aaaa"},
		},
		{"term not UTF-8", "GET", "/search?cnn=on&term=%ff", "", 400, []string{"not valid UTF-8"}, nil},
		{"bad query", "GET", "/search?term=%zz", "", 400, []string{"could not be read"}, nil},
		{"large body", "POST", "/search", "term=" +
			strings.Repeat("a", maxBodySize), 413, []string{"longer than 16384 bytes"}, nil},
		{"method", "PUT", "/search?term=storm" + all, "", 405, nil, nil},
		{"method on the form", "DELETE", "/", "", 405, nil, nil},
		{"unknown path", "GET", "/nothing", "", 404, nil, nil},
		{"style", "GET", "/style.css", "", 200, []string{"prefers-color-scheme"}, nil},
		{"profiles", "GET", "/debug/pprof/", "", 200, []string{"goroutine"}, nil},
		{"profile", "GET", "/debug/pprof/heap?debug=1", "", 200, []string{"heap profile"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(tt.method, tt.target, strings.NewReader(tt.body))
			if tt.body != "" {
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.status {
				t.Errorf("status %d, want %d", w.Code, tt.status)
			}
			for _, s := range tt.want {
				if !strings.Contains(w.Body.String(), s) {
					t.Errorf("page lacks %q", s)
				}
			}
			for _, s := range tt.wantNot {
				if strings.Contains(w.Body.String(), s) {
					t.Errorf("page holds %q", s)
				}
			}
		})
	}
}

// TestModesGiveTheSamePages makes the comparison fair.
func TestModesGiveTheSamePages(t *testing.T) {
	extra, lean := sampleSearcher(t, match.Extra).routes(), sampleSearcher(t, match.Lean).routes()
	for _, term := range []string{
		"president", "PRESIDENT", "market", "topic", "zebra", "e", "é", "&", "<b>",
		"\u212a",
	} {
		var pages [2]string
		for i, h := range []http.Handler{extra, lean} {
			r := httptest.NewRequest(http.MethodPost, "/search?cnn=on&bbc=on&nyt=on", nil)
			q := r.URL.Query()
			q.Set("term", term)
			r.URL.RawQuery = q.Encode()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			pages[i] = w.Body.String()
		}
		if diff := cmp.Diff(pages[0], pages[1]); diff != "" || !strings.Contains(pages[0], `id="summary"`) {
			t.Errorf("%q: pages of extra and lean differ:\n%s", term, diff)
		}
	}
}

func TestFeedFailures(t *testing.T) {
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `<rss version="2.0"><channel><item><title>A Storm</title></item></channel></rss>`)
	}))
	defer good.Close()
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"down", nil, "connection refused"},
		{"status", http.NotFound, "answered 404 Not Found"},
		{
			"bad XML", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<rss><channel>") },
			"XML syntax error",
		},
		{
			"not a feed", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html></html>") },
			"not an RSS 2.0 document",
		},
		{"huge", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "<rss><channel>")
			for chunk := strings.Repeat("<!-- more -->", 1000); ; {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		}, "document too large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := "http://127.0.0.1:1/"
			if tt.handler != nil {
				bad := httptest.NewServer(tt.handler)
				defer bad.Close()
				url = bad.URL
			}
			h := newSearcher(t, match.Extra, map[string]string{"cnn": url, "bbc": good.URL}).routes()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/search?term=storm&cnn=on&bbc=on", nil))
			body := w.Body.String()
			if w.Code != http.StatusOK || !strings.Contains(body, "<mark>Storm</mark>") {
				t.Errorf("status %d; the good feed was not searched:\n%s", w.Code, body)
			}
			if !strings.Contains(body, "This feed could not be searched") || !strings.Contains(body, tt.want) {
				t.Errorf("page lacks %q:\n%s", tt.want, body)
			}
		})
	}
}

// BenchmarkSearch is about B/op. The collector runs each time that the heap has grown by about its
// live size.
func BenchmarkSearch(b *testing.B) {
	for _, mode := range []string{"extra", "lean"} {
		b.Run(mode, func(b *testing.B) {
			found, err := match.ByName(mode)
			if err != nil {
				b.Fatal(err)
			}
			h := sampleSearcher(b, found).routes()
			w := discard{}
			b.ReportAllocs()
			for b.Loop() {
				w.header = make(http.Header)
				h.ServeHTTP(&w,
					httptest.NewRequest(http.MethodPost, "/search?term=president&cnn=on&bbc=on&nyt=on", nil))
			}
			if w.status != http.StatusOK {
				b.Fatalf("status %d", w.status)
			}
		})
	}
}

// discard keeps no copy of the page.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

func TestSampleFeeds(t *testing.T) {
	for path, want := range map[string]int{
		"/feeds/cnn.xml": http.StatusOK, "/feeds/bbc.xml": http.StatusOK, "/feeds/nyt.xml": http.StatusOK,
		"/feeds/": http.StatusNotFound, "/feeds/doc.go": http.StatusNotFound, "/feeds/..%2fdoc.go": http.StatusNotFound,
	} {
		w := httptest.NewRecorder()
		sampleFeeds().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", path, w.Code, want)
		}
	}
}

// TestSampleItems wants enough text, in mixed case, with links.
func TestSampleItems(t *testing.T) {
	for _, name := range []string{"cnn", "bbc", "nyt"} {
		w := httptest.NewRecorder()
		sampleFeeds().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/feeds/"+name+".xml", nil))
		items, err := feed.Parse(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(items); n < 250 || n > 350 {
			t.Errorf("%s: %d items", name, n)
		}
		for _, it := range items {
			if it.Title == it.LowerTitle || it.Text == it.LowerText || it.Link == "" {
				t.Errorf("%s: no capitals or no link: %+v", name, it)
			}
			if n := len(it.Text); n < 180 || n > 420 {
				t.Errorf("%s: description of %d bytes: %q", name, n, it.Text)
			}
		}
	}
}
