// Package page renders the search form and its results as HTML.
//
// Both what was typed and what the feeds say is hostile until proven otherwise. The
// template escapes everything but the texts of hits, which [Highlight] escapes itself
// because it has to put its marks between the pieces.
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

// Page is what one page shows.
type Page struct {
	Term    string
	Boxes   []Box
	Message string   // what is wrong with the request; empty: nothing
	Results []Result // of each feed that was searched; nil: none was
	Sample  bool     // the feeds are the invented ones
}

// Box is a check box: one feed.
type Box struct {
	Name    string // of the form field
	Label   string
	Checked bool
}

// Result is what the search found in one feed.
type Result struct {
	Name  string
	Label string
	Hits  []Hit
	Total int           // hits in all; Hits may hold fewer
	Err   error         // the feed could not be searched
	Stale error         // the feed was searched, but in an old copy, and this is why
	Age   time.Duration // of the copy
}

// Hit is an item that holds the term.
type Hit struct {
	Title template.HTML
	Text  template.HTML
	Link  string // http or https, or empty
}

// Hits counts the hits of all results.
func (p Page) Hits() int {
	n := 0
	for _, r := range p.Results {
		n += r.Total
	}
	return n
}

// shown counts the hits that the page holds.
func (p Page) shown() int {
	n := 0
	for _, r := range p.Results {
		n += len(r.Hits)
	}
	return n
}

// Write sends p with the given status. The page is rendered before the first byte is sent,
// so that an error can still become a 500.
func Write(w http.ResponseWriter, status int, p Page) error {
	const shellLen, hitLen = 4 << 10, 600 // bytes; a guess that spares the buffer most of its growth
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
	w.Write(b.Bytes()) // an error here means that the reader has left
	return nil
}

// Assets serves the style sheet and the icon.
func Assets() http.Handler {
	files := http.FileServerFS(assets)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		protect(w.Header())
		files.ServeHTTP(w, r)
	})
}

// protect is the second line of defence: if something did slip through the escaping, a
// browser would neither run nor load it.
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
