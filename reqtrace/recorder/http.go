package recorder

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/internal/history"
)

// ServeHTTP serves, below the path at which it is mounted, which ends in a slash:
//
//	./                  the page
//	./json[?since=1h]   the history, as JSON
//	./stats             [Stats], as JSON
//	./snapshot          an execution trace of the last seconds, taken now
//	./snapshots         names of those that wait for an analysis, as JSON
//	./snapshot/ID       one that was kept
//	./snapshot/ID.json  what its analysis needs
//
// Put it on a mux that only operators reach.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if q.Method != http.MethodGet && q.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
		return
	}
	switch name := below(q); name {
	case "":
		r.servePage(w, q)
	case "json":
		r.serveHistory(w, q)
	case "snapshots":
		serveJSON(w, r.files.kept())
	case "stats":
		serveJSON(w, r.Stats())
	case "snapshot":
		r.serveNow(w, q)
	default:
		id, ok := strings.CutPrefix(name, "snapshot/")
		if !ok {
			http.NotFound(w, q)
			return
		}
		r.serveKept(w, q, id)
	}
}

// below returns the path below the mount, which is the last part of the path, wherever the mount is.
func below(q *http.Request) string {
	dir, name := path.Split(q.URL.Path)
	if strings.HasSuffix(dir, "/snapshot/") {
		return "snapshot/" + name
	}
	return name
}

func (r *Recorder) servePage(w http.ResponseWriter, q *http.Request) {
	stats := r.Stats()
	o := history.PageOptions{Status: stats.lines(), SnapshotURL: func(id string) string {
		if !r.files.has(id) {
			return ""
		}
		return "snapshot/" + id
	}}
	if !r.o.InProcess {
		o.Now, o.Kept, o.Command = time.Now(), len(r.files.kept()), "evenkeel report "+pageURL(q)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := history.WritePage(w, r.store.Snapshot(), o); err != nil {
		r.log.Debug("recorder: the page", "error", err)
	}
}

func pageURL(q *http.Request) string {
	page := url.URL{Scheme: "http", Host: q.Host, Path: q.URL.Path}
	if q.TLS != nil {
		page.Scheme = "https"
	}
	if asked, err := url.ParseRequestURI(q.RequestURI); err == nil { // q.URL lacks what http.StripPrefix removes
		page.Path = asked.Path
	}
	return page.String()
}

func (r *Recorder) serveHistory(w http.ResponseWriter, q *http.Request) {
	since := time.Time{}
	if text := q.FormValue("since"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			http.Error(w, "since: write a duration, such as since=1h", http.StatusBadRequest)
			return
		}
		since = time.Now().Add(-d)
	}
	serveJSON(w, r.store.Since(since))
}

func serveJSON(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n'))
}

func (r *Recorder) serveNow(w http.ResponseWriter, q *http.Request) {
	if q.Method == http.MethodHead {
		return
	}
	file, err := r.now(q.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer file.drop()
	traceHeaders(w, "snapshot")
	if file.copyTo(w) != nil {
		panic(http.ErrAbortHandler) // the client must not take it for a whole snapshot
	}
}

func traceHeaders(w http.ResponseWriter, id string) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", "attachment; filename="+strconv.Quote(id+traceSuffix))
}

func (r *Recorder) serveKept(w http.ResponseWriter, q *http.Request, id string) {
	f, err := r.files.open(id)
	if err != nil {
		status := http.StatusNotFound
		if errors.Is(err, os.ErrPermission) {
			status = http.StatusInternalServerError
		}
		http.Error(w, err.Error(), status)
		return
	}
	defer f.Close()
	if strings.HasSuffix(id, headSuffix) {
		w.Header().Set("Content-Type", "application/json")
	} else {
		traceHeaders(w, id)
	}
	http.ServeContent(w, q, "", time.Time{}, f)
}
