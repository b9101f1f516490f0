//go:build linux

package planted

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

// TestPlants has some request wait for each kind of cause where it was planted, and every request's
// parts are its time to the nanosecond. The plant is named first on an idle machine, which the case
// explain/plants measures: on another, a queue for the processor may be longer than any plant.
func TestPlants(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program and runs it")
	}
	c := plantsCase()
	c.Open, c.Loads, c.Skip, c.Claims = nil, nil, nil, nil
	c.Report = func(*harness.Result) {}
	behind, err := serveUpstreams()
	if err != nil {
		t.Fatal(err)
	}
	defer behind.end()
	s := &suite{plants: plants}
	seen := map[string]bool{}
	c.Run = func(ctx context.Context, r *harness.Run) error {
		p := s.plant(r.Way)
		taken, err := p.traced(ctx, r, behind.env...)
		if err != nil {
			return err
		}
		if len(p.truth.causes) == 0 {
			report, err := taken.report(ctx)
			if err == nil {
				v := verdict.Of(report)
				seen[r.Way] = (!v.Named || slices.Contains(ofMachine, v.Causes[0].Cause)) &&
					strings.Contains(strings.Join(v.LeftOut, " "), p.truth.words)
			}
			return err
		}
		seen[r.Way], err = p.waited(ctx, taken)
		return err
	}
	c.Ways = []string{
		"mutex-asks", "worker-sleeps", "middleware", "read", "c", "limiter", "assist", "stopped", "bursts",
		"nothing", "machine",
	}
	for length := 1500 * time.Millisecond; length < 30*time.Second; length *= 2 {
		h := &harness.Harness{Cases: []harness.Case{c}, Rounds: 1, Length: length, Out: t.Output()}
		if err := h.Run(t.Context(), c.Name); err != nil {
			t.Fatal(err)
		}
		c.Ways = slices.DeleteFunc(c.Ways, func(way string) bool { return seen[way] })
		if len(c.Ways) == 0 {
			return
		}
	}
	t.Errorf("no request waits as planted, or there is a cause where none is planted: %v", c.Ways)
}

// ofMachine are causes that other processes may be behind, such as other tests.
var ofMachine = []reqtrace.Cause{
	reqtrace.CauseRunning, reqtrace.CauseDescheduled, reqtrace.CauseRunqueueBusy, reqtrace.CauseRunqueueGC,
	reqtrace.CauseRunqueueIdle,
}

