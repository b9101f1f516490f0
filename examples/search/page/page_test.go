package page

import (
	"errors"
	"html/template"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func TestWrite(t *testing.T) {
	hit := Hit{Title: "<mark>T</mark>", Text: "text", Link: "https://a.example/?a=1&b=2"}
	tests := []struct {
		name    string
		page    Page
		want    []string
		wantNot []string
	}{
		{
			"form",
			Page{Boxes: []Box{{"cnn", "CNN", true}, {"bbc", "BBC", false}}, Sample: true},
			[]string{`name="cnn" id="cnn" checked`, `name="bbc" id="bbc">`, "sample feeds", "autofocus"},
			[]string{"<section", `id="summary"`, "message"},
		},
		{
			"hostile term",
			Page{Term: `"><script>x</script>`, Message: "<i>no</i>"},
			[]string{`value="&#34;&gt;&lt;script&gt;x&lt;/script&gt;"`, "&lt;i&gt;no"},
			[]string{"<script", "<i>", "sample feeds"},
		},
		{
			"one hit",
			Page{Term: "t", Results: []Result{{Name: "cnn", Label: "CNN", Hits: []Hit{hit}, Total: 1}}},
			[]string{
				"<b>1</b> hit for <q>t</q>", `href="https://a.example/?a=1&amp;b=2"`, "<mark>T</mark></a>",
				`<section id="feed-cnn"`,
			},
			[]string{"are shown", "This copy"},
		},
		{
			"more hits than shown",
			Page{Results: []Result{{Hits: []Hit{hit}, Total: 7}, {Total: 0}}},
			[]string{"<b>7</b> hits", "The newest 1 of 7 are shown.", "Nothing found."},
			nil,
		},
		{
			"no link",
			Page{Results: []Result{{Hits: []Hit{{Title: "T"}}, Total: 1}}},
			[]string{"<h3>T</h3>"},
			[]string{"<h3><a"},
		},
		{
			"hostile link",
			Page{Results: []Result{{Hits: []Hit{{Title: "T", Link: "javascript:alert(1)"}}, Total: 1}}},
			nil,
			[]string{"javascript:"},
		},
		{
			"failed feed",
			Page{Results: []Result{{Label: "CNN", Err: errors.New("no <answer>")}}},
			[]string{"could not be searched: no &lt;answer&gt;."},
			[]string{"Nothing found", `class="count"`},
		},
		{
			"stale feed",
			Page{Results: []Result{{Stale: errors.New("down"), Age: 17 * time.Minute}}},
			[]string{"This copy is 17 minutes old, because the last refresh failed: down."},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			if err := Write(w, http.StatusTeapot, tt.page); err != nil {
				t.Fatal(err)
			}
			if w.Code != http.StatusTeapot ||
				!strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
				t.Errorf("status %d, headers %v", w.Code, w.Header())
			}
			body := w.Body.String()
			for _, s := range tt.want {
				if !strings.Contains(body, s) {
					t.Errorf("page lacks %q", s)
				}
			}
			for _, s := range tt.wantNot {
				if strings.Contains(body, s) {
					t.Errorf("page holds %q", s)
				}
			}
			if t.Failed() {
				t.Log(body)
			}
		})
	}
}

func TestWriteFailure(t *testing.T) {
	whole := tmpl
	t.Cleanup(func() { tmpl = whole })
	tmpl = template.Must(template.New("broken").Parse("half a page {{.Missing}}"))
	w := httptest.NewRecorder()
	if err := Write(w, http.StatusOK, Page{}); err == nil {
		t.Error("no error")
	}
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "half") {
		t.Errorf("status %d, body %q", w.Code, w.Body)
	}
}

func TestAssets(t *testing.T) {
	for path, typ := range map[string]string{"/style.css": "text/css", "/icon.svg": "image/svg+xml"} {
		w := httptest.NewRecorder()
		Assets().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), typ) {
			t.Errorf("%s: status %d, type %q", path, w.Code, w.Header().Get("Content-Type"))
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		59 * time.Second:  "0 minutes",
		90 * time.Second:  "1 minute",
		59 * time.Minute:  "59 minutes",
		119 * time.Minute: "1 hour",
		50 * time.Hour:    "50 hours",
	} {
		if got := age(d); got != want {
			t.Errorf("age(%v) = %q, want %q", d, got, want)
		}
	}
}
