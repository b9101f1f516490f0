package service

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ok(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") }

// example returns a service, and where its flag -n goes.
func example() (Service, *int) {
	n := new(int)
	return Service{
		Name: "example", Addr: "127.0.0.1:0",
		Flags: func(fs *flag.FlagSet) { fs.IntVar(n, "n", 1, "") },
		Check: func() error {
			if *n < 1 {
				return errors.New("-n must be at least 1")
			}
			return nil
		},
		Prepare: func(log *slog.Logger) error {
			log.Info("prepared")
			return nil
		},
		Handler: func() http.Handler { return http.HandlerFunc(ok) },
	}, n
}

var listening = regexp.MustCompile(`msg=listening url=(\S+)`)

func TestRun(t *testing.T) {
	for _, args := range [][]string{nil, {"-gate"}, {"-gate=through"}, {"-gate=drain", "-health", "-inband", "-agent", "127.0.0.1:0", "-turns", t.TempDir() + "/turns"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			r, w := io.Pipe()
			var stderr bytes.Buffer
			code := make(chan int, 1)
			s, _ := example()
			go func() {
				defer w.Close()
				code <- Run(ctx, s, args, w, &stderr)
			}()
			lines, url := bufio.NewScanner(r), ""
			for url == "" && lines.Scan() {
				if m := listening.FindStringSubmatch(lines.Text()); m != nil {
					url = m[1]
				}
			}
			go io.Copy(io.Discard, r)
			if url == "" {
				t.Fatalf("exit code %d before it listened: %s", <-code, stderr.String())
			}
			client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			resp, err := client.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(body) != "ok\n" {
				t.Errorf("body %q, %v", body, err)
			}
			stop()
			if got := <-code; got != exitOK || stderr.Len() > 0 {
				t.Errorf("exit code %d, stderr %q", got, stderr.String())
			}
		})
	}
}

func TestRunRefuses(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	busy := ln.Addr().String()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-x"}, exitUsage, "-x"},
		{[]string{"drain"}, exitUsage, `unexpected argument "drain"`},
		{[]string{"-n", "0"}, exitUsage, "-n must be at least 1"},
		{[]string{"-turns", "f"}, exitUsage, "-turns is of no use without a gate: add -gate"},
		{[]string{"-gate=later"}, exitUsage, "auto, drain, idle, through, shed"},
		{[]string{"-gate=drain"}, exitError, "Signal"},
		{[]string{"-gate", "-agent", busy}, exitError, "-agent"},
		{[]string{"-gate", "-events", "/no/such/folder/file"}, exitError, "-events"},
		{[]string{"-addr", busy}, exitError, "choose another address with -addr"},
	} {
		var stdout, stderr bytes.Buffer
		s, _ := example()
		code := Run(t.Context(), s, c.args, &stdout, &stderr)
		if code != c.code || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v: exit code %d, want %d; stderr lacks %q:\n%s", c.args, code, c.code, c.want, stderr.String())
		}
	}
	var out bytes.Buffer
	s, _ := example()
	if code := Run(t.Context(), s, []string{"-h"}, &out, &out); code != exitOK || !strings.Contains(out.String(), "-haproxy") {
		t.Errorf("-h: exit code %d:\n%s", code, out.String())
	}
}
