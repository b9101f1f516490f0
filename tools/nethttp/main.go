// Command nethttp runs net/http's own tests, those of GOROOT, with package httpd serving:
//
//	nethttp [-backends epoll,io_uring] [-loops N] [-short] [-run REGEXP]
//
// An overlay (go help build) makes Server.Serve and ServeTLS httpd's. It fails if a test fails that
// known.txt does not have, or if a known one passes. Start it in module tools.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// known has the tests that fail through httpd: a line each, with the reason.
//
//go:embed known.txt
var known string

// builds are tests of the go command, in which nothing serves.
const builds = "^TestOmitHTTP2$|^TestOmitHTTP2Vet$|^TestCmdGoNoHTTPServer$"

// bound ends what hangs.
const bound = "20m"

func main() {
	backends := flag.String("backends", "epoll,io_uring", "run them on each of these `BACKENDS`")
	loops := flag.Int("loops", 2, "let so many `LOOPS` serve, with connections that move all the time")
	short := flag.Bool("short", false, "run less, and what there is side by side")
	run := flag.String("run", "", "run only the tests that match `REGEXP`, as of go test, the known ones too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	wrong, err := suite(ctx, strings.Split(*backends, ","), *loops, *short, *run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "nethttp:", err)
	}
	if err != nil || wrong {
		os.Exit(1)
	}
}

func suite(ctx context.Context, backends []string, loops int, short bool, run string) (wrong bool, err error) {
	list, err := parseKnown(known)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "nethttp")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	goroot, version, err := toolchain()
	if err != nil {
		return false, err
	}
	b := binary{
		path: filepath.Join(dir, "http.test"), races: filepath.Join(dir, "race"),
		dir: filepath.Join(goroot, "src", "net", "http"), loops: loops, short: short,
	}
	if err := b.build(ctx, dir); err != nil {
		return false, err
	}
	skip := builds
	for test := range list {
		skip += "|" + pattern(test)
	}
	for _, b.backend = range backends {
		if run != "" {
			skip = ""
		}
		r, err := b.run(ctx, "-test.run="+run, "-test.skip="+skip)
		if err != nil {
			return true, err
		}
		if len(r.ended) == 0 && strings.Contains(r.output[""], missing) {
			fmt.Printf("%s: %s", b.backend, r.output[""])
			continue
		}
		fmt.Printf("net/http's tests of %s through httpd on %s: %d passed, %d skipped, %d failed\n",
			version, b.backend, r.count("pass"), r.count("skip"), r.count("fail"))
		wrong = r.failed() || wrong
		if run != "" {
			continue
		}
		for _, test := range slices.Sorted(maps.Keys(list)) {
			r, err := b.run(ctx, "-test.run="+pattern(test))
			switch {
			case err != nil:
				return true, err
			case r.ended[test] == "pass":
				wrong = true
				fmt.Printf("FAILED: %s passes: take it out of known.txt\n", test)
			case r.ended[test] == "fail":
				fmt.Printf("known: %s: %s\n", test, list[test])
			default:
				fmt.Printf("known: %s does not run here\n", test)
			}
		}
	}
	return wrong, nil
}

// toolchain returns GOROOT and the version. No overlay may replace files in the module cache, so a
// Go that was downloaded there is used by a link in .bin.
func toolchain() (goroot, version string, err error) {
	out, err := exec.Command("go", "env", "GOROOT", "GOVERSION", "GOMODCACHE").Output()
	if err != nil {
		return "", "", fmt.Errorf("go env: %w", err)
	}
	env := strings.Split(string(out), "\n")
	goroot, version = env[0], env[1]
	if !strings.HasPrefix(goroot, env[2]+string(filepath.Separator)) {
		return goroot, version, nil
	}
	// always the same, because cgo's builds depend on it
	link, err := filepath.Abs(filepath.Join("..", ".bin", "goroot-"+version))
	if err != nil {
		return "", "", err
	}
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return "", "", err
	}
	_ = os.Remove(link)
	if err := os.Symlink(goroot, link); err != nil {
		return "", "", err
	}
	for name, value := range map[string]string{
		"GOROOT": link, "GOTOOLCHAIN": "local",
		"PATH": filepath.Join(link, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH"),
	} {
		if err := os.Setenv(name, value); err != nil {
			return "", "", err
		}
	}
	return link, version, nil
}

