//go:build linux

package main

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"evenkeel.dev/bench/harness"
)

// TestQuick runs each case for a moment: all ways answer, and no run fails.
func TestQuick(t *testing.T) {
	names := map[string]bool{}
	for _, c := range cases() {
		if names[c.Name] || !strings.Contains(c.Name, "/") || c.What == "" {
			t.Errorf("case %q: its name is taken or is not group/name, or it does not say what it measures", c.Name)
		}
		names[c.Name] = true
	}
	new(harness.Full).Run(t, cases()...)
}

var update = flag.Bool("update", false, "write docs/benchmarks.md")

// TestPage compares docs/benchmarks.md with the results.
func TestPage(t *testing.T) {
	const name = "../docs/benchmarks.md"
	var out bytes.Buffer
	h := &harness.Harness{Cases: cases(), Out: &out}
	if err := h.Page("results"); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, out.Bytes()) {
		t.Errorf("%s is not what -page prints; run go test -run TestPage . -update in bench", name)
	}
}

var (
	toPage = regexp.MustCompile(`\[([^]]*)\]\([^)]*benchmarks\.md#([a-z0-9-]+)\)`)
	number = regexp.MustCompile(`\d[\d,]*(\.\d+)?`)
)

// TestFigures compares the figures of other pages with docs/benchmarks.md. A figure is the text of a link to
// the section of its case.
func TestFigures(t *testing.T) {
	page, err := os.ReadFile("../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string][]string{}
	for section := range strings.SplitSeq(string(page), "\n## ") {
		name, text, _ := strings.Cut(section, "\n")
		sections[strings.ReplaceAll(strings.ToLower(name), "/", "")] = number.FindAllString(text, -1)
	}
	pages, err := filepath.Glob("../docs/*.md")
	more, moreErr := filepath.Glob("../docs/*/*.md")
	if err != nil || moreErr != nil {
		t.Fatal(err, moreErr)
	}
	for _, name := range slices.Concat([]string{"../README.md", "../examples/wholepath/README.md"}, pages, more) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range toPage.FindAllStringSubmatch(string(text), -1) {
			figures, ok := sections[link[2]]
			if !ok {
				t.Errorf("%s: benchmarks.md has no section #%s", name, link[2])
			}
			for _, said := range number.FindAllString(link[1], -1) {
				if !slices.ContainsFunc(figures, func(f string) bool { return rounds(t, f, said) }) {
					t.Errorf("%s: %s is not a figure of benchmarks.md#%s", name, said, link[2])
				}
			}
		}
	}
}

// rounds reports whether a figure is said, to as many places as that has.
func rounds(t *testing.T, figure, said string) bool {
	plain := func(s string) float64 {
		x, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	_, places, _ := strings.Cut(said, ".")
	unit := math.Pow10(-len(places))
	if whole := strings.TrimRight(strings.ReplaceAll(said, ",", ""), "0"); places == "" && whole != "" {
		unit = math.Pow10(len(strings.ReplaceAll(said, ",", "")) - len(whole)) // 77,800
	}
	return math.Abs(plain(figure)-plain(said)) <= unit/2*(1+1e-9)
}

func TestRounds(t *testing.T) {
	for _, tt := range []struct {
		figure, said string
		want         bool
	}{
		{"0.0512", "0.051", true},
		{"0.0516", "0.051", false},
		{"77812", "77,800", true},
		{"77912", "77,800", false},
		{"0", "0", true},
		{"1", "0", false},
		{"10.4", "10", true},
		{"16", "10", false},
	} {
		if got := rounds(t, tt.figure, tt.said); got != tt.want {
			t.Errorf("%s for %s: %v", tt.said, tt.figure, got)
		}
	}
}
