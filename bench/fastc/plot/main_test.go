package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/loadgen"
)

// hundred is a histogram: 90 of 1 ms, 9 of 10 ms, 1 of 100 ms.
func hundred() loadgen.Histogram {
	var h loadgen.Histogram
	for i := range 100 {
		switch {
		case i < 90:
			h.Record(time.Millisecond)
		case i < 99:
			h.Record(10 * time.Millisecond)
		default:
			h.Record(100 * time.Millisecond)
		}
	}
	return h
}

func TestShapes(t *testing.T) {
	h := hundred()
	points := ccdf(&h)
	if len(points) != 2 || math.Abs(points[0].longer-.1) > 1e-9 || math.Abs(points[1].longer-.01) > 1e-9 || math.Abs(points[1].ms-10) > .1 {
		t.Errorf("CCDF %v", points)
	}
	bars := bins(&h)
	sum, last := 0.0, bars[0].low
	for _, b := range bars {
		if b.low != last || b.high <= b.low {
			t.Errorf("bar %v after %v", b, last)
		}
		sum, last = sum+b.percent, b.high
	}
	if len(bars) < 2*binsPerDecade || math.Abs(sum-100) > 1e-6 || math.Abs(bars[0].percent-90) > 1e-6 {
		t.Errorf("%d bars, %v%%, %v", len(bars), sum, bars[0])
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	type entry map[string]any
	var one loadgen.Histogram
	one.Record(time.Millisecond)
	good := file("good.json", entry{"runs": []entry{{"label": "a", "load": loadgen.Result{Latency: hundred()}}}})
	gate := file("gate.json", entry{"raw": entry{"runs": []entry{
		{"mode": "c, gated", "try": 1, "latency": hundred()}, {"mode": "c, gated", "try": 2, "latency": one}, {"mode": "d", "try": 1, "latency": one}, {"mode": "d", "try": 1, "latency": one},
	}}})
	single := file("single.json", entry{"runs": []entry{{"label": "b", "load": loadgen.Result{Latency: one}}}})
	empty := file("empty.json", entry{"runs": []entry{}})
	out := filepath.Join(dir, "out.png")
	log := filepath.Join(dir, "server.log")
	var lines bytes.Buffer
	for i := range 10 {
		fmt.Fprintf(&lines, "[GIN] 2026/11/22 - 10:00:01 | 200 |  %dµs |  127.0.0.1 | GET  \"/%d\"\n", 100+i, i%5)
	}
	if err := os.WriteFile(log, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"-o", out, good, single, good}, 0, ""},
		{[]string{"-o", out, "-ccdf", "-only", "c gated,d", gate}, 0, ""},
		{[]string{"-h"}, 0, "what evenkeel load -o or a part of bench/gate wrote"},
		{[]string{"-o", out, "-only", "/3,/1", log}, 0, ""},
		{[]string{"-o", out, log}, 1, "colours for 4 labels: choose with -only from /0, /1, /2, /3, /4"},
		{[]string{"-o", out, "-only", "/5", log}, 1, `nothing has the label "/5"; there is /0`},
		{nil, 2, "name the files"},
		{[]string{"-x"}, 2, "-x"},
		{[]string{"-o", out, empty}, 1, "no latencies"},
		{[]string{"-o", out, filepath.Join(dir, "none.json")}, 1, "none.json"},
		{[]string{"-o", filepath.Join(dir, "out.doc"), good}, 1, "end its name in .png"},
	} {
		var stderr bytes.Buffer
		if code := run(tt.args, &stderr); code != tt.code || !strings.Contains(stderr.String(), tt.says) || tt.code == 0 && tt.says == "" && stderr.Len() > 0 {
			t.Errorf("%q: exit code %d, want %d and %q:\n%s", tt.args, code, tt.code, tt.says, &stderr)
		}
	}
	all, err := readAll([]string{good, single, good})
	if err != nil || len(all) != 2 || all[0].label != "a" || all[0].latency.Count() != 200 || all[1].latency.Count() != 1 {
		t.Errorf("%v, %v", all, err)
	}
	if all, err := readAll([]string{gate}); err != nil || len(all) != 2 || all[0].latency.Count() != 1 || all[1].latency.Count() != 2 {
		t.Errorf("of bench/gate: %v, %v", all, err)
	}
	if chosen, err := choose(all, "b"); err != nil || len(chosen) != 1 || chosen[0].label != "b" {
		t.Errorf("%v, %v", chosen, err)
	}
	if picture, err := os.ReadFile(out); err != nil || http.DetectContentType(picture) != "image/png" {
		t.Errorf("the picture: %v", err)
	}
}
