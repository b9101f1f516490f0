package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/internal/across"
	"evenkeel.dev/internal/golden"
)

// fleetTraces are of internal/across's fleet under load, for 3 s. A goroutine of the store holds a lock
// for 40 ms twice a second.
var fleetTraces = []string{
	"testdata/services/shop.trace.gz", "testdata/services/prices.trace.gz", "testdata/services/stock.trace.gz",
	"testdata/services/store.trace.gz",
}

func explainFleet(args ...string) result {
	return call(append(append([]string{"explain"}, args...), fleetTraces...)...)
}

// TestExplainServices: the lock two services away comes first, as text, JSON and a page.
func TestExplainServices(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	r := explainFleet("-html", page)
	r.check(t, cli.ExitOK, nil, []string{"wrote " + page})
	golden.Check(t, "services.golden.txt", r.stdout)
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"waiting for store, through stock, in", "In store, 98% of the extra time is waiting for a mutex.",
		"on the way to prices and back", `class="timeline"`, "prices by itself",
	} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
	var j struct {
		Story    across.Story
		Services []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(explainFleet("-json").stdout), &j); err != nil {
		t.Fatal(err)
	}
	if s := &j.Story; !s.Named || s.Parts[0].Service != "store" || len(s.Parts[0].Via) != 2 || len(s.Slowest) == 0 ||
		len(j.Services) != 4 || j.Services[3].Name != "store" {
		t.Errorf("%+v", j)
	}
	// A service whose trace is missing counts as a wait for the network.
	call("explain", fleetTraces[0], fleetTraces[1], fleetTraces[3]).check(t, cli.ExitOK, []string{
		"99% of the extra time of shop's slowest requests is waiting for a service without a trace.",
		"! 52 of 104 calls were found",
	}, nil)
}

func TestExplainServicesFailIf(t *testing.T) {
	explainFleet("-fail-if", "store>30%").check(t, cli.ExitLimit, nil, []string{"-fail-if store>30%: it is 98."})
	explainFleet("-fail-if", "upstream>30%", "-fail-if", "prices>30%").check(t, cli.ExitLimit, nil,
		[]string{"-fail-if upstream>30%: it is 98.9"})
	explainFleet("-fail-if", "prices>30%").check(t, cli.ExitOK, nil, nil)
	explainFleet("-fail-if", "lock>30%").check(t, cli.ExitUsage, nil,
		[]string{`no service "lock"; there are shop prices stock store, and upstream for all but the first`})
}

// TestExplainServicesUnknown: a limit does not pass because a trace is missing.
func TestExplainServicesUnknown(t *testing.T) {
	call("explain", "-fail-if", "upstream>30%", fleetTraces[0], fleetTraces[1]).check(t, cli.ExitInconclusive, nil,
		[]string{"-fail-if upstream>30%: inconclusive: only 1% of the waits for the network are joined"})
	call("explain", "-fail-if", "10.0.0.1:6060>30%", fleetTraces[0], fleetTraces[1]).check(t, cli.ExitUsage, nil,
		[]string{`no service "10.0.0.1:6060"`})
}

func TestExplainServicesWrong(t *testing.T) {
	a, b := fleetTraces[0], fleetTraces[1]
	call("explain", a, a).check(t, cli.ExitUsage, nil,
		[]string{"two services are named shop; write a name before one: other=" + a})
	call("explain", a, "prices="+a).check(t, cli.ExitUsage, nil,
		[]string{a + " cannot be the trace of both shop and prices; name each service's own"})
	call("explain", a, "upstream="+b).check(t, cli.ExitUsage, nil, []string{"no service can have the name upstream"})
	call("explain", a+"", "x=-", "y=-").check(t, cli.ExitUsage, nil, []string{"only one trace can come from standard"})
	call("explain", "-perfetto", "x.json", a, b).check(t, cli.ExitUsage, nil, []string{"-perfetto is for one trace"})
	call("explain", "-cpu-stat", "x", a, b).check(t, cli.ExitUsage, nil, []string{"-cpu-stat is for one trace"})
	call("explain", a, "missing.trace").check(t, cli.ExitFailed, nil, []string{"missing.trace"})
}

func TestNamed(t *testing.T) {
	for _, tt := range []struct{ in, names, targets []string }{
		{
			[]string{"shop=10.0.0.1:6060", "http://prices:6060/debug/pprof/"},
			[]string{"shop", "prices:6060"},
			[]string{"10.0.0.1:6060", "http://prices:6060/debug/pprof/"},
		},
		{
			[]string{"127.0.0.1:6060", "127.0.0.1:6061", "dir/stock.trace.gz"},
			[]string{"127.0.0.1:6060", "127.0.0.1:6061", "stock"},
			[]string{"127.0.0.1:6060", "127.0.0.1:6061", "dir/stock.trace.gz"},
		},
		{
			[]string{"http://a:1/trace?seconds=5", "http://b:1/trace?seconds=5"},
			[]string{"a:1", "b:1"},
			[]string{"http://a:1/trace?seconds=5", "http://b:1/trace?seconds=5"},
		},
	} {
		names, targets := named(tt.in)
		if d := cmp.Diff([][]string{tt.names, tt.targets}, [][]string{names, targets}); d != "" {
			t.Error(d)
		}
	}
	call("explain", "shop="+fleetTraces[0]).check(t, cli.ExitOK, []string{"is waiting for the network."}, nil)
}

// TestServicesInterrupted: a service that does not answer does not hold up the end.
func TestServicesInterrupted(t *testing.T) {
	start := time.Now()
	call("explain", "127.0.0.1:1", fleetTraces[0]).check(t, cli.ExitFailed, nil, []string{"is the server running"})
	if d := time.Since(start); d > time.Minute {
		t.Error(d)
	}
}
