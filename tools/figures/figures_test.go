package figures_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"evenkeel.dev/tools/figures"
)

// TestPages checks the pages whose figures are all traced.
func TestPages(t *testing.T) {
	for _, page := range []string{"README.md", "docs/guides/tailstat.md"} {
		found, err := figures.Check(os.DirFS("../.."), page)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			t.Errorf("%s (CONTRIBUTING.md, rule 10)", f)
		}
	}
}

// TestHistory wants the commits that were measured in the history, where anyone can check them out.
func TestHistory(t *testing.T) {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", "../.."}, args...)...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	switch shallow, err := git("rev-parse", "--is-shallow-repository"); {
	case err != nil:
		t.Skipf("needs git and the repository's history: %v: %s", err, shallow)
	case shallow != "false":
		t.Skip("needs the repository's history, and this clone is shallow: git fetch --unshallow")
	}
	const page = "README.md"
	sources, err := figures.Sources(os.DirFS("../.."), page)
	if err != nil || len(sources) == 0 {
		t.Errorf("%s cites %d files of results: %v", page, len(sources), err)
	}
	for _, s := range sources {
		if out, err := git("merge-base", "--is-ancestor", s.Revision, "HEAD"); err != nil {
			t.Errorf("%s:%d: %s is of commit %s, which is not in the history: %s", page, s.Line, s.File, s.Revision, out)
		}
	}
}

// raw is a file of results: two rounds of one mode, the second tried twice, and one round of another.
const raw = `{"versions": {"revision": "0123456789ab"}, "rates": {"high": 4826.4, "busy": 0.6397}, "figures": [{"name": "a", "measured": 1.25}], "runs": [
	{"mode": "gated", "load": "high", "round": 1, "try": 1, "p99_ns": 30000000, "peak_bytes": [600000000, 700000000]},
	{"mode": "gated", "load": "high", "round": 2, "try": 1, "p99_ns": 900000000, "peak_bytes": [600000000, 700000000]},
	{"mode": "gated", "load": "high", "round": 2, "try": 2, "p99_ns": 43500000, "peak_bytes": [610000000, 710000000]},
	{"mode": "gated", "load": "low", "round": 1, "p99_ns": 1, "peak_bytes": []},
	{"mode": "floor", "load": "high", "round": 1, "p99_ns": 1234567890, "peak_bytes": [1]}]}
`

// page is a README whose figures are all traced.
const page = `# A page

Medians of two rounds, the floor of one, at 4,826 requests/s on a machine that is 64% busy, 300 MB live:

<!-- figures r.json
columns runs: p99_ns & load=high; peak_bytes & load=high
rows mode=gated: 2 rounds; mode=floor: 1 round
text 4,826 requests/s: rates/high; 64% busy: rates/busy; 1.25 ms: figures/0/measured[ms]; 37 ms: runs: p99_ns & load=high & mode=gated: 2 rounds
given 300 MB -->
| | p99 | memory |
|---|---|---|
| gated | **37 ms** | 655 MB |
| floor, one round | 1,235 ms | 0.0 MB |

It takes 1.25 ms, and 37 ms in all; ` + "`-rate 5ms`" + ` is code, and [a link](x-5ms) too.

    ./a -z 5s

## Another

<!-- output: evenkeel compare r.json -->
` + "```\np99   479 ms\n```\n" + `
The 479 ms are printed above.
`

