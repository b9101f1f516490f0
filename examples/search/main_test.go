package main

import (
	"bytes"
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/examples/internal/command"
	"evenkeel.dev/examples/search/feed"
	"evenkeel.dev/examples/search/match"
	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func sampleSearcher(t testing.TB, found match.Func) *searcher {
	srv := httptest.NewServer(sampleFeeds())
	t.Cleanup(srv.Close)
	urls := make(map[string]string)
	for _, k := range known {
		urls[k.name] = srv.URL + "/feeds/" + k.name + ".xml"
	}
	return newSearcher(t, found, urls)
}

func newSearcher(t testing.TB, found match.Func, urls map[string]string) *searcher {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	// A busy machine reads a large feed slowly.
	sources := newSources(urls, &http.Client{Transport: transport}, feed.Options{Logger: quiet, Timeout: time.Minute})
	t.Cleanup(func() {
		for _, src := range sources {
			src.cache.Close()
		}
	})
	return &searcher{sources: sources, match: found, log: quiet}
}

var quiet = slog.New(slog.DiscardHandler)

func TestParseArgs(t *testing.T) {
	tests := []struct {
		name  string
		args  []string
		mode  string
		feeds map[string]string
	}{
		{"defaults", nil, "extra", nil},
		{"lean", []string{"-alloc=lean"}, "lean", nil},
		{
			"feeds",
			[]string{"-feeds", "nyt=https://a.example/x?a=b=c, cnn=http://b.example"},
			"extra",
			map[string]string{"nyt": "https://a.example/x?a=b=c", "cnn": "http://b.example"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var cfg config
			fs := flag.NewFlagSet("search", flag.ContinueOnError)
			cfg.register(fs)
			if err := errors.Join(fs.Parse(tt.args), cfg.check()); err != nil {
				t.Fatal(err)
			}
			if cfg.mode != tt.mode || cfg.match == nil {
				t.Errorf("got %+v", cfg)
			}
			if diff := cmp.Diff(tt.feeds, cfg.feeds); diff != "" {
				t.Errorf("feeds (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunRefusesArgs(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"unknown flag", []string{"-verbose"}, "-verbose"},
		{"default of -addr", []string{"-verbose"}, `(default "127.0.0.1:5000")`},
		{"no recorder", []string{"-recorder-cpu=1"}, "-admin"},
		{"argument", []string{"storm"}, `unexpected argument "storm"`},
		{"mode", []string{"-alloc=medium"}, "choose one of extra, lean"},
		{"refresh", []string{"-refresh=slow"}, "choose one of free, locked"},
		{"no age", []string{"-ttl=0"}, "choose 1ms or more"},
		{"unknown feed", []string{"-feeds", "abc=http://a.example/"}, "the names are cnn, bbc, nyt"},
		{"no feed name", []string{"-feeds", "=http://a.example/"}, "unknown feed"},
		{"trailing comma", []string{"-feeds", "cnn=http://a.example/,"}, "unknown feed"},
		{"feed twice", []string{"-feeds", "cnn=http://a.example/,cnn=http://b.example/"}, "given twice"},
		{"no URL", []string{"-feeds", "cnn"}, `feed "cnn"`},
		{"file", []string{"-feeds", "cnn=file:///etc/hosts"}, `feed "cnn"`},
		{"not a URL", []string{"-feeds", "cnn=http://a b/"}, `feed "cnn"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := newCommand(new(config)).Exec(t.Context(), tt.args, &stdout, &stderr); code != command.Usage {
				t.Errorf("exit code %d, want %d", code, command.Usage)
			}
			if s := stderr.String(); !strings.Contains(s, tt.want) || !strings.Contains(s, "Usage of search") {
				t.Errorf("stderr lacks %q or the usage:\n%s", tt.want, s)
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout holds %q", stdout.String())
			}
		})
	}
}
