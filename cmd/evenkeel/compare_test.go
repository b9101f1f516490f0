package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/internal/report"
	"evenkeel.dev/loadgen"
)

// write makes a run.json of one run a label, measured with so many cores.
func write(t *testing.T, name string, cores int, labels ...string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	f := &report.File{Version: report.Version, Machine: report.Machine{Cores: cores}}
	for _, l := range labels {
		f.Runs = append(f.Runs, report.Run{Label: l, Repeat: 1, Load: &loadgen.Result{Answered: 7, Duration: 1e9}})
	}
	if err := f.Save(name); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestCompareFiles(t *testing.T) {
	dir := t.TempDir()
	one := write(t, filepath.Join(dir, "one.json"), 2, "a", "b")
	two := write(t, filepath.Join(dir, "two.json"), 2, "a", "c")
	other := write(t, filepath.Join(dir, "other", "one.json"), 64, "a", "b")
	for _, tt := range []struct {
		args  string
		heads []string
		notes string
	}{
		{one, []string{"a", "b"}, ""},
		{one + " " + two, []string{"one: a", "b", "two: a", "c"}, ""},
		{one + " -- " + two, []string{"one: a", "b", "two: a", "c"}, ""},
		{one + " " + other, []string{one + ": a", one + ": b", other + ": a", other + ": b"}, "! measured on 2 different machines"},
		{one + " " + one, []string{one + ": a", one + ": b", one + ": a (2)", one + ": b (2)"}, ""},
	} {
		r := call(append([]string{"compare"}, strings.Fields(tt.args)...)...)
		r.check(t, exitOK, []string{tt.notes}, nil)
		head, _, _ := strings.Cut(r.stdout, "\n")
		if got := strings.Join(strings.Fields(head), " "); got != strings.Join(tt.heads, " ") {
			t.Errorf("%s: columns %q, want %q", tt.args, got, tt.heads)
		}
	}
}

func TestCompareRejects(t *testing.T) {
	dir := t.TempDir()
	good := write(t, filepath.Join(dir, "good.json"), 2, "a")
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ text, want string }{
		"empty":         {"", "cut off, or empty"},
		"not JSON":      {"requests 7\n", "not a file that evenkeel wrote"},
		"other JSON":    {`{"a": 1}`, "it has no version"},
		"a list":        {`[]`, "not a file that evenkeel wrote"},
		"newer":         {`{"version": 99, "runs": [{}]}`, "version 99 is newer than this evenkeel reads (1): update evenkeel"},
		"negative":      {`{"version": -1, "runs": [{}]}`, "it has no version"},
		"no runs":       {`{"version": 1}`, "no runs"},
		"no load":       {`{"version": 1, "runs": [{"label": "x"}]}`, `runs[0] ("x") has no load`},
		"cut off":       {string(text[:len(text)/2]), "cut off, or empty"},
		"two in one":    {string(text) + string(text), "a file of its own"},
		"bad histogram": {`{"version": 1, "runs": [{"load": {"latency": "AAAA"}}]}`, "HdrHistogram"},
	} {
		file := filepath.Join(dir, "bad.json")
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			r := call("compare", good, file)
			r.check(t, exitFailed, nil, []string{"evenkeel compare: " + file + ": ", tt.want})
			if r.stdout != "" {
				t.Errorf("a table was printed: %s", r.stdout)
			}
		})
	}
	call("compare", dir).check(t, exitFailed, nil, []string{dir})
}

func TestComparePage(t *testing.T) {
	dir := t.TempDir()
	file, page := write(t, filepath.Join(dir, "one.json"), 2, "a", "b"), filepath.Join(dir, "page.html")
	call("compare", "-html", page, file).check(t, exitOK, []string{"requests/s"}, []string{"wrote " + page})
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	r := call("compare", file, "-html", "-")
	r.check(t, exitOK, nil, nil)
	if r.stdout != string(b) || !strings.Contains(r.stdout, "</html>") {
		t.Error("-html - and -html FILE differ")
	}
	call("compare", "-html", filepath.Join(dir, "no", "page.html"), file).check(t, exitFailed, nil, []string{"cannot write", "no such file or directory"})
}