func TestCheck(t *testing.T) {
	change := func(old, now string) string {
		if !strings.Contains(page, old) {
			t.Fatalf("the page has no %q", old)
		}
		return strings.Replace(page, old, now, 1)
	}
	for _, tt := range []struct {
		name, page string
		want       []string // without what to do
	}{
		{"all traced", page, nil},
		{"another figure in a table", change("**37 ms**", "**36 ms**"), []string{
			`README.md:12: p99_ns & load=high of mode=gated: the results say 3.675e+07, which "**36 ms**" is not`,
		}},
		{"another figure in a sentence", change("in all", "in all, 38 ms at most"), []string{"README.md:15: nothing says where 38 ms is from"}},
		{"what is traced is not said", change("64% busy,", "rather busy,"), []string{`README.md:8: the section does not say "64% busy"`}},
		{"what is traced is otherwise", change("64% busy: rates/busy", "64% busy: rates/high"), []string{
			`README.md:8: 64% busy: the results say 4826, which "64% busy" is not`,
		}},
		{"fewer rounds than said", change("gated: 2 rounds;", "gated: 5 rounds;"), []string{`README.md:12: the results have 2 rounds of this, the comment says "5 rounds"`}},
		{"rounds that the reader is not told", change("Medians of two rounds", "Medians"), []string{
			"README.md:8: the section does not say that it is of 2 rounds",
			"README.md:12: the section does not say that it is of 2 rounds",
		}},
		{"a row of fewer rounds", change("floor, one round |", "floor |"), []string{
			"README.md:13: the name of a row that differs from the first in it does not say that it is of 1 round",
			"README.md:13: the section does not say that it is of 1 round",
		}},
		{"no such field", change("peak_bytes & load", "peak & load"), []string{
			"README.md:12: peak & load=high of mode=gated: an entry has no field peak",
			"README.md:13: peak & load=high of mode=floor: an entry has no field peak",
		}},
		{"no such entry", change("mode=floor: 1", "mode=flour: 1"), []string{
			"README.md:13: p99_ns & load=high of mode=flour: no entry of runs has load=high and mode=flour",
			"README.md:13: peak_bytes & load=high of mode=flour: no entry of runs has load=high and mode=flour",
		}},
		{"no such file", change("figures r.json", "figures s.json"), []string{
			"README.md:5: there is no s.json",
			"README.md:3: nothing says where 4,826 requests/s is from",
			"README.md:3: nothing says where 64% is from",
			"README.md:3: nothing says where 300 MB is from",
			"README.md:15: nothing says where 1.25 ms is from",
		}},
		{"a table without a comment", "| a | b |\n|---|---|\n| x | 5 ms |\n", []string{"README.md:1: a table with figures has no raw results"}},
		{"a table traced as text", change("<!-- output: evenkeel", "<!-- figures r.json\ntext 1.25 ms: figures/0/measured[ms] -->\n| a |\n|---|\n| 1.25 ms |\n| 9 ms |\n\nIt is 1.25 ms.\n\n<!-- output: evenkeel"), []string{
			"README.md:23: nothing says where 9 ms is from",
		}},
		{"output of nobody", change("<!-- output: evenkeel compare r.json -->\n", ""), []string{"README.md:21: a block with figures does not say what prints it"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := fstest.MapFS{"README.md": {Data: []byte(tt.page)}, "r.json": {Data: []byte(raw)}}
			found, err := figures.Check(tree, "README.md")
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(found, tt.want, func(got, want string) bool { return strings.HasPrefix(got, want+": ") }) {
				t.Errorf("found\n%s\nwant\n%s", strings.Join(found, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestRevisions: results of a tree with changes, or of no known commit, hold up no figure.
func TestRevisions(t *testing.T) {
	for _, tt := range []struct{ results, want string }{
		{`{"versions": {"revision": "0123456789ab"}}`, ""},
		{`{"versions": {"revision": "v1.2.0-3-g0123456789ab"}}`, ""},
		{`{"tool": "evenkeel v0.0.0-20261127233542-0123456789ab"}`, ""},
		{`{"tool": "evenkeel devel 0123456789ab"}`, ""},
		{`{"versions": {"revision": "0123456789ab-dirty"}}`, "of a work tree with changes"},
		{`{"tool": "evenkeel v0.0.0-20261127233542-0123456789ab+dirty"}`, "of a work tree with changes"},
		{`{"versions": {"revision": "not known: exit status 128"}}`, "do not say which commit"},
		{`{"tool": "evenkeel devel"}`, "do not say which commit"},
		{`{}`, "do not say which commit"},
		{``, "there is no bench/results/r.json"},
	} {
		for _, page := range []string{
			"<!-- figures bench/results/r.json -->\n",
			"<!-- output: evenkeel compare -figures p50 bench/results/r.json -->\n```\nx\n```\n",
		} {
			tree := fstest.MapFS{"README.md": {Data: []byte("# A\n\n" + page)}}
			if tt.results != "" {
				tree["bench/results/r.json"] = &fstest.MapFile{Data: []byte(tt.results)}
			}
			found, err := figures.Check(tree, "README.md")
			if err != nil {
				t.Fatal(err)
			}
			if (tt.want == "") != (len(found) == 0) || tt.want != "" && !strings.Contains(found[0], tt.want) {
				t.Errorf("%s\n%q: %q, want %q", tt.results, page, found, tt.want)
			}
			sources, err := figures.Sources(tree, "README.md")
			switch {
			case (err == nil) != (tt.want == ""):
				t.Errorf("%s\n%q: %v", tt.results, page, err)
			case err == nil && (len(sources) != 1 || sources[0].Revision != "0123456789ab" || sources[0].Line != 3):
				t.Errorf("%s\n%q: %+v", tt.results, page, sources)
			}
		}
	}
}

// TestNewest: a newer run that has the figure takes the place of an older one, unless its tree had changes.
func TestNewest(t *testing.T) {
	results := func(day, revision, figure string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"benchmark": "x", "started": "2026-11-` + day + `T00:00:00Z", "versions": {"revision": "` + revision +
			`"}, "figures": [{"name": "` + figure + `", "measured": 5}]}`)}
	}
	const clean, page = "0123456789ab", "# A\n\n<!-- figures bench/results/x-2.json\ntext 5 ns: figures/0/measured[ns] -->\nIt takes 5 ns.\n"
	for _, tt := range []struct {
		name, day, revision, figure string
		newer                       bool
	}{
		{"newer", "03", clean, "a", true},
		{"older", "01", clean, "a", false},
		{"another figure", "03", clean, "b", false},
		{"a tree with changes", "03", clean + "-dirty", "a", false},
	} {
		tree := fstest.MapFS{
			"README.md": {Data: []byte(page)}, "bench/results/x-2.json": results("02", clean, "a"), "bench/results/x-3.json": results(tt.day, tt.revision, tt.figure),
		}
		found, err := figures.Check(tree, "README.md")
		if err != nil {
			t.Fatal(err)
		}
		if is := len(found) > 0 && strings.Contains(found[0], "x-3.json is newer"); is != tt.newer || !is && len(found) > 0 {
			t.Errorf("%s: found %q", tt.name, found)
		}
	}
}

// TestIntervals holds intervals to the results: those that a figure has, and those of rounds.
func TestIntervals(t *testing.T) {
	const raw = `{"versions": {"revision": "0123456789ab"}, "figures": [{"measured": 1.214, "interval": [1.124, 1.335]}, {"measured": 2}], "alarms": [{"method": "a", "share": 4.9}], "runs": [
		{"mode": "gated", "round": 1, "p99_ns": 1000000}, {"mode": "gated", "round": 2, "p99_ns": 2000000}, {"mode": "gated", "round": 3, "p99_ns": 3000000},
		{"mode": "gated", "round": 4, "p99_ns": 4000000}, {"mode": "gated", "round": 5, "p99_ns": 5000000}]}`
	const page = `# Five rounds

<!-- figures r.json
columns runs: p99_ns
rows mode=gated: 5 rounds
text 1.21x [1.12..1.34]: figures/0/measured; 2.0x: figures/1/measured -->
| | p99 |
|---|---|
| gated | 3.0 ms [1.0..5.0] |

It is 1.21x [1.12..1.34], and 2.0x without.

<!-- figures r.json
columns alarms: share[%]
rows method=a -->
| | alarms |
|---|---|
| a | 4.9% (p50) |
`
	for _, tt := range []struct{ old, now, want string }{
		{"", "", ""},
		{"3.0 ms [1.0..5.0]", "3.0 ms", `"3.0 ms" has no interval: write [1..5] behind it`},
		{"3.0 ms [1.0..5.0]", "3.0 ms [1.0..4.9]", "a bound of the interval is 5 in the results"},
		{"1.12..", "1.1..", ""},
		{"1.12..", "1.13..", "a bound of the interval is 1.124"},
		{"2.0x", "2.0x [1.9..2.1]", "the results have no interval"},
		{" [1.12..1.34]", "", `"1.21x" has no interval`},
		{"4.9%", "5.0%", "the results say 0.049"},
	} {
		tree := fstest.MapFS{"README.md": {Data: []byte(strings.ReplaceAll(page, tt.old, tt.now))}, "r.json": {Data: []byte(raw)}}
		found, err := figures.Check(tree, "README.md")
		if err != nil {
			t.Fatal(err)
		}
		if (tt.want == "") != (len(found) == 0) || tt.want != "" && !strings.Contains(found[0], tt.want) {
			t.Errorf("%q for %q: found\n%s\nwant %q", tt.now, tt.old, strings.Join(found, "\n"), tt.want)
		}
	}
}
