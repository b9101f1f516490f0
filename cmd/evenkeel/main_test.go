package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/testutil"
)

// asCommand in the environment has the test binary be the command itself.
const asCommand = "EVENKEEL_TEST_AS_COMMAND=1"

// built is where testServer builds, for TestMain to remove.
var built struct {
	sync.Once
	dir, server string
	err         error
}

func TestMain(m *testing.M) {
	if name, value, _ := strings.Cut(asCommand, "="); os.Getenv(name) == value {
		main() // it exits
	}
	if next, ok := os.LookupEnv(asService); ok {
		serveOrders(next)
		return
	}
	// A program built for the race detector sleeps at its end otherwise.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	code := m.Run()
	os.RemoveAll(built.dir)
	if code == 0 {
		if err := leaks.Goroutines(goleak.IgnoreTopFunction("os/signal.loop")); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines left:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// testServer builds testdata/server, once.
func testServer(t *testing.T) string {
	t.Helper()
	testutil.Slow(t, "builds and starts a service")
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "evenkeel-test-"); built.err != nil {
			return
		}
		built.server = filepath.Join(built.dir, "server")
		if out, err := exec.Command("go", "build", testutil.RaceFlag, "-ldflags=-w", "-o", built.server,
			"./testdata/server").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("go build ./testdata/server: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.server
}

// thisCommand is the command evenkeel, not started.
func thisCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand)
	return cmd
}

// result is what a call of the command gave.
type result struct {
	stdout, stderr string
	code           int
}

// call runs the command in this process.
func call(args ...string) result {
	var out, err bytes.Buffer
	a := &cli.App{Stdout: &out, Stderr: &err}
	code := dispatch(context.Background(), a, args)
	return result{out.String(), err.String(), code}
}

var blanks = regexp.MustCompile(` +`)

// check compares a result with the code and with parts of its outputs; of a table's blanks
// only one counts.
func (r result) check(t *testing.T, code int, stdout, stderr []string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	table := blanks.ReplaceAllString(r.stdout, " ")
	for _, s := range stdout {
		if !strings.Contains(table, s) {
			t.Errorf("standard output lacks %q", s)
		}
	}
	for _, s := range stderr {
		if !strings.Contains(r.stderr, s) {
			t.Errorf("standard error lacks %q", s)
		}
	}
	if strings.Contains(r.stderr, "DATA RACE") || strings.Contains(r.stderr, "panic:") {
		t.Error("a race or panic")
	}
	if t.Failed() {
		t.Logf("standard output:\n%s\nstandard error:\n%s", r.stdout, r.stderr)
	}
}

// writeIn makes a file of a folder.
func writeIn(t testing.TB, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// shown is a block of the README and the command that is said to print it, run beside bench.
var shown = regexp.MustCompile("(?m)^<!-- output: evenkeel (.*) -->\n```\n((?s:.*?))^```$")

// TestReadmeShowsOutput runs the commands whose output the README shows. It may leave out lines,
// but each that it has is printed, in this order.
func TestReadmeShowsOutput(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := shown.FindAllStringSubmatch(string(readme), -1)
	if len(blocks) != strings.Count(string(readme), "<!-- output:") {
		t.Errorf("%d of the comments <!-- output: evenkeel ... --> stand right above a block", len(blocks))
	}
	bench, err := filepath.Abs("../../bench")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // -demo writes its page here
	if err := os.Symlink(bench, "bench"); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	for _, m := range blocks {
		var stdout, stderr bytes.Buffer
		a := &cli.App{Stdout: &stdout, Stderr: &stderr}
		if code := dispatch(t.Context(), a, strings.Fields(m[1])); code != cli.ExitOK {
			t.Errorf("evenkeel %s: exit code %d\n%s", m[1], code, stderr.String())
			continue
		}
		lines := strings.Split(stdout.String(), "\n")
		for want := range strings.Lines(m[2]) {
			at := 0
			for at < len(lines) && strings.TrimRight(lines[at], " ") != strings.TrimRight(want, " \n") {
				at++
			}
			if at == len(lines) {
				t.Errorf("evenkeel %s does not print, at this place:\n%sbut:\n%s", m[1], want, stdout.String())
				break
			}
			lines = lines[at+1:]
		}
	}
}

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
