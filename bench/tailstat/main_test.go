package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// TestTruth holds the simulated queue against what is known of one.
func TestTruth(t *testing.T) {
	s := pairs[0].base
	h := s.run(rand.New(rand.NewPCG(1, 1)), 400_000, 1)
	for _, f := range tails() {
		got, err := f.Of(&tailstat.Run{Latency: h})
		if want := s.truth(f, nil); err != nil || math.Abs(got/want-1) > .12 {
			t.Errorf("%s: %v, %v, want %v", f.Name, got, err, want)
		}
	}
}

// TestStudent holds the t distribution against a table's values.
func TestStudent(t *testing.T) {
	for _, c := range []struct{ x, freedom, want float64 }{{2.228, 10, .025}, {1.812, 10, .05}, {12.706, 1, .025}, {1.96, 1e5, .025}, {4.587, 10, .0005}} {
		if got := studentBeyond(c.x, c.freedom); math.Abs(got/c.want-1) > .01 {
			t.Errorf("beyond %v with %v: %v, want %v", c.x, c.freedom, got, c.want)
		}
	}
}

// TestRivals sees each method find what is plain, and not where both are the same.
func TestRivals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	some := func(slower float64) (rs []tailstat.Run) {
		for range 10 {
			h := new(loadgen.Histogram)
			for range 2000 {
				h.Record(time.Duration(1e6 * slower * rng.ExpFloat64()))
			}
			rs = append(rs, tailstat.Run{Latency: h})
		}
		return rs
	}
	base, same, slow := some(1), some(1), some(2)
	for _, r := range rivals {
		for _, name := range []string{"p50", mean} {
			if found, ok := r.finds(rng, base, slow)[name]; ok && !found {
				t.Errorf("%s does not find twice the latency: %s", r.name, name)
			}
			if found := r.finds(rng, base, same)[name]; found {
				t.Errorf("%s finds a difference in the same: %s", r.name, name)
			}
		}
		if n := len(r.finds(rng, base, slow)); n == 0 {
			t.Errorf("%s looks at nothing", r.name)
		}
	}
}

// TestParts runs the parts on a few trials, and on runs that were not recorded but made, of services that differ by chance.
func TestParts(t *testing.T) {
	dir := t.TempDir()
	f := recorded{Started: time.Now(), Length: time.Second}
	rng := rand.New(rand.NewPCG(1, 3))
	add := func(s subject, neighbour, planted bool) {
		slower := math.Exp(.05 * rng.NormFloat64())
		if planted {
			slower *= 1.5
		}
		h := new(loadgen.Histogram)
		for range 1200 {
			h.Record(time.Duration(1e6 * slower * rng.ExpFloat64()))
		}
		f.Runs = append(f.Runs, recordedRun{Subject: s.name, Neighbour: neighbour, Planted: planted, Latency: *h, Throughput: 1200 / slower, CPU: time.Duration(1e6 * slower), Peak: int64(1e8 * slower)})
	}
	for range 21 {
		for _, s := range subjects {
			add(s, true, false)
			add(s, false, false)
			if s.plant != nil {
				add(s, false, true)
			}
		}
	}
	if err := f.save(dir, unfinished); err != nil {
		t.Fatal(err)
	}
	if name, err := (&driver{results: dir}).recorded(); err == nil {
		t.Errorf("%s, which is not whole, was found", name)
	}
	if err := f.save(dir, whole); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	d := driver{results: dir, trials: 3, set: figure.New("test"), out: &out}
	d.set.Out = io.Discard
	if err := d.alarms(t.Context()); err != nil {
		t.Error(err)
	}
	if err := d.power(t.Context()); err != nil {
		t.Error(err)
	}
	d.set.Out = &out
	d.found.judge(d.set)
	d.found.keep(d.set)
	if err := d.set.Save(dir); err != nil {
		t.Fatal(err)
	}
	saved, err := filepath.Glob(filepath.Join(dir, "test-*.json"))
	if err != nil || len(saved) != 1 {
		t.Fatal(saved, err)
	}
	first := len(d.set.Figures)
	d.found = measured{}
	if err := d.again(figure.Again{File: saved[0]}, true); err == nil || !strings.Contains(err.Error(), "test") {
		t.Errorf("judged as tailstat's: %v", err)
	}
	if text, err := os.ReadFile(saved[0]); err != nil || os.WriteFile(saved[0], []byte(strings.Replace(string(text), `"test"`, `"tailstat"`, 1)), 0o600) != nil {
		t.Fatal(err)
	}
	if err := d.again(figure.Again{File: saved[0], Write: true}, true); err != nil {
		t.Error(err)
	}
	var back struct{ Figures []figure.Figure }
	if text, err := os.ReadFile(saved[0]); err != nil || json.Unmarshal(text, &back) != nil || len(back.Figures) != first || back.Figures[0].Note != "" {
		t.Errorf("%v: %d figures, judged again %+v", err, first, back.Figures)
	}
	for _, want := range []string{
		"bootstrap over requests", "msgpush with a longer window, p99 1.5", "| tailstat, by rounds |", "| msgpush, +20%, 10 rounds | ", "rows method=tailstat, by rounds; ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	d.runs = filepath.Join(dir, "none")
	if err := d.alarms(t.Context()); err == nil {
		t.Error("no error without runs")
	}
	d = driver{trials: 1, count: 20, length: time.Second}
	if err := d.bench(t.Context(), "all"); err == nil || !strings.Contains(err.Error(), "synthetic, sequential") {
		t.Error(err)
	}
}

// TestRunIsCutOff: a run that is interrupted is none.
func TestRunIsCutOff(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel(why) }))
	defer srv.Close()
	bin := t.TempDir()
	says := "#!/bin/sh\necho " + srv.URL + "\nexec sleep 3600\n" // in the place of a service
	if err := os.WriteFile(filepath.Join(bin, "hello"), []byte(says), 0o700); err != nil {
		t.Fatal(err)
	}
	d := driver{bin: bin, length: time.Hour}
	if r, err := d.run(ctx, &subjects[0], false, false); !errors.Is(err, why) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestPartFails: what was found before a part failed is kept.
func TestPartFails(t *testing.T) {
	d := driver{results: t.TempDir(), trials: 1, count: 20, length: time.Second, out: t.Output()}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.found.Sequential = []looks{{Service: "queue", Trials: 1}}
	if err := d.bench(ctx, "synthetic"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if files, err := filepath.Glob(filepath.Join(d.results, "tailstat-synthetic-*.json")); err != nil || len(files) != 1 {
		t.Errorf("kept %v, %v", files, err)
	}
}

// TestRecorded judges the recorded files again.
func TestRecorded(t *testing.T) {
	names, err := filepath.Glob("../results/tailstat-*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names { // each into nothing: parts that a file lacks are not those of another
		if err := figure.Unchanged("tailstat", name, new(measured).again); err != nil {
			t.Error(err)
		}
	}
}
