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
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"

	"evenkeel.dev/examples/internal/command"
	"evenkeel.dev/gcgate"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func ok(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") }

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
		Beside:  func(*http.ServeMux, *Gate) {},
		Close:   func() {},
	}, n
}

var listening = regexp.MustCompile(`msg=listening url=(\S+)`)

var client = http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// run returns a service's URL, and where its exit code goes.
func run(ctx context.Context, t *testing.T, s Service, args []string, stderr *bytes.Buffer) (url string,
	code chan int,
) {
	t.Helper()
	r, w := io.Pipe()
	code = make(chan int, 1)
	go func() {
		defer w.Close()
		code <- s.Command().Exec(ctx, args, w, stderr)
	}()
	lines := bufio.NewScanner(r)
	for url == "" && lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	go io.Copy(io.Discard, r)
	if url == "" {
		t.Fatalf("exit code %d before it listened: %s", <-code, stderr.String())
	}
	return url, code
}

func TestRun(t *testing.T) {
	for _, args := range [][]string{
		nil,
		{"-gate"},
		{"-gate=through"},
		{"-gate=drain", "-health", "-inband", "-turns", t.TempDir() + "/turns"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			s, _ := example()
			var stderr bytes.Buffer
			url, code := run(ctx, t, s, args, &stderr)
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
			if got := <-code; got != command.OK || stderr.Len() > 0 {
				t.Errorf("exit code %d, stderr %q", got, stderr.String())
			}
		})
	}
}

// leaving is a balancer that ends the service while that is drained.
type leaving struct {
	stop     context.CancelFunc
	url      string
	away     atomic.Bool
	answered atomic.Bool
}

func (l *leaving) Drain(context.Context, time.Duration) error {
	l.away.Store(true)
	l.stop()
	return nil
}

func (l *leaving) Ready(context.Context) error {
	if !l.away.Load() {
		return nil
	}
	resp, err := client.Get(l.url)
	if err != nil {
		return err
	}
	l.answered.Store(true)
	return resp.Body.Close()
}

func (l *leaving) String() string { return "peer" }

// TestAnswersUntilItsPeersHaveItBack tests that a drained service answers until its gate has
// stopped.
func TestAnswersUntilItsPeersHaveItBack(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	peer := &leaving{stop: stop}
	var gate *Gate
	s, _ := example()
	s.Tune = func(o *gcgate.Options) { o.Signals = append(o.Signals, peer) }
	s.Beside = func(_ *http.ServeMux, g *Gate) { gate = g }
	var stderr bytes.Buffer
	url, code := run(ctx, t, s, []string{"-gate=drain", "-no-turns"}, &stderr)
	peer.url = url
	if err := gate.Gate.Collect(t.Context()); err != nil && !errors.Is(err, gcgate.ErrStopped) {
		t.Error(err)
	}
	if got := <-code; got != command.OK || !peer.answered.Load() {
		t.Errorf("exit code %d, answered its peer: %v; stderr %q", got, peer.answered.Load(), stderr.String())
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
		{[]string{"-x"}, command.Usage, "-x"},
		{[]string{"drain"}, command.Usage, `unexpected argument "drain"`},
		{[]string{"-n", "0"}, command.Usage, "-n must be at least 1"},
		{[]string{"-turns", "f"}, command.Usage, "-turns is of no use without a gate: add -gate"},
		{[]string{"-gate=later"}, command.Usage, "auto, drain, through, shed"},
		{[]string{"-gate=drain"}, command.Failed, "Signal"},
		{[]string{"-gate", "-events", "/no/such/folder/file"}, command.Failed, "-events"},
		{[]string{"-addr", busy}, command.Failed, "choose another address with -addr"},
	} {
		var stdout, stderr bytes.Buffer
		s, _ := example()
		code := s.Command().Exec(t.Context(), c.args, &stdout, &stderr)
		if code != c.code || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v: exit code %d, want %d; stderr lacks %q:\n%s", c.args, code, c.code, c.want, stderr.String())
		}
	}
	var out bytes.Buffer
	s, _ := example()
	if code := s.Command().Exec(t.Context(), []string{"-h"}, &out, &out); code != command.OK ||
		!strings.Contains(out.String(), "-haproxy") {
		t.Errorf("-h: exit code %d:\n%s", code, out.String())
	}
}
