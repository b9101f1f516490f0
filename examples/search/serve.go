package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/examples/internal/command"
	"evenkeel.dev/examples/search/feed"
)

type publisher struct{ name, label string }

// in the order of the form's boxes
var known = []publisher{
	{"cnn", "CNN"},
	{"bbc", "BBC"},
	{"nyt", "NYT"},
}

type source struct {
	publisher
	cache *feed.Cache
}

// newSources makes a cache for each URL, by name, and starts to fill it.
func newSources(urls map[string]string, client *http.Client, o feed.Options) []source {
	var sources []source
	for _, k := range known {
		at, ok := urls[k.name]
		if !ok {
			continue
		}
		each := o
		each.Logger = o.Logger.With("feed", k.name)
		cache := feed.NewCache(func(ctx context.Context) ([]feed.Item, error) {
			return feed.Fetch(ctx, client, at)
		}, each)
		cache.Refresh()
		sources = append(sources, source{k, cache})
	}
	return sources
}

func feedNames() string {
	var names []string
	for _, k := range known {
		names = append(names, k.name)
	}
	return strings.Join(names, ", ")
}

func parseFeeds(s string) (map[string]string, error) {
	if s == "" {
		return nil, nil
	}
	urls := make(map[string]string)
	for part := range strings.SplitSeq(s, ",") {
		name, raw, _ := strings.Cut(strings.TrimSpace(part), "=")
		if !slices.ContainsFunc(known, func(p publisher) bool { return p.name == name }) {
			return nil, fmt.Errorf("unknown feed %q; the names are %s", name, feedNames())
		}
		if urls[name] != "" {
			return nil, fmt.Errorf("feed %q is given twice", name)
		}
		u, err := url.Parse(raw)
		if err == nil && (u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")) {
			err = fmt.Errorf("%q is not an address such as https://host/path.xml", raw)
		}
		if err != nil {
			return nil, fmt.Errorf("feed %q: %w", name, err)
		}
		urls[name] = raw
	}
	return urls, nil
}

func (c *config) serve(ctx context.Context, ln net.Listener, _ io.Writer, log *slog.Logger) error {
	urls, options := c.feeds, feed.Options{TTL: c.ttl, HoldLock: c.locked, Logger: log}
	if urls == nil {
		options.Timeout = time.Minute // without a network, only a busy machine is slow
		var stop func()
		var err error
		if urls, stop, err = serveSamples(log); err != nil {
			return err
		}
		defer stop()
	}

	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	s := &searcher{
		sources: newSources(urls, &http.Client{Transport: transport}, options),
		match:   c.match,
		sample:  c.feeds == nil,
		log:     log,
	}
	defer func() {
		for _, src := range s.sources {
			src.cache.Close()
		}
	}()

	if err := c.recorder.Start(log); err != nil {
		return err
	}
	defer c.recorder.Close()
	return command.Server{}.Serve(ctx, ln, c.recorder.Around(s.routes()), log, "alloc", c.mode)
}

func serveSamples(log *slog.Logger) (urls map[string]string, stop func(), err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("start the sample feeds: %w; or give real ones with -feeds", err)
	}
	srv := command.NewServer(sampleFeeds(), log)
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.Serve(ln)
	}()
	urls = make(map[string]string)
	for _, k := range known {
		urls[k.name] = "http://" + ln.Addr().String() + "/feeds/" + k.name + ".xml"
	}
	return urls, func() { srv.Close(); <-done }, nil
}

//go:embed feeds/*.xml
var samples embed.FS

// sampleFeeds serves bbc.xml, cnn.xml and nyt.xml below /feeds/, whose news are invented.
func sampleFeeds() http.Handler {
	mux, files := http.NewServeMux(), http.FileServerFS(samples)
	mux.HandleFunc("GET /feeds/{file}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml; charset=utf-8")
		files.ServeHTTP(w, r)
	})
	return mux
}
