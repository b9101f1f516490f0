package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"

	"evenkeel.dev/examples/fastcserver/matrix"
)

var (
	recording = regexp.MustCompile(`msg=recording url=(\S+)$`)
	serving   = regexp.MustCompile(`msg=serving by=(\S+) .* metrics=(\S+)$`)
	listening = regexp.MustCompile(`msg=listening url=http://(\S+)`)
)

func TestMain(m *testing.M) { leaks.Main(m) }

// TestRun tests that each way answers, has gate, recorder and metrics, and ends all. By httpd idle
// connections have no goroutines.
func TestRun(t *testing.T) {
	for _, way := range []struct {
		by   string
		args []string
		each bool // idle connections have goroutines
	}{{"httpd", nil, false}, {"net/http", []string{"-nethttp"}, true}} {
		t.Run(way.by, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			r, w := io.Pipe()
			var stderr bytes.Buffer
			code := make(chan int, 1)
			args := append([]string{"-addr", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-window", "100", "-gate=through"},
				way.args...)
			go func() {
				defer w.Close()
				code <- newService().Command().Exec(ctx, args, w, &stderr)
			}()
			var log, addr, metrics, page string
			for lines := bufio.NewScanner(r); addr == "" && lines.Scan(); {
				log += lines.Text() + "\n"
				if m := recording.FindStringSubmatch(lines.Text()); m != nil {
					page = m[1]
				}
				if m := serving.FindStringSubmatch(lines.Text()); m != nil {
					metrics = m[2]
					if m[1] != way.by {
						t.Errorf("it is served by %s", m[1])
					}
				}
				if m := listening.FindStringSubmatch(lines.Text()); m != nil {
					addr = m[1]
				}
			}
			go io.Copy(io.Discard, r)
			if addr == "" || page == "" || metrics == "" {
				t.Fatalf("it does not say where it listens and what serves:\n%s", log)
			}

			f := matrix.Take(order)
			matrix.Product(f.A, f.B, f.Out, order, 1)
			const conns = 50
			started := leaks.Started()
			for i := range conns {
				c, err := net.Dial("tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if body := ask(t, c, "/report"); body != answer(uint64(16*(i+1)), f) {
					t.Errorf("%q, want %q", body, answer(uint64(16*(i+1)), f))
				}
			}
			for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				n := started()
				if way.each == (n > conns/2) {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("%d goroutines for %d idle connections", n, conns)
				}
			}

			says := get(t, metrics)
			for _, line := range []string{
				"evenkeel_gate_requests_total 50\n", "evenkeel_recorder_requests_total 50\n",
				`evenkeel_gate_policy_info{policy="through"} 1`,
			} {
				if !strings.Contains(says, line) {
					t.Errorf("the metrics have no %q", line)
				}
			}
			for _, line := range []string{
				"evenkeel_httpd_connections 50\n",
				"evenkeel_httpd_accepted_connections_total 50\n",
			} {
				if strings.Contains(says, line) == way.each {
					t.Errorf("the metrics have %q: %t", line, way.each)
				}
			}
			get(t, page)
			stop()
			if got := <-code; got != 0 || stderr.Len() > 0 {
				t.Errorf("exit code %d, stderr %q", got, stderr.String())
			}
		})
	}
}

func ask(t *testing.T, c net.Conn, path string) string {
	t.Helper()
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: test\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, resp)
}

func get(t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, resp)
}

func read(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", resp.Status, err)
	}
	return string(body)
}

func TestRefuses(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-window", "0"}, 2, "write 16 or more"},
		{[]string{"-admin="}, 2, "-admin is empty"},
		{[]string{"-admin", ln.Addr().String(), "-window", "100"}, 1, "choose another address with -admin"},
	} {
		var stdout, stderr bytes.Buffer
		code := newService().Command().Exec(t.Context(), append([]string{"-addr", "127.0.0.1:0"}, c.args...), &stdout,
			&stderr)
		if code != c.code || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v: exit code %d, want %d; stderr lacks %q:\n%s", c.args, code, c.code, c.want, stderr.String())
		}
	}
}
