package service

import (
	"bufio"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/gcgate"
)

func parse(args ...string) (*gateFlags, error) {
	f := new(gateFlags)
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	f.register(fs)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	return f, f.check()
}

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		on   bool
		want gcgate.Policy
	}{
		{nil, false, gcgate.PolicyAuto},
		{[]string{"-gate"}, true, gcgate.PolicyAuto},
		{[]string{"-gate=false"}, false, gcgate.PolicyAuto},
		{[]string{"-gate=drain", "-inband"}, true, gcgate.PolicyDrain},
		{[]string{"-gate=shed"}, true, gcgate.PolicyShed},
	} {
		f, err := parse(c.args...)
		if err != nil || f.on != c.on || f.policy != c.want {
			t.Errorf("%v: %+v, %v, want %v, %v", c.args, f, err, c.on, c.want)
		}
	}
	f, err := parse("-gate", "-haproxy", "127.0.0.1:9199,be/a", "-haproxy", "unix:/run/h.sock,be/a", "-limit", "2GiB")
	if err != nil || len(f.haproxy) != 2 || f.haproxy[1].Server != "a" || f.limit != 2<<30 {
		t.Errorf("got %+v, %v", f, err)
	}
}

func TestFlagsRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-gate=stock"}, `"stock" is not a policy: write auto, drain, through, shed or memory`},
		{[]string{"-haproxy", "127.0.0.1:9199,be/a"}, "-haproxy is of no use without a gate"},
		{[]string{"-max-trigger", "1GiB"}, "-max-trigger is of no use without a gate"},
		{[]string{"-min-trigger", "1GiB"}, "-min-trigger is of no use without a gate"},
		{[]string{"-gate", "-max-trigger", "1GB"}, "900MiB"},
		{[]string{"-events", "x"}, "-events is of no use without a gate"},
		{[]string{"-no-turns"}, "-no-turns is of no use without a gate"},
		{[]string{"-replicas", "2"}, "-replicas is of no use without a gate"},
		{[]string{"-allow", "10.0.0.0/8"}, "-allow is of no use without a gate"},
		{[]string{"-gate", "-inband", "-allow", "10.0.0.0/8"}, "-allow says who may poll: add -health"},
		{
			[]string{"-gate", "-health", "-allow", "10.0.0.7"},
			`"10.0.0.7" is no prefix: write it as 10.244.0.0/16, or 10.0.0.7/32 for one address`,
		},
		{[]string{"-gate", "-health", "-allow", "10.0.0.0/8,"}, `"" is no prefix`},
		{[]string{"-gate", "-haproxy", "be/a"}, "ADDR,BACKEND/SERVER"},
		{[]string{"-gate", "-turns", "f", "-etcd", "127.0.0.1:2379"}, "leave one out"},
		{[]string{"-gate", "-turns", "f", "-leases"}, "leave one out"},
		{[]string{"-gate", "-limit", "2GB"}, "900MiB"},
		{[]string{"-gate", "-limit", "0"}, "900MiB"},
		{[]string{"-gate", "-limit", "99999999999TiB"}, "900MiB"},
	} {
		if _, err := parse(c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
}

func TestTriggerFlags(t *testing.T) {
	f, err := parse("-gate=through", "-min-trigger", "64MiB", "-max-trigger", "3GiB", "-turns",
		filepath.Join(t.TempDir(), "turn"), "-replicas", "3")
	if err != nil {
		t.Fatal(err)
	}
	g, err := f.start("", slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if s := g.Stats().(gcgate.Stats); s.Hard < 3<<30 || s.Trigger < 57<<20 || s.Turn.Replicas != 3 ||
		s.Turn.Turns != 1 {
		t.Errorf("trigger %d, hard %d, turns %+v", s.Trigger, s.Hard, s.Turn)
	}
	f, _ = parse("-gate", "-min-trigger", "2GiB", "-max-trigger", "1GiB")
	if _, err := f.start("", slog.New(slog.DiscardHandler), nil); err == nil {
		t.Error("a ceiling below the floor was accepted")
	}
}

// TestAllow tests who may poll /health.
func TestAllow(t *testing.T) {
	f, err := parse("-gate=drain", "-no-turns", "-health", "-haproxy", "127.0.0.1:1,be/a",
		"-allow", "10.244.0.0/16,fd00::/8", "-allow=192.0.2.7/32")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	tune := func(o *gcgate.Options) {
		if o.Logger != log {
			t.Error("the gate does not log where the program does")
		}
		o.Signals = o.Signals[1:] // without HAProxy
	}
	g, err := f.start("", log, tune)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	mux := http.NewServeMux()
	g.register(mux)
	for from, want := range map[string]int{
		"10.244.3.4:5": http.StatusOK, "[fd00::1]:5": http.StatusOK, "192.0.2.7:5": http.StatusOK,
		"127.0.0.1:5":  http.StatusOK,
		"10.245.0.1:5": http.StatusForbidden, "192.0.2.8:5": http.StatusForbidden,
	} {
		r, w := httptest.NewRequest("GET", "/health", nil), httptest.NewRecorder()
		r.RemoteAddr = from
		if mux.ServeHTTP(w, r); w.Code != want {
			t.Errorf("a poll from %s gets %d, want %d", from, w.Code, want)
		}
	}
}

func TestEvents(t *testing.T) {
	file := filepath.Join(t.TempDir(), "events.ndjson")
	f, err := parse("-gate=through", "-events", file)
	if err != nil {
		t.Fatal(err)
	}
	g, err := f.start("replica 1", slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Gate.Collect(t.Context()); err != nil {
		t.Error(err)
	}
	if s, ok := g.Stats().(gcgate.Stats); !ok || s.Policy != gcgate.PolicyThrough {
		t.Errorf("stats %+v", g.Stats())
	}
	g.Close()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var states []string
	for sc := bufio.NewScanner(in); sc.Scan(); {
		var e struct {
			T             string
			Source, State string
		}
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil || e.T == "" || e.Source != "replica 1" {
			t.Errorf("%s: %v", sc.Text(), err)
		}
		states = append(states, e.State)
	}
	all := strings.Join(states, " ")
	if !strings.Contains(all, "collecting") || !strings.HasSuffix(all, "serving") {
		t.Errorf("states %q", all)
	}
}

func TestWithoutGate(t *testing.T) {
	f, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	g, err := f.start("", slog.Default(), nil)
	if err != nil || g.Stats() != nil {
		t.Errorf("%+v, %v", g, err)
	}
	g.Close()
}