// waited reports whether a request waits for 10 ms for one of the plant's causes, at its place.
func (p *plant) waited(ctx context.Context, taken *taken) (found bool, err error) {
	for q, err := range reqtrace.Read(ctx, bytes.NewReader(taken.trace), reqtrace.Options{}) {
		if _, none := errors.AsType[*reqtrace.NoRequestsError](err); none {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if q.Cut == "" && q.Parts.Total() != q.Duration() {
			return false, fmt.Errorf("the parts of %+v sum up to %v, and it takes %v", q, q.Parts.Total(), q.Duration())
		}
		var waited time.Duration
		for _, part := range q.Path {
			if slices.Contains(p.truth.causes, part.Cause) &&
				(len(p.truth.at) == 0 || slices.Contains(p.truth.at, function(part.Site))) {
				waited += part.End - part.Start
			}
		}
		found = found || waited >= 10*time.Millisecond
	}
	return found, nil
}

// TestTruths: plants have names of their own, and a truth that can be judged.
func TestTruths(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range slices.Concat(plants, realPrograms) {
		tr := &p.truth
		if seen[p.name] {
			t.Errorf("two plants are called %s", p.name)
		}
		if len(tr.causes) == 0 && (len(tr.at) > 0 || len(tr.holder) > 0 || tr.op != "") {
			t.Errorf("%s has no cause, but a place", p.name)
		}
		for _, f := range slices.Concat(tr.at, tr.holder) {
			if f != function(f) {
				t.Errorf("%s: judge compares no function called %q", p.name, f)
			}
		}
		seen[p.name] = true
	}
}

func TestJudge(t *testing.T) {
	held := held(lock, "(*prices).of", "(*prices).reload", network, "mutex|RWMutex")
	right := verdict.NamedCause{Blame: reqtrace.Blame{
		Cause: lock, Site: "main.(*prices).of (stock.go:33)", Op: "mutex",
		Holder: "main.(*prices).reload.func1 (stock.go:44)", Doing: network,
	}}
	cases := []struct {
		name          string
		said          func(*verdict.NamedCause)
		t             truth
		right, holder float64
	}{
		{"all is right", func(*verdict.NamedCause) {}, held, 1, 1},
		{"another cause", func(c *verdict.NamedCause) { c.Cause = channel }, held, 0, 1},
		{"another place", func(c *verdict.NamedCause) { c.Site = "net.(*netFD).Read (fd.go:1)" }, held, 0, 1},
		{"another op", func(c *verdict.NamedCause) { c.Op = "Once" }, held, 0, 1},
		{"no holder", func(c *verdict.NamedCause) { c.Holder = "" }, held, 1, 0},
		{"it does something else", func(c *verdict.NamedCause) { c.Doing = running }, held, 1, 0},
		{"words are missing", func(*verdict.NamedCause) {}, truth{causes: held.causes, words: "fdatasync"}, 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			said, r := right, &harness.Run{}
			c.said(&said)
			v := &verdict.Verdict{Sentence: "a lock", Named: true, Causes: []verdict.NamedCause{said}}
			(&plant{truth: c.t}).judge(r, v, &reqtrace.Report{})
			if r.Values["right"] != c.right || r.Values["holder right"] != c.holder || r.Values["planted"] != 1 {
				t.Errorf("%+v is judged %v", said, r.Values)
			}
		})
	}
	for _, named := range []bool{false, true} {
		r := &harness.Run{}
		v := &verdict.Verdict{Named: named, Causes: []verdict.NamedCause{{}}}
		v.Causes[0].Cause = reqtrace.CauseStopped
		(&plant{}).judge(r, v, &reqtrace.Report{})
		if r.Values["nothing"] != 1 || r.Values["named"] != number(named) ||
			r.Values["collector named, and none ran"] != number(named) {
			t.Errorf("nothing is planted, named %v: %v", named, r.Values)
		}
	}
}

func TestFunction(t *testing.T) {
	for place, want := range map[string]string{
		"main.(*a).b (c.go:1)":                                    "(*a).b",
		"main.main.func2 (main.go:9)":                             "main",
		"main.(*a).b.func1.2 (c.go:1)":                            "(*a).b",
		"grpc.(*Server).serve (s.go:1 in google.golang.org/grpc)": "grpc.(*Server).serve",
		"main.f2 (a.go:2)":                                        "f2",
		"":                                                        "",
	} {
		if got := function(place); got != want {
			t.Errorf("%q is function %q, want %q", place, got, want)
		}
	}
}

// TestFetch asks for a profile in whole seconds, because net/http/pprof makes half a minute of a
// fraction. It takes more of them than the trace, and ends with the trace.
func TestFetch(t *testing.T) {
	asked, ended := make(chan string, 1), make(chan bool)
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/profile", func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.FormValue("seconds")
		<-r.Context().Done()
		close(ended)
	})
	mux.HandleFunc("/debug/pprof/trace", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "the trace of ", r.FormValue("seconds"))
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	b, err := fetch(t.Context(), srv.Listener.Addr().String(), 2500*time.Millisecond)
	if string(b) != "the trace of 2.5" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if n, err := strconv.Atoi(<-asked); n < 3 || err != nil {
		t.Errorf("a profile of %d s is asked for: %v", n, err)
	}
	<-ended
}

// TestFetchWithoutProfile: a trace has no samples if the profile failed, and is not used.
func TestFetchWithoutProfile(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/profile", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "one is being taken", http.StatusInternalServerError)
	})
	mux.HandleFunc("/debug/pprof/trace", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	_, err := fetch(t.Context(), srv.Listener.Addr().String(), time.Second)
	if err == nil || !strings.Contains(err.Error(), "one is being taken") {
		t.Errorf("%v", err)
	}
}
