//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/reqtrace/recorder"
)

// A service with a package that listens during its initialisation, before this module's packages
// are initialised.
const (
	initSource = `package a

import (
	"os"
	"syscall"
)

func init() { // without package net, which is initialised late
	f, err := os.OpenFile(os.Getenv("SOCKET")+".log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	f.WriteString("init\n")
	s, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		panic(err)
	}
	if err := syscall.Bind(s, &syscall.SockaddrUnix{Name: os.Getenv("SOCKET")}); err != nil {
		panic(err)
	}
	if err := syscall.Listen(s, 1); err != nil {
		panic(err)
	}
}
`
	serviceSource = `package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	_ "evenkeel.dev/a"
	"evenkeel.dev/reqtrace/recorder"
)

func main() {
	rec, err := recorder.Start(context.Background(), recorder.Options{
		Slow: 10 * time.Millisecond, Dir: os.Getenv("DIR"),
	})
	if err != nil {
		panic(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(ln, rec)
	fmt.Println("http://" + ln.Addr().String())
	for {
		serve(rec)
	}
}

func serve(rec *recorder.Recorder) {
	defer rec.Begin(context.Background(), "nap", "").End()
	nap()
}

func nap() { time.Sleep(50 * time.Millisecond) }
`
)

// overlaid builds the service as if its packages were in this module.
func overlaid(t *testing.T) (program string) {
	t.Helper()
	testutil.Slow(t, "it builds a program")
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	overlay := map[string]map[string]string{"Replace": {}}
	for name, source := range map[string]string{"a/a.go": initSource, "a/service/main.go": serviceSource} {
		file := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay["Replace"][filepath.Join(root, name)] = file
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "service")
	flags := []string{"build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./a/service"}
	build := exec.CommandContext(t.Context(), "go", flags...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestReportKept tests that a service whose init listens is recorded with default options, that
// evenkeel report names its cause, also after it was killed, and that nothing in it is initialised
// again.
func TestReportKept(t *testing.T) {
	dir := t.TempDir()
	socket, kept := filepath.Join(dir, "s"), filepath.Join(dir, "recorder")
	cmd := exec.CommandContext(t.Context(), overlaid(t))
	cmd.Env = append(os.Environ(), "SOCKET="+socket, "DIR="+kept)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	page := lines.Text() + "/"
	client := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	var stats recorder.Stats
	end := time.Now().Add(2 * time.Minute)
	for ; stats.Kept == 0; time.Sleep(100 * time.Millisecond) {
		text, err := fetch.Page(t.Context(), client, page+"stats", 1<<20, "")
		if err != nil || json.Unmarshal(text, &stats) != nil || time.Now().After(end) {
			t.Fatalf("%+v, %v", stats, err)
		}
	}
	cause := "waiting for a timer in main.nap, in nap"
	r := call("report", page+"json")
	for !strings.Contains(r.stdout, cause) && time.Now().Before(end) { // on a starved machine: a later snapshot
		time.Sleep(time.Second)
		r = call("report", page+"json")
	}
	r.check(t, cli.ExitOK, []string{cause, "1 replica, all that is kept: seen "}, nil)
	call("explain", page+"snapshot").check(t, cli.ExitOK, []string{"main.nap"}, nil)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	call("report", kept).check(t, cli.ExitOK, []string{cause}, nil)
	if log, err := os.ReadFile(socket + ".log"); err != nil || string(log) != "init\n" {
		t.Errorf("it was initialised %d times, %v", strings.Count(string(log), "\n"), err)
	}
	heads, err := filepath.Glob(filepath.Join(kept, "snapshots", "*.json"))
	if err != nil || len(heads) == 0 {
		t.Fatalf("%v, %v", heads, err)
	}
	if err := os.WriteFile(heads[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	call("report", kept).check(t, cli.ExitOK, []string{"! " + kept + ": snapshot ", "cannot be read"}, nil)
}
