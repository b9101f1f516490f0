package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"evenkeel.dev/examples/search/feed"
)

// publisher is a feed that the form can offer.
type publisher struct{ name, label string }

// known are all of them, in the order of the form's boxes.
var known = []publisher{
	{"cnn", "CNN"},
	{"bbc", "BBC"},
	{"nyt", "NYT"},
}

// address says where a feed is.
type address struct {
	name string
	url  string
}

// source is a feed that can be searched.
type source struct {
	name  string
	label string
	cache *feed.Cache
}

// newSources makes a cache for each address and starts to fill it. o has a logger.
func newSources(addrs []address, client *http.Client, o feed.Options) []source {
	var sources []source
	for _, k := range known {
		i := slices.IndexFunc(addrs, func(a address) bool { return a.name == k.name })
		if i < 0 {
			continue
		}
		at := feed.HTTP{URL: addrs[i].url, Client: client}
		each := o
		each.Logger = o.Logger.With("feed", k.name)
		cache := feed.NewCache(at.Fetch, each)
		cache.Refresh()
		sources = append(sources, source{name: k.name, label: k.label, cache: cache})
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

// parseFeeds reads name=URL,name=URL. A comma inside an address has to be written %2C.
func parseFeeds(s string) ([]address, error) {
	if s == "" {
		return nil, nil
	}
	var addrs []address
	seen := make(map[string]bool)
	for part := range strings.SplitSeq(s, ",") {
		name, raw, _ := strings.Cut(strings.TrimSpace(part), "=")
		if !slices.ContainsFunc(known, func(p publisher) bool { return p.name == name }) {
			return nil, fmt.Errorf("unknown feed %q; the names are %s", name, feedNames())
		}
		if seen[name] {
			return nil, fmt.Errorf("feed %q is given twice", name)
		}
		seen[name] = true
		if err := checkURL(raw); err != nil {
			return nil, fmt.Errorf("feed %q: %w", name, err)
		}
		addrs = append(addrs, address{name: name, url: raw})
	}
	return addrs, nil
}

func checkURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return err
	}
	if u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("%q is not an address such as https://host/path.xml", raw)
	}
	return nil
}
