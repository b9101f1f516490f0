package main

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseArgs(t *testing.T) {
	tests := []struct {
		name  string
		args  []string
		addr  string
		mode  string
		feeds []address
	}{
		{"defaults", nil, "127.0.0.1:5000", "extra", nil},
		{"lean", []string{"-alloc=lean", "-addr", "127.0.0.1:0"}, "127.0.0.1:0", "lean", nil},
		{
			"feeds",
			[]string{"-feeds", "nyt=https://a.example/x?a=b=c, cnn=http://b.example"},
			"127.0.0.1:5000", "extra",
			[]address{{"nyt", "https://a.example/x?a=b=c"}, {"cnn", "http://b.example"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stderr bytes.Buffer
			cfg, err := parseArgs(tt.args, &stderr)
			if err != nil || stderr.Len() > 0 {
				t.Fatalf("error %v, stderr %q", err, stderr.String())
			}
			if cfg.addr != tt.addr || cfg.mode != tt.mode || cfg.match == nil {
				t.Errorf("got %+v", cfg)
			}
			if diff := cmp.Diff(tt.feeds, cfg.feeds, cmp.AllowUnexported(address{})); diff != "" {
				t.Errorf("feeds (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunRefusesArgs(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string // in what it says
	}{
		{"unknown flag", []string{"-verbose"}, "-verbose"},
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
			if code := run(t.Context(), tt.args, &stdout, &stderr); code != exitUsage {
				t.Errorf("exit code %d, want %d", code, exitUsage)
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

func TestHelp(t *testing.T) {
	var stderr bytes.Buffer
	if _, err := parseArgs([]string{"-h"}, &stderr); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error %v", err)
	}
	if code := run(t.Context(), []string{"-h"}, &stderr, &stderr); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}
