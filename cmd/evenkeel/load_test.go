package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/cmd/evenkeel/internal/run"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

// TestGeneratorAtItsLimit: nothing is judged of a load that failed by the load generator's own
// limit, and the exit code says so.
func TestGeneratorAtItsLimit(t *testing.T) {
	l, err := load.ParseLimit("failed>1%")
	if err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	a := &cli.App{Stdout: &out, Stderr: &said}
	c := &loadCommand{app: a, failIf: load.Limits{l}}
	load := &loadgen.Result{
		Answered: 100, Failed: 50, Statuses: map[int]int64{200: 100}, Duration: time.Second,
		Failures: []loadgen.Failure{{Class: loadgen.ClassGenerator, Count: 50, Example: "socket: too many open files"}},
	}
	code := a.Exit("load", c.report(&runfile.File{Runs: []runfile.Run{{Label: "x", Load: load}}}))
	if code != cli.ExitFailed || !strings.Contains(said.String(),
		"50 of 150 requests failed here (socket: too many open files); raise ulimit -n") ||
		strings.Contains(said.String(), "-fail-if") {
		t.Errorf("exit code %d: %s", code, said.String())
	}
}

// planted writes a run file of base and head in rounds; head's slowest 2% take so many times as
// long. Runs vary by 10%.
func planted(t *testing.T, rounds int, slower float64) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, uint64(rounds)))
	f := &runfile.File{Version: runfile.Version}
	for round := range rounds {
		for _, label := range []string{"base", "head"} {
			factor := math.Exp(.1 * rng.NormFloat64())
			if label == "head" {
				factor *= slower
			}
			l := &loadgen.Result{Answered: 2000, Duration: time.Second}
			for i := range 2000 {
				d := time.Millisecond
				if i%50 == 0 {
					d = time.Duration(10e6 * factor)
				}
				l.Latency.Record(d)
			}
			f.Runs = append(f.Runs, runfile.Run{Label: label, Repeat: round + 1, Round: round + 1, Load: l})
		}
	}
	name := filepath.Join(t.TempDir(), fmt.Sprint(rounds, ".json"))
	if err := runfile.Save(name, f.Write); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestCompareFailIf judges planted regressions: one is certain, one is none, and few runs tell
// neither.
func TestCompareFailIf(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rounds int
		slower float64
		limits []string
		code   int
		says   []string
	}{
		{
			"a large regression", 10, 1.6,
			[]string{"p99 > +20%"},
			cli.ExitLimit,
			[]string{`-fail-if p99 > +20%: exceeded: p99 of "head": 1.`, `of "base"'s, within [1.`},
		},
		{"none", 10, 1, []string{"p99 > +20%"}, cli.ExitOK, []string{"-fail-if p99 > +20%: kept: "}},
		{
			"one at the limit", 10, 1.25,
			[]string{"p99 > +20%"},
			cli.ExitInconclusive,
			[]string{"-fail-if p99 > +20%: inconclusive: ", "the limit lies there", "would"},
		},
		{
			"few runs", 3, 3,
			[]string{"p99 > +20%"},
			cli.ExitInconclusive,
			[]string{"3 rounds are too few for an interval; use 6 rounds"},
		},
		{"one run", 1, 3, []string{"p99 > +20%"}, cli.ExitInconclusive, []string{"not known of two runs of each"}},
		{
			"one of two", 10, 1.6,
			[]string{"requests/s < -10%", "p99>20%"},
			cli.ExitLimit,
			[]string{"-fail-if requests/s < -10%: kept", "-fail-if p99>20%: exceeded"},
		},
		{
			"certain and unknown", 10, 1.6,
			[]string{"p99>20%", "p99>60%"},
			cli.ExitLimit,
			[]string{"p99>20%: exceeded", "p99>60%: inconclusive"},
		},
		{
			"too few requests", 10, 1.6,
			[]string{"p99.9 > +20%"},
			cli.ExitInconclusive,
			[]string{"with as many requests as it needs"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"compare", planted(t, tt.rounds, tt.slower)}
			for _, l := range tt.limits {
				args = append(args, "-fail-if", l)
			}
			call(args...).check(t, tt.code, []string{"base", "head"}, tt.says)
		})
	}
	name := planted(t, 10, 1.6)
	r := call("compare", "-markdown", "-fail-if", "p99 > +20%", name)
	r.check(t, cli.ExitLimit, []string{
		"- -fail-if p99 &#62; +20%: exceeded: ",
		"| | base | head | ratio | lies within | |\n", "| p99 | ", "| **slower** |\n",
		"| requests | 2,000 | 2,000 | | | |\n",
	}, nil)
	if strings.Contains(r.stdout, "| p50 |") {
		t.Error("p50 is in it, which is not judged")
	}
}

// TestFailIfOfOneVariant: a limit that there is nothing to hold against is no limit that is kept.
func TestFailIfOfOneVariant(t *testing.T) {
	name := filepath.Join(t.TempDir(), "head.json")
	f := &runfile.File{Version: runfile.Version}
	for i := range 8 {
		f.Runs = append(f.Runs, runfile.Run{
			Label: "head", Repeat: i + 1, Round: i + 1,
			Load: &loadgen.Result{Answered: 1000, Duration: 1e9},
		})
	}
	if err := runfile.Save(name, f.Write); err != nil {
		t.Fatal(err)
	}
	call("compare", "-fail-if", "requests/s < -10%", name).check(t, cli.ExitFailed, nil,
		[]string{`there is only "head"; name another file`})
	call("compare", name).check(t, cli.ExitOK, []string{"head"}, nil)
}

