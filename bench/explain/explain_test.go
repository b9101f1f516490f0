package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/reqtrace"
)

var bin string // folder of the built services

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if bin, err = os.MkdirTemp("", "explain-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(bin)
		if out, err := exec.Command("go", "build", "-o", bin, "./plant", "evenkeel.dev/examples/search").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

func newDriver() *driver {
	d := &driver{bin: bin, rounds: 1, length: 1200 * time.Millisecond, warmup: 200 * time.Millisecond, set: figure.New("test"), out: io.Discard}
	d.set.Out = io.Discard
	return d
}

// patience is how long a trace gets at most until it shows what it should: one of a busy machine
// may hold little. Only what never shows it takes that long.
const patience = 30 * time.Second

// tooShort reports whether a machine that stood still has answered nothing for as long as the trace was.
func (d *driver) tooShort(err error) bool {
	return errors.Is(err, reqtrace.ErrNoRequests) && d.length <= patience
}

// lightLoad is so few requests a second that no backlog of seconds forms beside a compiler and busy
// loops: the search service cuts off what it has not begun to read after five.
const lightLoad = 30

// TestPlants lets each plant grow: some request waits for what was planted, and every request's
// parts are its time to the nanosecond. That the plant is what is named first is a matter of an
// idle machine: make bench-explain holds it, where another process's queue for the processor may
// be longer than any plant.
func TestPlants(t *testing.T) {
	least := map[string]time.Duration{ // of the wait that a plant is, for one request
		"assist": 50 * time.Microsecond, "stopped": 5 * time.Millisecond, "lock": 10 * time.Millisecond, "queue": time.Millisecond,
		"syscall": 10 * time.Millisecond, "network": 40 * time.Millisecond, "channel": 5 * time.Millisecond,
	}
	for i := range plants {
		p := &plants[i]
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) {
			for d := newDriver(); ; d.length *= 2 {
				d.traces = t.TempDir()
				s, err := d.grow(t.Context(), p, false)
				if d.tooShort(err) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				longest, _ := conserved(t, d.traces, groups[p.cause])
				named := slices.DeleteFunc([]string{"assist", "lock", "channel", "network", "sleep", "cgo"}, func(name string) bool { return s.Shares[name] <= .02 })
				switch {
				case p.cause == "" && s.Requests > 0 && len(named) == 0:
					return
				case p.cause != "" && longest >= least[p.cause]:
					return
				case p.cause == "" && d.length > patience:
					t.Fatalf("%d requests, of whose excess %v have a part where there is no plant; server %+v, client %+v", s.Requests, s.Shares, s.Server, s.Client)
				case p.cause == "": // the server's own locks are waited for where their holder's processor is taken away
					t.Logf("%v: %d requests, named %v", d.length, s.Requests, s.Shares)
					continue
				case d.length > patience:
					t.Fatalf("no request has %v of %s, the longest %v; named %v; server %+v, client %+v", least[p.cause], p.cause, longest, s.Shares, s.Server, s.Client)
				}
				t.Logf("%v: %d requests, the longest %s is %v", d.length, s.Requests, p.cause, longest)
			}
		})
	}
}

// TestSearchLock sees requests of the search service wait for the lock that is held during a
// refresh, and not where it is not held.
func TestSearchLock(t *testing.T) {
	d := newDriver()
	feeds, stop, err := serveFeeds()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	locks := func(how string) (longest, all time.Duration) {
		d.traces = t.TempDir()
		if _, err := d.refresh(t.Context(), how, feeds, lightLoad); d.tooShort(err) {
			return 0, 0
		} else if err != nil {
			t.Fatal(err)
		}
		return conserved(t, d.traces, groups["lock"])
	}
	for d.length = 3 * time.Second; ; d.length *= 2 {
		longest, locked := locks("locked")
		_, free := locks("free")
		switch {
		case longest >= 50*time.Millisecond && free <= locked/4: // of the 100 ms that a feed takes
			return
		case d.length > patience:
			t.Fatalf("locked: requests waited %v for locks, one of them %v; free: %v", locked, longest, free)
		}
		// A processor taken from who holds another lock for a moment is a wait, too: more of them.
		t.Logf("%v: requests waited %v for locks, one of them %v; free: %v", d.length, locked, longest, free)
	}
}

// TestFound counts the requests of a trace that nobody marked requests in.
func TestFound(t *testing.T) {
	d := newDriver()
	percent, err := d.found(t.Context(), lightLoad)
	for ; d.tooShort(err); percent, err = d.found(t.Context(), lightLoad) {
		d.length *= 2
	}
	if err != nil {
		t.Fatal(err)
	}
	if percent < 99 || percent > 100 {
		t.Errorf("%.2f%% of the client's requests are in the trace, want 99 to 100", percent)
	}
}

