package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"evenkeel.dev/examples/internal/command"
)

type program struct {
	url    string
	stop   context.CancelFunc
	code   <-chan int
	stderr *bytes.Buffer // after code
}

var listening = regexp.MustCompile(`msg=listening url=(\S+)`)

// start returns when the program listens on a free port.
func start(t *testing.T, args ...string) program {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, w := io.Pipe()
	code := make(chan int, 1)
	p := program{stop: cancel, code: code, stderr: new(bytes.Buffer)}
	go func() {
		defer w.Close()
		code <- newCommand(new(config)).Exec(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), w, p.stderr)
	}()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			p.url = m[1]
			break
		}
	}
	go io.Copy(io.Discard, r)
	if p.url == "" {
		t.Fatalf("exit code %d before it listened; stderr: %s", <-code, p.stderr)
	}
	return p
}

func fetch(t *testing.T, url string) (status int, body string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(b)
}

func TestRun(t *testing.T) {
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	for _, mode := range []string{"extra", "lean"} {
		t.Run(mode, func(t *testing.T) {
			p := start(t, "-alloc", mode)
			status, body := fetch(t, p.url+"/search?term=storm&cnn=on&bbc=on&nyt=on")
			if status != http.StatusOK || strings.Count(body, "<section") != 3 ||
				!strings.Contains(body, "<mark>storm</mark>") {
				t.Errorf("status %d, page:\n%s", status, body)
			}
			if !strings.Contains(body, "sample feeds") {
				t.Error("the page does not say that the news are invented")
			}
			p.stop()
			if code := <-p.code; code != command.OK || p.stderr.Len() > 0 {
				t.Errorf("exit code %d, stderr %q", code, p.stderr)
			}
			if _, err := http.Get(p.url); err == nil {
				t.Error("it still answers")
			}
		})
	}
}

// TestShutdownFinishesRequests stops the program while a request waits for its feed.
func TestShutdownFinishesRequests(t *testing.T) {
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	asked, answer := make(chan bool), make(chan bool)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-answer
		io.WriteString(w, `<rss version="2.0"><channel><item><title>A Storm</title></item></channel></rss>`)
	}))
	defer slow.Close()

	p := start(t, "-feeds", "bbc="+slow.URL)
	got := make(chan string, 1)
	go func() {
		_, body := fetch(t, p.url+"/search?term=storm&bbc=on")
		got <- body
	}()
	<-asked
	waitForRequest(t, p.url)
	p.stop()
	for {
		c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if err != nil {
			break
		}
		c.Close()
	}
	close(answer)
	if body := <-got; !strings.Contains(body, "<mark>Storm</mark>") || strings.Contains(body, "sample feeds") {
		t.Errorf("the request under way was answered with:\n%s", body)
	}
	if code := <-p.code; code != command.OK || p.stderr.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, p.stderr)
	}
}

// waitForRequest returns when a goroutine waits in a search.
func waitForRequest(t *testing.T, url string) {
	t.Helper()
	for t.Context().Err() == nil {
		if _, stacks := fetch(t, url+"/debug/pprof/goroutine?debug=1"); strings.Contains(stacks, "search.searchFeed") {
			return
		}
	}
}

func TestRunOnABusyPort(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var stdout, stderr bytes.Buffer
	if code := newCommand(new(config)).Exec(t.Context(), []string{"-addr", ln.Addr().String()}, &stdout,
		&stderr); code != command.Failed {
		t.Errorf("exit code %d, want %d", code, command.Failed)
	}
	if s := stderr.String(); !strings.Contains(s, "in use") || !strings.Contains(s, "-addr") ||
		strings.Count(s, "\n") != 1 {
		t.Errorf("stderr %q", s)
	}
}
