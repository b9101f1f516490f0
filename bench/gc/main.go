// Command gc shows what the study "Garbage Collection In Go: Part II - GC Traces" (Ardan Labs)
// showed, on this repository's own search service: how much collection a needless allocation
// costs. And that the parser of gctrace lines keeps up. make bench-gc runs it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/loadgen"
)

// study is what the study published: 10,000 requests over 100 connections.
var study = map[string]any{
	"source":     "https://www.ardanlabs.com/blog/2019/05/garbage-collection-in-go-part2-gctraces.html",
	"extra":      map[string]float64{"requests/s": 1882, "time in GC %": 14, "collections": 2551, "requests/collection": 3.98},
	"lean":       map[string]float64{"requests/s": 3631, "time in GC %": 7, "collections": 1402, "requests/collection": 7.13},
	"GC off":     map[string]float64{"requests/s": 2387},
	"lean/extra": map[string]float64{"requests/s": 1.93, "collections": 0.55, "requests/collection": 1.79},
}

// runFile is the part of run.json that is looked at; docs/reference/run-json.md has the rest.
type runFile struct {
	Tool    string `json:"tool"`
	Machine any    `json:"machine"`
	Runs    []struct {
		Label string          `json:"label"`
		Load  *loadgen.Result `json:"load"`
		GC    *struct {
			Summary gctrace.Summary `json:"summary"`
		} `json:"gc"`
	} `json:"runs"`

	raw json.RawMessage
}

func main() {
	log.SetFlags(0)
	bin := flag.String("bin", "../bin", "`folder` of the built evenkeel and search")
	results := flag.String("results", "results", "`folder` for the raw results")
	repeat := flag.Int("repeat", 5, "repeats of each variant, interleaved")
	requests := flag.Int("n", 10000, "requests a run")
	var again figure.Again
	again.Flags(flag.CommandLine)
	flag.Parse()
	if again.File != "" {
		if err := again.Judge("gc", os.Stdout, judge); err != nil {
			log.Fatal("bench-gc: ", err)
		}
		return
	}
	if err := run(*bin, *results, *repeat, *requests); err != nil {
		log.Fatal("bench-gc: ", err)
	}
}

func run(bin, results string, repeat, requests int) error {
	if err := figure.CheckSave(results); err != nil {
		return err
	}
	s := figure.New("gc")
	f, err := measure(bin, repeat, requests)
	if err != nil {
		return err
	}
	s.Machine, s.Versions["tool"] = f.Machine, f.Tool
	s.Raw["study"] = study
	s.Raw["run.json"] = f.raw
	var p parsed
	p.Speed, p.Allocations = scanner()
	s.Raw["parser"] = p
	collectorFigures(s, f)
	p.figures(s)
	return s.Save(results)
}

// judge adds the figures that the raw results hold, as run does when they were measured.
func judge(s *figure.Set, raw figure.Recorded) error {
	var f runFile
	if ok, err := raw.Read("run.json", &f); err != nil {
		return err
	} else if ok {
		collectorFigures(s, &f)
	}
	var p parsed
	ok, err := raw.Read("parser", &p)
	if ok {
		p.figures(s)
	}
	return err
}

func collectorFigures(s *figure.Set, f *runFile) {
	extra, lean := column(f, "extra"), column(f, "lean")
	fewer := func(a, b []float64) []float64 {
		r := figure.Ratios(b, a)
		for i := range r {
			r[i] = (1 - r[i]) * 100
		}
		return r
	}
	more := figure.Ratios(lean.perCollection, extra.perCollection)
	for i := range more {
		more[i] = (more[i] - 1) * 100
	}
	s.AtLeast("lean: fewer collections than extra", fewer(extra.collections, lean.collections), 35, " %")
	s.AtLeast("lean: more requests a collection than extra", more, 60, " %")
	s.AtLeast("lean: less GC time than extra", fewer(extra.gcTime, lean.gcTime), 40, " %")
	fmt.Fprintf(s.Out, "beside it (not a target): requests/s lean/extra %.2f, the study's 1.93; requests a collection %.3g -> %.3g, the study's 3.98 -> 7.13\n",
		figure.Median(figure.Ratios(lean.throughput, extra.throughput)), figure.Median(extra.perCollection), figure.Median(lean.perCollection))
}

// parsed is what the parser of gctrace lines shows.
type parsed struct {
	Speed       []float64 `json:"megabytes_per_second"`
	Allocations float64   `json:"allocations_a_line"` // that is not gctrace's
}

func (p parsed) figures(s *figure.Set) {
	s.AtLeast("gctrace parser, 9 of 10 lines not gctrace's", p.Speed, 200, " MB/s")
	s.AtMost("gctrace parser, allocations a line not gctrace's", []float64{p.Allocations}, 0, "")
}

// measure runs the search service in its four ways.
func measure(bin string, repeat, requests int) (*runFile, error) {
	dir, err := os.MkdirTemp("", "bench-gc-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "run.json")
	cmd := exec.Command(filepath.Join(bin, "evenkeel"), "run",
		"-n", fmt.Sprint(requests), "-c", "100", "-warmup", "1s", "-m", "POST", "-repeat", fmt.Sprint(repeat), "-o", out,
		"-url", "http://127.0.0.1:5000/search?term=president&cnn=on&bbc=on&nyt=on",
		"-variant", "extra: -alloc=extra", "-variant", "extra, GC off: GOGC=off -alloc=extra",
		"-variant", "lean: -alloc=lean", "-variant", "lean, GC off: GOGC=off -alloc=lean",
		"--", filepath.Join(bin, "search"))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("evenkeel run: %w", err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	f := runFile{raw: b}
	return &f, json.Unmarshal(b, &f)
}

// figures are one variant's, by repeat.
type figures struct{ throughput, collections, perCollection, gcTime []float64 }

func column(f *runFile, label string) figures {
	var c figures
	for _, r := range f.Runs {
		if r.Label != label || r.GC == nil {
			continue
		}
		n := float64(r.GC.Summary.Collections)
		percent, _ := r.GC.Summary.CPUPercent.Get()
		c.throughput = append(c.throughput, r.Load.Throughput())
		c.collections = append(c.collections, n)
		c.perCollection = append(c.perCollection, float64(r.Load.Answered)/n)
		c.gcTime = append(c.gcTime, percent/100*r.Load.Duration.Seconds())
	}
	return c
}

// scanner measures the parser's speed five times, and its allocations for lines that are not
// gctrace's.
func scanner() (speed []float64, allocs float64) {
	mixed, foreign := serverLog(10), serverLog(0)
	for range 5 {
		start := time.Now()
		const rounds = 20
		for range rounds {
			scan(mixed)
		}
		speed = append(speed, float64(len(mixed))*rounds/1e6/time.Since(start).Seconds())
	}
	return speed, allocations(foreign)
}
