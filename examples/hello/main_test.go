//go:build unix

package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"evenkeel.dev/examples/internal/program"
	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { program.Main(main, func() { leaks.Main(m) }) }

// TestHello runs the program as its user does.
func TestHello(t *testing.T) {
	path := os.Args[0]
	p := program.Start(t, path, "-admin", "127.0.0.1:0", "-slow", "1ms")
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	res, err := http.Get("http://" + p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK || string(body) != "hello, world\n" {
		t.Errorf("%v, status %d, body %q", err, res.StatusCode, body)
	}
	// A gate answers probes itself, without the handler's body.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.Addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Gcgate-Probe", "1")
	probed, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	probed.Body.Close()
	if probed.StatusCode != http.StatusNoContent {
		t.Errorf("a probe: %s, so there is no gate", probed.Status)
	}
	page := regexp.MustCompile(`msg=recording url=(\S+)`).FindStringSubmatch(p.Log())
	if page == nil {
		t.Fatalf("no recorder:\n%s", p.Log())
	}
	for _, path := range []string{"", "json", "stats"} {
		if res, err = http.Get(page[1] + path); err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("the recorder's page %q: %s", path, res.Status)
		}
	}
	program.Refuses(t, path, 1, "choose another address with -addr", "-addr", p.Addr)
	program.Refuses(t, path, 2, "-admin", "-addr", "127.0.0.1:0", "-slow", "1s")
	program.Refuses(t, path, 2, "choose 0 to", "-addr", "127.0.0.1:0", "-live", "-1")
	program.Refuses(t, path, 2, "", "-policy", "none")
	program.Refuses(t, path, 1, "Options.Slow", "-addr", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-slow", "1h")
	if log := p.Stop(syscall.SIGTERM); !strings.Contains(log, "gcgate") {
		t.Errorf("the log says nothing of a gate:\n%s", log)
	}
}

// TestReplica tests in-band headers, -live, and the gate's page.
func TestReplica(t *testing.T) {
	p := program.Start(t, os.Args[0], "-live", "1", "-turns", filepath.Join(t.TempDir(), "turn"))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	for path, want := range map[string]string{"/": "hello, world\n", "/debug/gate": `"Policy": "drain"`} {
		res, err := http.Get("http://" + p.Addr + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %v, %q", path, err, body)
		}
	}
	p.Stop(syscall.SIGTERM)
}
