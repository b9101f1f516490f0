//go:build linux

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/internal/testutil"
)

// TestWholePath runs the script of examples/wholepath with HAProxy. Both replicas answer, their
// metrics show idle connections, and an interrupt ends all.
func TestWholePath(t *testing.T) {
	server(t, "haproxy")
	build(t, "../cmd/evenkeel")
	build(t, "../examples/wholepath")
	for _, c := range []struct {
		flag string
		each bool
	}{{"", false}, {"-nethttp", true}} {
		t.Run("httpd"+c.flag, func(t *testing.T) {
			if c.each {
				testutil.Long(t, "the same on net/http")
			}
			args := []string{
				"--default-signal=INT", "BIN=" + binDir, "PORT=" + freeServerPort(t), "LENGTH=1s", "bash",
				"../examples/wholepath/demo.sh",
			}
			if c.flag != "" {
				args = append(args, c.flag)
			}
			script, _ := start(t, regexp.MustCompile("^they serve until Ctrl-C"), "env", args...)
			t.Cleanup(func() { _ = script.Stop() }) // or its children stay
			out, _ := script.Output()
			found := regexp.MustCompile(
				`ports (\d+) and (\d+), answer behind HAProxy at (http://\S+)(?s:.*)\nmetrics: (\S+) and (\S+);`,
			).FindStringSubmatch(out)
			if found == nil {
				t.Fatalf("the script does not say where what is:\n%s", out)
			}
			replicas, url, metrics := found[1:3], found[3], found[4:6]

			client := http.Client{Timeout: stopTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
			get := func(url string) string {
				t.Helper()
				resp, err := client.Get(url)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Fatalf("%s: %s, %v", url, resp.Status, err)
				}
				return string(body)
			}
			sample := func(i int, name string) float64 {
				t.Helper()
				m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(get(metrics[i]))
				if m == nil {
					t.Fatalf("%s has no %s", metrics[i], name)
				}
				x, err := strconv.ParseFloat(m[1], 64)
				if err != nil {
					t.Fatal(err)
				}
				return x
			}
			names := []string{"evenkeel_gate_requests_total", "evenkeel_recorder_requests_total"}
			var before [2][2]float64
			for i := range replicas {
				for j, name := range names {
					before[i][j] = sample(i, name)
				}
			}
			eventually(t, "requests reach both replicas, their gates and their recorders", func() bool {
				for range 20 { // one may be drained
					if body := get(url); !strings.Contains(body, " readings, state ") {
						t.Fatalf("the answer %q", body)
					}
				}
				for i := range replicas {
					for j, name := range names {
						if sample(i, name) <= before[i][j] {
							return false
						}
					}
				}
				return true
			})

			const idle = 200
			was := sample(0, "go_goroutines")
			for range idle {
				hold(t, "127.0.0.1:"+replicas[0])
			}
			if c.each {
				if now := sample(0, "go_goroutines"); now < was+idle*3/4 { // others may have ended
					t.Errorf("%v goroutines, %v before %d connections: they are not net/http's", now, was, idle)
				}
			} else {
				eventually(t, "idle connections without goroutines", func() bool {
					return sample(0, "go_goroutines") < was+idle/4 &&
						sample(0, "evenkeel_httpd_parked_connections") >= idle
				})
			}

			if err := script.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			select {
			case <-script.Done():
			case <-time.After(stopTimeout):
				t.Fatal("the script goes on after an interrupt")
			}
			if !script.State().Success() {
				t.Errorf("the script's end: %v", script.State())
			}
			for _, addr := range []string{"127.0.0.1:" +
				replicas[0], "127.0.0.1:" + replicas[1], strings.TrimSuffix(strings.TrimPrefix(url, "http://"),
				"/report")} {
				if conn, err := net.Dial("tcp", addr); err == nil {
					conn.Close()
					t.Errorf("something listens at %s after the end", addr)
				}
			}
		})
	}
}

// hold keeps a connection open after a request.
func hold(t *testing.T, addr string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET /report HTTP/1.1\r\nHost: %s\r\n\r\n", addr)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", addr, resp.Status, err)
	}
}
