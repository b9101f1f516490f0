package page

import (
	"errors"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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

func ExampleHighlight() {
	fmt.Println(Highlight("Storm & rain: <STORM>", "storm"))
	// Output: <mark>Storm</mark> &amp; rain: &lt;<mark>STORM</mark>&gt;
}

func TestHighlight(t *testing.T) {
	tests := []struct {
		name, text, term, want string
	}{
		{"none", "calm", "storm", "calm"},
		{"empty term", "a<b", "", "a&lt;b"},
		{"empty text", "", "a", ""},
		{"whole text", "Storm", "sTORM", "<mark>Storm</mark>"},
		{"next to each other", "aaaa", "aa", "<mark>aa</mark><mark>aa</mark>"},
		{"overlapping, from the left", "ababa", "aba", "<mark>aba</mark>ba"},
		{"false start", "aab", "ab", "a<mark>ab</mark>"},
		{"cut off at the end", "stor", "storm", "stor"},
		{"escaped around", "<b>x</b>", "x", "&lt;b&gt;<mark>x</mark>&lt;/b&gt;"},
		{"escaped inside", "a <b> c", "<B>", "a <mark>&lt;b&gt;</mark> c"},
		{"part of an entity is not found", "AT&T", "amp", "AT&amp;T"},
		{"ampersand", "AT&T", "&", "AT<mark>&amp;</mark>T"},
		{"literal entity", "&lt;", "lt", "&amp;<mark>lt</mark>;"},
		{"a mark in the text", "<mark>x</mark>", "mark", "&lt;<mark>mark</mark>&gt;x&lt;/<mark>mark</mark>&gt;"},
		{"quotes", `say "x" 'y'`, "x", "say &#34;<mark>x</mark>&#34; &#39;y&#39;"},
		{"lower case is longer", "ȺȺ end", "end", "ȺȺ <mark>end</mark>"},
		{"lower case is longer, in the term", "xȺy", "ⱥ", "x<mark>Ⱥ</mark>y"},
		{"lower case is shorter", "İİ end", "END", "İİ <mark>end</mark>"},
		{"Kelvin sign", "20 \u212a", "k", "20 <mark>\u212a</mark>"},
		{"invalid bytes stay", "\xffa\xfe", "a", "\xff<mark>a</mark>\xfe"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(Highlight(tt.text, tt.term)); got != tt.want {
				t.Errorf("Highlight(%q, %q)\n got %q\nwant %q", tt.text, tt.term, got, tt.want)
			}
		})
	}
}

// FuzzHighlight tests that the text is kept, and is marked exactly if the search would find it.
func FuzzHighlight(f *testing.F) {
	f.Add("A Storm & <b>rain</b>", "storm")
	f.Add("ȺİK ſ ẞ", "ⱥ")
	f.Add("&amp;lt;<mark>", "mark")
	f.Add("aaaa", "aa")
	f.Add("\xff\xfe", "\ufffd")
	f.Fuzz(func(t *testing.T, text, term string) {
		got := string(Highlight(text, term))
		stripped := strings.NewReplacer("<mark>", "", "</mark>", "").Replace(got)
		if strings.ContainsAny(stripped, `<>"'`) {
			t.Fatalf("unescaped: %q", got)
		}
		if back := html.UnescapeString(stripped); back != text {
			t.Fatalf("text changed:\n got %q\nwant %q", back, text)
		}
		if !utf8.ValidString(text) || !utf8.ValidString(term) {
			return // the handler and the parser refuse these
		}
		found := term != "" && strings.Contains(strings.ToLower(text), strings.ToLower(term))
		if marked := strings.Contains(got, "<mark>"); marked != found {
			t.Fatalf("marked %v, found %v: %q", marked, found, got)
		}
	})
}