func parseKnown(text string) (map[string]string, error) {
	list := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, ": ")
		if !ok {
			return nil, fmt.Errorf("known.txt: %q has no reason: write TEST: REASON", line)
		}
		list[name] = reason
	}
	return list, nil
}

func pattern(test string) string { return "^" + strings.ReplaceAll(test, "/", "$/^") + "$" }

type binary struct {
	path, dir, backend string
	loops              int
	races              string // prefix of the race detector's reports
	short              bool
}

func (b *binary) build(ctx context.Context, tmp string) error {
	top, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	file, err := overlay(tmp, b.dir, filepath.Join(top, "httpd"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-race", "-vet=off", "-overlay="+file, "-o", b.path, "net/http")
	cmd.Dir, cmd.Stdout, cmd.Stderr = top, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building net/http's tests: %w", err)
	}
	return nil
}

func (b *binary) run(ctx context.Context, args ...string) (*results, error) {
	args = append([]string{
		"tool", "test2json", b.path, "-test.v=test2json", "-test.timeout=" + bound,
		fmt.Sprint("-test.short=", b.short),
	}, args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = b.dir, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go tool test2json leaves its child behind
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Env = append(os.Environ(), backendEnv+"="+b.backend, fmt.Sprint(loopsEnv, "=", b.loops),
		"GORACE=atexit_sleep_ms=0 log_path="+b.races)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := newResults()
	err = r.read(stdout)
	r.exit = cmd.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if exit := (*exec.ExitError)(nil); err == nil && r.exit != nil && !errors.As(r.exit, &exit) {
		err = r.exit
	}
	return r, errors.Join(err, b.race(r))
}

// race moves the race detector's reports to r, because in the output they would be any test's.
func (b *binary) race(r *results) error {
	files, err := filepath.Glob(b.races + ".*")
	for _, file := range files {
		text, e := os.ReadFile(file)
		r.output[""] += string(text)
		err = errors.Join(err, e, os.Remove(file))
	}
	return err
}

// results are how tests ended, and the output of those that did not pass.
type results struct {
	ended  map[string]string // action of test2json; "": it did not end
	output map[string]string // "": of no test
	exit   error
}

func newResults() *results {
	return &results{ended: map[string]string{}, output: map[string]string{}}
}

func (r *results) read(from io.Reader) error {
	for events := json.NewDecoder(from); ; {
		var e struct{ Action, Test, Output string }
		switch err := events.Decode(&e); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch e.Action {
		case "run":
			r.ended[e.Test] = ""
		case "output":
			r.output[e.Test] += e.Output
		case "pass", "skip", "fail":
			if e.Test == "" {
				continue
			}
			r.ended[e.Test] = e.Action
			if e.Action != "fail" {
				delete(r.output, e.Test)
			}
		}
	}
}

// count leaves out tests that have subtests.
func (r *results) count(action string) (n int) {
	for test, a := range r.ended {
		if a == action && !r.below(test, func(string) bool { return true }) {
			n++
		}
	}
	return n
}

func (r *results) below(test string, so func(action string) bool) bool {
	for name, action := range r.ended {
		if strings.HasPrefix(name, test+"/") && so(action) {
			return true
		}
	}
	return false
}

// failures leaves out tests whose subtests failed, and those that wait for others.
func (r *results) failures() map[string]string {
	bad := func(action string) bool { return action != "pass" && action != "skip" }
	said := map[string]string{}
	for test, action := range r.ended {
		if bad(action) && !r.below(test, bad) && !strings.HasSuffix(r.output[test], "=== PAUSE "+test+"\n") {
			said[test] = r.output[test]
		}
	}
	return said
}

func (r *results) failed() bool {
	said := r.failures()
	for _, test := range slices.Sorted(maps.Keys(said)) {
		fmt.Printf("FAILED: %s\n%s", test, said[test])
	}
	if r.exit != nil {
		fmt.Printf("%v\n%s", r.exit, r.output[""])
	}
	return r.exit != nil || len(r.ended) == 0
}
