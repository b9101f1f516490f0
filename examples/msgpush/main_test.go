package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evenkeel.dev/examples/msgpush/window"
	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

var listening = regexp.MustCompile(`msg=listening url=(\S+)`)

func start(t *testing.T, args ...string) (url string, stop func() (code int, stderr string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		defer w.Close()
		code <- newService().Command().Exec(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), w, &stderr)
	}()
	for lines := bufio.NewScanner(r); url == "" && lines.Scan(); {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	go io.Copy(io.Discard, r)
	if url == "" {
		t.Fatalf("exit code %d before it listened: %s", <-code, stderr.String())
	}
	return url, func() (int, string) {
		cancel()
		return <-code, stderr.String()
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return string(b)
}

func TestRun(t *testing.T) {
	turns := filepath.Join(t.TempDir(), "turns")
	for _, args := range []string{
		"-shape ptr", "-shape flat -gate", "-shape flat -gate=through", "-gate=shed -health -turns " +
			turns, "-gate=drain -inband",
	} {
		t.Run(args, func(t *testing.T) {
			url, stop := start(t, append(strings.Fields(args), "-size", "100", "-batch", "10", "-window", "5000")...)
			for _, want := range []string{"10\n", "20\n", "30\n"} {
				if got := get(t, url+"/push"); got != want {
					t.Errorf("/push answers %q, want %q", got, want)
				}
			}
			var s window.Stats
			if err := json.Unmarshal([]byte(get(t, url+"/stats")), &s); err != nil {
				t.Error(err)
			}
			if s.Runtime.HeapBytes < 100*5000 || (s.Gate != nil) != strings.Contains(args, "-gate") {
				t.Errorf("stats %+v", s)
			}
			if strings.Contains(args, "-health") {
				get(t, url+"/health")
			}
			if code, stderr := stop(); code != 0 || stderr != "" {
				t.Errorf("exit code %d, stderr %q", code, stderr)
			}
		})
	}
}

func TestRunRefuses(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-batch 0", "-batch 0: choose 1 to 300000, the window"},
		{"-batch 11 -window 10", "choose 1 to 10"},
		{"-shape tree", "flat, ptr"},
		{"-size 0", "0 bytes"},
	} {
		var out, stderr bytes.Buffer
		if code := newService().Command().Exec(t.Context(), strings.Fields(c.args), &out, &stderr); code != 2 ||
			!strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: exit code %d, stderr lacks %q:\n%s", c.args, code, c.want, stderr.String())
		}
	}
}
