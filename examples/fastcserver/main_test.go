//go:build unix && cgo

package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"evenkeel.dev/examples/internal/program"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/testutil"
)

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

func TestMain(m *testing.M) { program.Main(main, func() { leaks.Main(m) }) }

func TestFastcserver(t *testing.T) {
	path := os.Args[0]
	t.Run("answers", func(t *testing.T) { testAnswers(t, path) })
	t.Run("refuses", func(t *testing.T) { testRefuses(t, path) })
	t.Run("run_once.sh", func(t *testing.T) { testRunOnce(t, path) })
}

// testAnswers wants the same answers with FASTC=off.
func testAnswers(t *testing.T, path string) {
	answers := map[string]string{}
	for _, way := range []string{"", "off"} {
		t.Run("FASTC="+way, func(t *testing.T) {
			t.Setenv("FASTC", way)
			p := program.Start(t, path)
			for _, endpoint := range []string{
				"/cgo/62/2", "/blockcall/62/2", "/yield/62/2", "/many/cgo", "/many/fast",
			} {
				body := fetch(t, p, endpoint)
				if first, ok := answers[endpoint]; ok && first != body {
					t.Errorf("%s: %s, and before %s", endpoint, body, first)
				}
				answers[endpoint] = body
			}
			log := p.Stop(syscall.SIGTERM)
			if strings.Contains(log, "FASTC=off") != (way == "off") {
				t.Errorf("which way fastc goes:\n%s", log)
			}
			if !strings.Contains(log, "msg=stopping") || strings.Count(log, "[GIN] ") != 5 {
				t.Errorf("the log ends so:\n%s", log)
			}
		})
	}
	if answers["/cgo/62/2"] != answers["/blockcall/62/2"] || answers["/cgo/62/2"] != answers["/yield/62/2"] {
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

func testRunOnce(t *testing.T, path string) {
	testutil.Slow(t, "builds evenkeel")
	for _, tool := range []string{"bash", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s: %v", tool, err)
		}
	}
	once := func(addr string, args ...string) (string, error) {
		cmd := exec.Command("bash", append([]string{"tests/run_once.sh"}, args...)...)
		// The same flags reuse what this test was built of.
		cmd.Env = append(os.Environ(), "SERVER="+addr, "GOFLAGS="+testutil.RaceFlag)
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	p := program.Start(t, path)
	text, err := once(p.Addr, "200", "4", "20", "1")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, want := range []string{
		"/cgo/20/1\n", "/blockcall/20/1\n", "/yield/20/1\n", "/go/20/1\n",
		"/many/cgo\n", "/many/fast\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if text, err := once(p.Addr, "200"); err == nil || !strings.Contains(text, "usage: ") {
		t.Errorf("one argument: %v\n%s", err, text)
	}
	if text, err := once(p.Addr, "20", "4", "20000", "1"); err == nil || !strings.Contains(text, "status 400") {
		t.Errorf("a size out of range: %v\n%s", err, text)
	}
	log := p.Stop(syscall.SIGINT)
	for _, want := range []string{`"/cgo/20/1"`, `"/blockcall/20/1"`} {
		if n := strings.Count(log, want); n != 200 {
			t.Errorf("the server's log has %d lines with %s", n, want)
		}
	}
	if text, err := once(p.Addr, "200", "4", "20", "1"); err == nil ||
		!strings.Contains(text, "start the server in another terminal") {
		t.Errorf("without the server: %v\n%s", err, text)
	}
}

func TestWithoutCgo(t *testing.T) {
	testutil.Long(t, "it compiles much of the standard library again")
	if testutil.RaceFlag == "-race=true" {
		t.Skip("the race detector needs cgo")
	}
	t.Setenv("CGO_ENABLED", "0")
	program.Refuses(t, "go", 1, "build it with CGO_ENABLED=1", "run", ".")
}
