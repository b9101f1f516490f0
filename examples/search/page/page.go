// Package page renders the search form and its results as HTML. The template escapes everything but
// the texts of hits, which [Highlight] escapes.
package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"time"
)

//go:embed page.html
var source string

//go:embed style.css icon.svg
var assets embed.FS

var tmpl = template.Must(template.New("page").Funcs(template.FuncMap{
	"plural": plural,
	"age":    age,
}).Parse(source))

type Page struct {
	Term    string
	Boxes   []Box
	Message string   // what is wrong with the request
	Results []Result // of each feed
	Sample  bool     // the feeds are invented
}

// Box is a check box: one feed.
type Box struct {
	Name    string
	Label   string
	Checked bool
}

// Result is what the search found in one feed.
type Result struct {
	Name  string
	Label string
	Hits  []Hit
	Total int   // Hits may hold fewer
	Err   error // why the feed could not be searched
	Stale error // why the copy is old
	Age   time.Duration
}

// Hit is an item that holds the term.
type Hit struct {
	Title template.HTML
	Text  template.HTML
	Link  string
}

func (p Page) Hits() int {
	n := 0
	for _, r := range p.Results {
		n += r.Total
	}
	return n
}

func (p Page) shown() int {
	n := 0
	for _, r := range p.Results {
		n += len(r.Hits)
	}
	return n
}

// Write renders the page before it sends the first byte, so that an error becomes a 500.
func Write(w http.ResponseWriter, status int, p Page) error {
	const shellLen, hitLen = 4 << 10, 600 // bytes, a guess
	var b bytes.Buffer
	b.Grow(shellLen + hitLen*p.shown())
	if err := tmpl.Execute(&b, p); err != nil {
		http.Error(w, "the page could not be rendered", http.StatusInternalServerError)
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	protect(h)
	w.WriteHeader(status)
	w.Write(b.Bytes())
	return nil
}

func Assets() http.Handler {
	files := http.FileServerFS(assets)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		protect(w.Header())
		files.ServeHTTP(w, r)
	})
}

// protect is the second line of defence if something slips through the escaping.
func protect(h http.Header) {
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "+
			"frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func age(d time.Duration) string {
	n, unit := int(d/time.Minute), "minute"
	if n >= 60 {
		n, unit = int(d/time.Hour), "hour"
	}
	return fmt.Sprintf("%d %s", n, plural(n, unit, unit+"s"))
}
