//go:build unix && cgo

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evenkeel.dev/examples/internal/program"
)

// fetch gets a path from a running server, on a connection of its own.
func fetch(t *testing.T, p *program.Program, path string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + p.Addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s: status %d, %s, %v", path, resp.StatusCode, body, err)
	}
	return string(body)
}

func TestFastcserver(t *testing.T) {
	path := program.Build(t)
	t.Run("answers", func(t *testing.T) { testAnswers(t, path) })
	t.Run("refuses", func(t *testing.T) { testRefuses(t, path) })
	t.Run("run_once.sh", func(t *testing.T) { testRunOnce(t, path) })
}

// testAnswers wants the same answers with and without the short way.
func testAnswers(t *testing.T, path string) {
	answers := map[string]string{}
	for _, way := range []string{"", "off"} {
		t.Run("FASTC="+way, func(t *testing.T) {
			t.Setenv("FASTC", way)
			p := program.Start(t, path)
			for _, endpoint := range []string{"/cgo/62/2", "/blockcall/62/2", "/adaptive/62/2", "/many/cgo", "/many/fast"} {
				body := fetch(t, p, endpoint)
				if first, ok := answers[endpoint]; ok && first != body {
					t.Errorf("%s: %s, and before %s", endpoint, body, first)
				}
				answers[endpoint] = body
			}
			if stats := fetch(t, p, "/stats"); strings.Contains(stats, "FASTC=off") != (way == "off") {
				t.Errorf("/stats: %s", stats)
			}
			log := p.Stop(syscall.SIGTERM)
			if !strings.Contains(log, "msg=stopping") || strings.Count(log, "[GIN] ") != 6 {
				t.Errorf("the log ends so:\n%s", log)
			}
		})
	}
	if answers["/cgo/62/2"] != answers["/blockcall/62/2"] || answers["/cgo/62/2"] != answers["/adaptive/62/2"] {
		t.Errorf("%v", answers)
	}
}

func testRefuses(t *testing.T, path string) {
	program.Refuses(t, path, 2, "flag provided but not defined: -port", "-port", "8080")
	program.Refuses(t, path, 2, `unexpected argument "8080"`, "8080")
	p := program.Start(t, path)
	program.Refuses(t, path, 1, "address already in use; choose another address with -addr", "-addr", p.Addr)
	p.Stop(syscall.SIGINT)
}

// testRunOnce runs the script as its user does, for a moment.
func testRunOnce(t *testing.T, path string) {
	for _, tool := range []string{"bash", "ab"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s (ab is in the package apache2-utils): %v", tool, err)
		}
	}
	if os.Getenv("EVENKEEL_CHECK") != "1" {
		t.Skip("needs EVENKEEL_CHECK=1: the script builds a program of module bench, with its plotting library; make check runs it")
	}
	out, bin := t.TempDir(), t.TempDir()
	if err := os.Symlink(path, filepath.Join(bin, "fastcserver")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("tests/run_once.sh", "200", "4", "20", "1")
	cmd.Env = append(os.Environ(), "OUT="+out, "BIN="+bin)
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, want := range []string{"/cgo/20/1 ", "/blockcall/20/1 ", "/adaptive/20/1 ", "/go/20/1 ", "/many/cgo ", "/many/fast ", "failed"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	wantPictures(t, out)
	if log, err := os.ReadFile(filepath.Join(out, "server.log")); err != nil || bytes.Count(log, []byte("[GIN] ")) < 6*200 {
		t.Errorf("the server's log: %v, %d bytes", err, len(log))
	}

	log, script := filepath.Join(out, "running.log"), filepath.Join(bin, "in another terminal")
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/bash\nexec %q \"$@\" > >(tee %q)\n", path, log), 0o700); err != nil {
		t.Fatal(err)
	}
	running := program.Start(t, script)
	again := func(addr string) (string, error) {
		cmd := exec.Command("tests/run_once.sh", "200", "4", "20", "1")
		cmd.Env = append(os.Environ(), "OUT="+filepath.Join(out, "running"), "BIN="+bin, "SERVER="+addr, "LOG="+log)
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	if text, err := again(running.Addr); err != nil {
		t.Errorf("SERVER=%s: %v\n%s", running.Addr, err, text)
	}
	wantPictures(t, filepath.Join(out, "running"))
	running.Stop(syscall.SIGINT)
	if text, err := again(running.Addr); err == nil || !strings.Contains(text, "nothing listens at "+running.Addr) {
		t.Errorf("without the server: %v\n%s", err, text)
	}
	cmd = exec.Command("tests/run_once.sh", "200", "x", "20", "1")
	if text, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(text), "usage: ") {
		t.Errorf("%v\n%s", err, text)
	}
}

// wantPictures wants both pictures of run_once.sh.
func wantPictures(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"latency.png", "handlers.png"} {
		if picture, err := os.ReadFile(filepath.Join(dir, name)); err != nil || http.DetectContentType(picture) != "image/png" {
			t.Errorf("the picture: %v", err)
		}
	}
}

// TestWithoutCgo wants the package to build, and the program to say what is missing.
func TestWithoutCgo(t *testing.T) {
	if os.Getenv("EVENKEEL_CHECK") != "1" {
		t.Skip("needs EVENKEEL_CHECK=1: it compiles much of the standard library again; make check runs it")
	}
	t.Setenv("CGO_ENABLED", "0")
	program.Refuses(t, program.Build(t), 1, "build it with CGO_ENABLED=1")
}
