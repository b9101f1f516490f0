// Command nethttp runs net/http's own tests, those of GOROOT, with package httpd serving:
//
//	nethttp [-backends epoll,io_uring] [-short] [-run REGEXP]
//
// An overlay (go help build) makes Server.Serve and ServeTLS httpd's. It fails if a test fails that
// known.txt does not have, or if a known one passes. Start it in module tools.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
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

// These end what hangs. Some of the known tests wait for ever.
const (
	bound      = "20m"
	knownBound = "1m" // of one
)

func main() {
	backends := flag.String("backends", "epoll,io_uring", "run them on each of these `BACKENDS`")
	short := flag.Bool("short", false, "run less, and what there is side by side")
	run := flag.String("run", "", "run only the tests that match `REGEXP`, as of go test, the known ones too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	wrong, err := suite(ctx, strings.Split(*backends, ","), *short, *run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "nethttp:", err)
	}
	if err != nil || wrong {
		os.Exit(1)
	}
}

func suite(ctx context.Context, backends []string, short bool, run string) (wrong bool, err error) {
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
		path: filepath.Join(dir, "http.test"), dir: filepath.Join(goroot, "src", "net", "http"), short: short,
	}
	if err := b.build(ctx, dir); err != nil {
		return false, err
	}
	skip := builds
	for test := range list {
		skip += "|" + pattern(test)
	}
	if run != "" {
		skip = ""
	}
	for _, b.backend = range backends {
		out, code, err := b.run(ctx, "-test.run="+run, "-test.skip="+skip)
		switch {
		case err != nil:
			return true, err
		case code == missing:
			fmt.Printf("%s: %s", b.backend, out)
			continue
		case code != 0 || strings.Contains(out, "no tests to run"):
			wrong = true
			fmt.Printf("FAILED: net/http's tests of %s through httpd on %s\n%s", version, b.backend, out)
		default:
			fmt.Printf("passed: net/http's tests of %s through httpd on %s\n", version, b.backend)
		}
		if run != "" {
			continue
		}
		for _, test := range slices.Sorted(maps.Keys(list)) {
			out, code, err := b.run(ctx, "-test.v", "-test.timeout="+knownBound, "-test.run="+pattern(test))
			switch {
			case err != nil:
				return true, err
			case code != 0:
				fmt.Printf("known: %s: %s\n", test, list[test])
			case strings.Contains(out, "--- PASS: "+test+" "):
				wrong = true
				fmt.Printf("FAILED: %s passes: take it out of known.txt\n", test)
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

// run returns what the tests print, and their exit code.
func (b *binary) run(ctx context.Context, args ...string) (out string, code int, err error) {
	args = append([]string{"-test.timeout=" + bound, fmt.Sprint("-test.short=", b.short)}, args...)
	cmd := exec.CommandContext(ctx, b.path, args...)
	cmd.Dir = b.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // some tests start programs
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Env = append(os.Environ(), backendEnv+"="+b.backend)
	text, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", 0, ctx.Err()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(text), exit.ExitCode(), nil
	}
	return string(text), 0, err
}