// conserved checks the only trace in a folder: each request's parts are its time. It returns the
// longest that a request waited for causes, and how long all did.
func conserved(t *testing.T, dir string, causes []reqtrace.Cause) (longest, all time.Duration) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(dir, "*.trace"))
	if len(names) != 1 {
		t.Fatalf("traces %v, want one", names)
	}
	f, err := os.Open(names[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r, err := range reqtrace.Read(t.Context(), f, reqtrace.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Cut != reqtrace.CutNone {
			continue
		}
		if r.Parts.Total() != r.Duration() {
			t.Fatalf("the parts of %+v sum up to %v, want %v", r, r.Parts.Total(), r.Duration())
		}
		var waited time.Duration
		for _, c := range causes {
			waited += r.Parts.Of(c)
		}
		longest, all = max(longest, waited), all+waited
	}
	return longest, all
}

// TestPlantRefuses sees the server say what is wrong.
func TestPlantRefuses(t *testing.T) {
	d := newDriver()
	plant := filepath.Join(d.bin, "plant")
	if _, err := start(t.Context(), nil, plant, "-plant=9"); err == nil || !strings.Contains(err.Error(), "ended early") {
		t.Errorf("plant 9: %v", err)
	}
	if _, err := start(t.Context(), nil, plant+"-not-there"); err == nil || !strings.Contains(err.Error(), "make bench-explain") {
		t.Errorf("no such file: %v", err)
	}
	c, err := start(t.Context(), nil, plant)
	if err != nil {
		t.Fatal(err)
	}
	defer c.end()
	res, err := http.Get(c.url + "/?cpu=much")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusBadRequest || !strings.Contains(string(b), "say cpu=") {
		t.Errorf("%s: %s", res.Status, b)
	}
}

func TestTruth(t *testing.T) {
	with, without := distribution{Median: 1, Tail: 11}, distribution{Median: 1, Tail: 3}
	if got := truth(with, without); got != .8 {
		t.Errorf("truth = %v, want .8", got)
	}
	if got := truth(without, with); got != -4 {
		t.Errorf("truth = %v, want -4: the plant made it faster", got)
	}
	if got := truth(distribution{Median: 1, Tail: 1}, without); got != 0 {
		t.Errorf("truth = %v of no excess, want 0", got)
	}
	p := pair{
		With:    &sample{latency: []float64{1, 11, 21, math.NaN()}, Client: distribution{Median: 1, P99: 11}},
		Without: &sample{latency: []float64{1, 1, 16, 1}},
	}
	if got := p.beside(); got != .5 {
		t.Errorf("beside = %v, want .5: (10 + 5) of (10 + 20)", got)
	}
}

func TestShares(t *testing.T) {
	var b reqtrace.Band
	b.Excess = reqtrace.PartsOf(map[reqtrace.Cause]time.Duration{
		reqtrace.CauseAssistMark: 20, reqtrace.CauseAssistWait: 10, reqtrace.CauseRunqueueGC: 10, reqtrace.CauseLock: 60, reqtrace.CauseRunning: -50,
	})
	s := sharesOf(&b)
	if got := s.String(); got != "lock 60%, assist 30%, queue-gc 10%" {
		t.Errorf("shares: %s", got)
	}
	if got := s["collector"]; math.Abs(got-.4) > 1e-9 {
		t.Errorf("collector = %v, want .4", got)
	}
	named := map[reqtrace.Cause]bool{}
	for _, causes := range groups {
		for _, c := range causes {
			if named[c] {
				t.Errorf("%v is in two groups", c)
			}
			named[c] = true
		}
	}
	if n := len(reqtrace.Causes()); len(named) != n {
		t.Errorf("%d causes are in groups, want %d", len(named), n)
	}
}

func TestNothingNamed(t *testing.T) {
	for _, tt := range []struct {
		median, tail float64
		want         bool
	}{
		{.001, .0019, true}, // less than a millisecond more
		{.010, .019, true},  // less than twice the median
		{.001, .005, false},
		{0, 0, true},
	} {
		if got := nothingNamed(tt.median, tt.tail); got != tt.want {
			t.Errorf("nothingNamed(%v, %v) = %v", tt.median, tt.tail, got)
		}
	}
}

// TestRecorded judges the recorded files again.
func TestRecorded(t *testing.T) {
	if err := figure.Unchanged("explain", "../results/explain-*.json", judge); err != nil {
		t.Error(err)
	}
}

// TestStops: a service that is stopped for a while, under load, has the machine stand still.
func TestStops(t *testing.T) {
	var list []stop
	for end := time.Now().Add(patience); time.Now().Before(end); {
		var err error
		if list, err = newDriver().stopsOf(t.Context(), 8, []time.Duration{400 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		if len(list) == 1 && list[0].Named > .8 && list[0].Blamed == "" {
			return
		}
	}
	t.Errorf("%+v", list)
}