// TestWorkflow holds the example of a workflow to flags that there are, and to pinned actions.
func TestWorkflow(t *testing.T) {
	text, err := os.ReadFile("../../deploy/github/tail.yml")
	if err != nil {
		t.Fatal(err)
	}
	joined := strings.ReplaceAll(string(text), "\\\n", "")
	commands := 0
	for line := range strings.Lines(joined) {
		_, rest, ok := strings.Cut(line, "bin/evenkeel ")
		if !ok || strings.Contains(line, "go build") {
			continue
		}
		commands++
		words := shellWords(rest)
		if words[0] == "run" {
			if _, err := run.New(&cli.App{Stdout: io.Discard, Stderr: os.Stderr}, "", words[1:]); err != nil {
				t.Error(err)
			}
		}
		help := call(words[0], "-h").stdout
		if i := slices.Index(words, "--"); i >= 0 {
			words = words[:i]
		}
		for i, w := range words {
			if strings.HasPrefix(w, "-") && !strings.Contains(help, "\n  "+w) {
				t.Errorf("evenkeel %s has no %s", words[0], w)
			}
			if w == "-fail-if" {
				if _, err := compare.ParseLimit(words[i+1]); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if commands != 2 {
		t.Errorf("%d commands of evenkeel, want run and compare", commands)
	}
	for _, m := range regexp.MustCompile(`uses: (.*)`).FindAllStringSubmatch(string(text), -1) {
		if !regexp.MustCompile(`^[\w.-]+/[\w.-]+@[0-9a-f]{40} # v[0-9.]+$`).MatchString(m[1]) {
			t.Errorf("%s: pin it to a commit, with its version in a comment", m[1])
		}
	}
}

// shellWords splits a command at blanks, without the quotes of its words.
func shellWords(command string) (words []string) {
	for _, w := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(command, -1) {
		words = append(words, strings.Trim(w, "'"))
	}
	return words
}

// misplaced returns the lines of a workflow that have a token, or the right to write, where code of
// the pull request may use it: all but those of a job without a checkout, the token in the step
// there that calls gh.
func misplaced(workflow string) (lines []string) {
	may := regexp.MustCompile(`(?i)_token|\.token|secrets\b|\bwrite\b|write-all`)
	head, jobs, _ := strings.Cut(workflow, "\njobs:\n")
	for i, job := range append([]string{head}, parts(jobs, `(?m)^  [\w-]+:`)...) {
		own := i > 0 && !strings.Contains(job, "checkout") // what the pull request says is not here
		for j, step := range parts(job, `(?m)^      - `) {
			calls := j > 0 && strings.Contains(step, "run: gh ")
			for line := range strings.Lines(step) {
				line, _, _ = strings.Cut(line, " #")
				if may.MatchString(line) && !(own && (calls || strings.Contains(line, "pull-requests: write"))) {
					lines = append(lines, strings.TrimSpace(line))
				}
			}
		}
	}
	return lines
}

// parts splits text before each match; the first part is what is before all of them.
func parts(text, begin string) (list []string) {
	from := 0
	for _, at := range regexp.MustCompile(begin).FindAllStringIndex(text, -1) {
		list = append(list, text[from:at[0]])
		from = at[0]
	}
	return append(list, text[from:])
}

// TestWorkflowToken: what the pull request built runs in a job whose token can only read, and which
// nothing has in its environment.
func TestWorkflowToken(t *testing.T) {
	read, err := os.ReadFile("../../deploy/github/tail.yml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(read)
	if lines := misplaced(text); len(lines) > 0 {
		t.Errorf("code of the pull request may use %q", lines)
	}
	if !strings.Contains(text, "\npermissions:\n  contents: read\njobs:") ||
		!strings.Contains(text, "GH_TOKEN: ${{ github.token }}") {
		t.Error("a job may do more than read by default, or gh has no token")
	}
	for _, c := range []struct{ at, add string }{
		{"timeout-minutes: 30\n", "    permissions: write-all\n"},
		{"permissions:\n", "  contents: write\n"},
		{"jobs:\n", "  other:\n    steps:\n      - uses: actions/checkout@v5\n      - run: gh pr comment\n        " +
			"env: { GH_TOKEN: x }\n"},
		{"    env:\n", "      GH_TOKEN: ${{ github.token }}\n"},
		{"      - name: measure\n", "        env: { GH_TOKEN: \"${{ github.token }}\" }\n"},
		{"      - name: judge\n", "        env: { KEY: \"${{ secrets.KEY }}\" }\n"},
		{"  comment:", " # \n    env: { GH_TOKEN: \"${{ github.token }}\" }\n"},
	} {
		if worse := strings.Replace(text, c.at, c.at+c.add, 1); worse == text || len(misplaced(worse)) != 1 {
			t.Errorf("after %q with %q it finds %q", c.at, c.add, misplaced(worse))
		}
	}
}
