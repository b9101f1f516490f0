package main

import (
	"bytes"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/load"
)

func TestParsePermutes(t *testing.T) {
	for _, tt := range []struct {
		args           string
		operands, rest []string
		n              int
		b              bool
	}{
		{"", nil, nil, 0, false},
		{"x y", []string{"x", "y"}, nil, 0, false},
		{"-n 3 x", []string{"x"}, nil, 3, false},
		{"x -n 3", []string{"x"}, nil, 3, false},
		{"x -n 3 y -b z", []string{"x", "y", "z"}, nil, 3, true},
		{"--n=3 x --b", []string{"x"}, nil, 3, true},
		{"x -b=false -n 4", []string{"x"}, nil, 4, false},
		{"-n 3 -- -b x", nil, []string{"-b", "x"}, 3, false},
		{"x -- y -- z", []string{"x"}, []string{"y", "--", "z"}, 0, false},
		{"-- -h", nil, []string{"-h"}, 0, false},
		{"- -b", []string{"-"}, nil, 0, true},
		{"-s -h x", []string{"x"}, nil, 0, false}, // a flag's value, not a flag
	} {
		a := &cli.App{Stdout: t.Output(), Stderr: t.Output()}
		fs := a.NewFlags("test", "help")
		n, b := fs.Int("n", 0, ""), fs.Bool("b", false, "")
		fs.String("s", "", "")
		operands, rest, err := a.Parse(fs, strings.Fields(tt.args))
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
		}
		if len(rest) == 0 {
			rest = nil
		}
		if d := cmp.Diff(tt.operands, operands) + cmp.Diff(tt.rest, rest); d != "" || *n != tt.n || *b != tt.b {
			t.Errorf("%s: n=%d b=%v %s", tt.args, *n, *b, d)
		}
	}
}

func TestParseHelpAndErrors(t *testing.T) {
	for _, tt := range []struct {
		args           string
		want           error
		stdout, stderr string // parts; "" for nothing at all
	}{
		{"-h", flag.ErrHelp, "what it does", ""},
		{"x --help", flag.ErrHelp, "-n", ""},
		{"-n 3 -help -- x", flag.ErrHelp, "number", ""},
		{"-bogus", cli.ErrUsage, "", "-bogus\nevenkeel test -h tells more\n"},
		{"x -n", cli.ErrUsage, "", "-n"},
		{"-n much", cli.ErrUsage, "", "much"},
	} {
		var out, err bytes.Buffer
		a := &cli.App{Stdout: &out, Stderr: &err}
		fs := a.NewFlags("test", "what it does")
		fs.Int("n", 0, "number")
		_, _, got := a.Parse(fs, strings.Fields(tt.args))
		if !errors.Is(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.args, got, tt.want)
		}
		for _, o := range []struct{ name, got, want string }{
			{"output", out.String(), tt.stdout},
			{"error", err.String(), tt.stderr},
		} {
			if !strings.Contains(o.got, o.want) || o.want == "" && o.got != "" {
				t.Errorf("%s: standard %s is %q, want %q in it", tt.args, o.name, o.got, o.want)
			}
		}
	}
}

func TestPeriod(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want time.Duration // -1: an error
	}{
		{"0", 0},
		{"10", 10 * time.Second},
		{"1.5", 1500 * time.Millisecond},
		{"500ms", 500 * time.Millisecond},
		{"2m30s", 150 * time.Second},
		{"1e2", 100 * time.Second},
		{"", -1},
		{"-1", -1},
		{"-1s", -1},
		{"NaN", -1},
		{"Inf", -1},
		{"-Inf", -1},
		{"1e300", -1},
		{"9223372037", -1},
		{"10 s", -1},
		{"ten", -1},
	} {
		var p cli.Period
		err := p.Set(tt.in)
		if got := time.Duration(p); (err != nil) != (tt.want < 0) || err == nil && got != tt.want {
			t.Errorf("%q: %v, %v, want %v", tt.in, got, err, tt.want)
		}
	}
	p := cli.Period(90 * time.Second)
	if got := p.String(); got != "1m30s" {
		t.Errorf("String: %q", got)
	}
}

func TestList(t *testing.T) {
	var l cli.List
	for _, s := range []string{"a", "", "b, c"} {
		_ = l.Set(s)
	}
	if d := cmp.Diff(cli.List{"a", "", "b, c"}, l); d != "" || l.String() != "a, , b, c" {
		t.Errorf("%q %s", l.String(), d)
	}
}

// TestForeignHabits: a command line as for wrk or hey does what it says here, and evenkeel says
// what that is.
func TestForeignHabits(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	csv := filepath.Join(t.TempDir(), "csv")
	for _, tt := range []struct {
		args, says string
		hints      int
	}{
		{"-t 4 -c 2 -n 10 -d 30s", "-d 30s is the body of each request; -z 30s loads for so long, as wrk's -d does", 2},
		{"-t 4 -c 2 -n 10 -d 30s", "-t 4s is the timeout of one request; wrk's -t is not needed here", 2},
		{"-c 2 -n 10 -d x=30s -o " + csv, "", 0},
		{"-t 4 -c 2 -n 10", "", 0},
	} {
		r := call(append(append([]string{"load", "-pprof", "off"}, strings.Fields(tt.args)...), srv.URL)...)
		r.check(t, cli.ExitOK, nil, []string{tt.says})
		if n := strings.Count(r.stderr, "evenkeel load: "); n != tt.hints {
			t.Errorf("%s: %d hints, want %d: %s", tt.args, n, tt.hints, r.stderr)
		}
	}
}

// TestPprofAt: -pprof takes a host, too.
func TestPprofAt(t *testing.T) {
	first := &url.URL{Scheme: "https", Host: "a:1", Path: "/orders"}
	for in, want := range map[string]string{
		"":                 "https://a:1/debug/pprof/",
		"127.0.0.1:6060":   "http://127.0.0.1:6060/debug/pprof/",
		"http://b:2/":      "http://b:2/debug/pprof/",
		"http://b:2/admin": "http://b:2/admin",
	} {
		if got, err := load.PProfAt(in, first); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
}
