// Package feeds holds three sample RSS feeds and serves them, so that the search program runs
// without a network. The news in them is invented and comes from no publisher.
package feeds

import (
	"embed"
	"net/http"
)

//go:embed bbc.xml cnn.xml nyt.xml
var files embed.FS

// Handler serves the sample feeds: /bbc.xml, /cnn.xml and /nyt.xml.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{file}", func(w http.ResponseWriter, r *http.Request) {
		b, err := files.ReadFile(r.PathValue("file"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/rss+xml; charset=utf-8")
		w.Write(b) // an error here means that the reader has left
	})
	return mux
}
