package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	_ "net/http/pprof"
	"time"
	"unicode/utf8"

	"evenkeel.dev/examples/search/feed"
	"evenkeel.dev/examples/search/match"
	"evenkeel.dev/examples/search/page"
)

const (
	maxTermLen  = 200      // bytes
	maxBodySize = 16 << 10 // bytes
	maxShown    = 25       // hits of a feed; all are counted
)

// searcher does not change once it serves.
type searcher struct {
	sources []source
	match   match.Func
	sample  bool // built-in feeds
	log     *slog.Logger
}

func (s *searcher) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.form)
	mux.HandleFunc("GET /search", s.search)
	mux.HandleFunc("POST /search", s.search)
	mux.Handle("GET /style.css", page.Assets())
	mux.Handle("GET /icon.svg", page.Assets())

	mux.Handle("/debug/pprof/", http.DefaultServeMux) // where net/http/pprof puts them
	return mux
}

func (s *searcher) form(w http.ResponseWriter, _ *http.Request) {
	p := page.Page{Sample: s.sample}
	for _, src := range s.sources {
		p.Boxes = append(p.Boxes, page.Box{Name: src.name, Label: src.label, Checked: true})
	}
	s.write(w, http.StatusOK, p)
}

func (s *searcher) search(w http.ResponseWriter, r *http.Request) {
	p := page.Page{Sample: s.sample}
	r.Body = http.MaxBytesReader(w, r.Body, maxBodySize)
	status, wrong := readForm(r)

	var chosen []source
	for _, src := range s.sources {
		on := r.Form.Get(src.name) == "on"
		if on {
			chosen = append(chosen, src)
		}
		p.Boxes = append(p.Boxes, page.Box{Name: src.name, Label: src.label, Checked: on})
	}
	term := r.Form.Get("term")
	if wrong == "" {
		status, wrong = check(term, len(chosen))
	}
	if wrong != "" {
		p.Message = wrong
		s.write(w, status, p)
		return
	}

	p.Term = term
	found := s.match(term)
	for _, src := range chosen {
		p.Results = append(p.Results, searchFeed(r, src, term, found))
	}
	s.write(w, status, p)
}

// readForm returns a status and what is wrong, or nothing.
func readForm(r *http.Request) (status int, wrong string) {
	err := r.ParseForm()
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("The request is longer than %d bytes.", maxBodySize)
	}
	if err != nil {
		return http.StatusBadRequest, "The form could not be read."
	}
	return http.StatusOK, ""
}

func check(term string, feeds int) (status int, wrong string) {
	switch {
	case term == "":
		wrong = "Type a term to search for."
	case len(term) > maxTermLen:
		wrong = fmt.Sprintf("The term is too long: %d bytes, and %d are allowed.", len(term), maxTermLen)
	case !utf8.ValidString(term):
		wrong = "The term is not valid UTF-8."
	case feeds == 0:
		wrong = "Choose at least one feed."
	default:
		return http.StatusOK, ""
	}
	return http.StatusBadRequest, wrong
}

func searchFeed(r *http.Request, src source, term string, found func(*feed.Item) bool) page.Result {
	res := page.Result{Name: src.name, Label: src.label}
	copied, err := src.cache.Get(r.Context())
	if err != nil {
		res.Err = err
		return res
	}
	if copied.Stale != nil {
		res.Stale, res.Age = copied.Stale, time.Since(copied.Fetched)
	}
	for i := range copied.Items {
		it := &copied.Items[i]
		if !found(it) {
			continue
		}
		if res.Total++; res.Total > maxShown {
			continue
		}
		res.Hits = append(res.Hits, page.Hit{
			Title: page.Highlight(it.Title, term),
			Text:  page.Highlight(it.Text, term),
			Link:  it.Link,
		})
	}
	return res
}

func (s *searcher) write(w http.ResponseWriter, status int, p page.Page) {
	if err := page.Write(w, status, p); err != nil {
		s.log.Error("page not rendered", "err", err)
	}
}
