package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/gclog"
	"evenkeel.dev/cmd/evenkeel/internal/observe"
	"evenkeel.dev/cmd/evenkeel/internal/page"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

// write makes a run.json of one run a label, measured with so many cores.
func write(t *testing.T, name string, cores int, labels ...string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	f := &runfile.File{Version: runfile.Version, Machine: runfile.Machine{Cores: cores}}
	for _, l := range labels {
		f.Runs = append(f.Runs, runfile.Run{Label: l, Repeat: 1, Load: &loadgen.Result{Answered: 7, Duration: 1e9}})
	}
	if err := runfile.Save(name, f.Write); err != nil {
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
		{
			one + " " + other,
			[]string{one + ": a", one + ": b", other + ": a", other + ": b"},
			"! measured on 2 different machines",
		},
		{one + " " + one, []string{one + ": a", one + ": b", one + ": a (2)", one + ": b (2)"}, ""},
	} {
		r := call(append([]string{"compare"}, strings.Fields(tt.args)...)...)
		r.check(t, cli.ExitOK, []string{tt.notes}, nil)
		head, _, _ := strings.Cut(r.stdout, "\n")
		if got := strings.Join(strings.Fields(head), " "); got != strings.Join(tt.heads, " ") {
			t.Errorf("%s: columns %q, want %q", tt.args, got, tt.heads)
		}
	}
}

// TestCompareBase has ratios refer to a column that is not the first, and one figure judged, as a
// table and as JSON.
func TestCompareBase(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.json")
	f := &runfile.File{Version: runfile.Version}
	for i := range 6 {
		for _, l := range []string{"off", "default"} {
			f.Runs = append(f.Runs, runfile.Run{
				Label: l, Repeat: i + 1, Round: i + 1,
				Load: &loadgen.Result{Answered: int64(1000*len(l) + i), Duration: 1e9},
			})
		}
	}
	if err := runfile.Save(name, f.Write); err != nil {
		t.Fatal(err)
	}
	call("compare", "-base", "default", "-figures", "requests/s", name).check(t, cli.ExitOK,
		[]string{
			"requests/s 3,003 0.43x [0.43–0.43] 7,003\n",
			`ratio to "default"; brackets hold the true ratio with a probability of 95%`,
		}, nil)
	call("compare", "-base", "default", "-figures", "requests/s", "-json", name).check(t, cli.ExitOK,
		[]string{`"verdict": "slower"`, `"base": "default"`}, nil)
	call("compare", "-base", "of", name).check(t, cli.ExitFailed, nil,
		[]string{`-base: no column is called "of"; there are "off", "default"`})
}

func TestCompareRejects(t *testing.T) {
	dir := t.TempDir()
	good := write(t, filepath.Join(dir, "good.json"), 2, "a")
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ text, want string }{
		"empty":      {"", "cut off, or empty"},
		"not JSON":   {"requests 7\n", "not a file that evenkeel wrote"},
		"other JSON": {`{"a": 1}`, "it has no version"},
		"a list":     {`[]`, "not a file that evenkeel wrote"},
		"newer": {
			`{"version": 99, "runs": [{}]}`,
			"version 99 is newer than this evenkeel reads (1): update evenkeel",
		},
		"negative": {`{"version": -1, "runs": [{}]}`, "it has no version"},
		"no runs":  {`{"version": 1}`, "no runs"},
		"no load":  {`{"version": 1, "runs": [{"label": "x"}]}`, `runs[0] ("x") has no load`},
		"many looks": {
			`{"version": 1, "runs": [{"load": {}}], "plan": {"looks": 201}}`,
			"201 looks are not from 0 to 200",
		},
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
			r.check(t, cli.ExitFailed, nil, []string{"evenkeel compare: " + file + ": ", tt.want})
			if r.stdout != "" {
				t.Errorf("a table was printed: %s", r.stdout)
			}
		})
	}
	call("compare", dir).check(t, cli.ExitFailed, nil, []string{dir})
}

func TestComparePage(t *testing.T) {
	dir := t.TempDir()
	file, page := write(t, filepath.Join(dir, "one.json"), 2, "a", "b"), filepath.Join(dir, "page.html")
	call("compare", "-html", page, file).check(t, cli.ExitOK, []string{"requests/s"}, []string{"wrote " + page})
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	r := call("compare", file, "-html", "-")
	r.check(t, cli.ExitOK, nil, nil)
	if r.stdout != string(b) || !strings.Contains(r.stdout, "</html>") {
		t.Error("-html - and -html FILE differ")
	}
	call("compare", "-html", filepath.Join(dir, "no", "page.html"), file).check(t, cli.ExitFailed, nil,
		[]string{"cannot write", "no such file or directory"})
}

func TestCompareEvents(t *testing.T) {
	dir := t.TempDir()
	file, page := filepath.Join(dir, "run.json"), filepath.Join(dir, "page.html")
	started := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	f := &runfile.File{Version: runfile.Version, Runs: []runfile.Run{
		{Label: "v", Repeat: 1, Load: &loadgen.Result{Answered: 7, Started: started, Duration: 10 * time.Second}},
	}}
	if err := runfile.Save(file, f.Write); err != nil {
		t.Fatal(err)
	}
	events := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	line := func(at, source, state string) string {
		return `{"t":"2026-11-21T` + at + `Z","source":"` + source + `","state":"` + state + `"}` + "\n"
	}
	gate := events("gate.ndjson", line("10:00:01.5", "replica 1", "collecting")+line("10:00:01.81", "replica 1",
		"serving"))
	deploy := events("deploy.ndjson", line("10:00:09", "deployment", "v2"))
	late := events("late.ndjson", line("11:00:00", "deployment", "v3"))
	bad := events("bad.ndjson", line("10:00:09", "deployment", "v2")+"deployed v3\n\n")

	call("compare", "-events", gate, file, "-events", deploy, "-html", page).check(t, cli.ExitOK,
		[]string{"events during v\n deployment: v2 1x, 1 s in all, longest 1 s\n replica 1: collecting 1x, 310 ms in " +
			"all, longest 310 ms\n"}, nil)
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), `id="lanes-0"`) {
		t.Error("the page has no lanes")
	}
	call("compare", "-events", late, file).check(t, cli.ExitOK,
		[]string{"! " + late + ": no event in it (the first of 2026-11-21T11:00:00.000Z)"}, nil)
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-events", bad, file}, cli.ExitFailed, bad + ":2: not one JSON object"},
		{[]string{"-events", filepath.Join(dir, "none"), file}, cli.ExitFailed, filepath.Join(dir, "none")},
		{[]string{"-events", dir, file}, cli.ExitFailed, dir},
		{[]string{"-events", gate}, cli.ExitUsage, "no file"},
		{[]string{"-events", "-", "-"}, cli.ExitUsage, "both read standard input"},
		{[]string{"-events", "-", "-events", "-", file}, cli.ExitUsage, "both read standard input"},
	} {
		r := call(append([]string{"compare"}, tt.args...)...)
		r.check(t, tt.code, nil, []string{tt.want})
		if r.stdout != "" {
			t.Errorf("%q: a table was printed: %s", tt.args, r.stdout)
		}
	}
}

// FuzzRunFile has whatever a run.json may hold be shown.
func FuzzRunFile(f *testing.F) {
	var b bytes.Buffer
	if err := (&runfile.File{Version: runfile.Version, Runs: []runfile.Run{
		{Label: "a", Repeat: 1, Load: &loadgen.Result{Answered: 5, Duration: 1e9}},
		{Label: "b", Repeat: 1, Load: &loadgen.Result{Answered: 5, Duration: 1e9}},
	}}).Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"version":1,"runs":[{"load":{"answered":1,"duration_ns":9e18,"rate":1e308,"late":9},` +
		`"gc":{"summary":{"collections":-1}},"alloc":{"bytes":-5},"server":{}}]}`))
	f.Add([]byte(`{"version":1,"runs":[{"load":{"statuses":{"-1":-1},"failures":[{}],"targets":[""]}},` +
		`{"label":"\u001b[31m","load":{}}]}`))
	f.Add([]byte(`{"version":1,"runs":[null]}`))
	f.Add([]byte(`{"version":1,"runs":[{"load":{"latency":"HISTFAAAACB4nJNpmSzMwMDAzAABzFCaEUzOYMjzAAAVTgHZ"}}]}`))
	f.Add([]byte(`{"version":1,"plan":{"variants":["b"],"looks":3,"figures":["p99","x"]},` +
		`"runs":[{"label":"a","round":1,"load":{"answered":5}},{"label":"b","round":1,"load":{"answered":-5}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := runfile.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		c := compare.Files([]*runfile.File{file, file}, []string{"a", "b"})
		if err := c.Text(io.Discard, textfmt.Style{}); err != nil {
			t.Fatal(err)
		}
		if err := page.Compare(io.Discard, c); err != nil {
			t.Fatal(err)
		}
		alone := compare.Files([]*runfile.File{file}, []string{"a"}) // as its plan says
		compare.Limits{{Figure: "p99", Ratio: 1.2}}.Check(alone)
		for _, write := range []func(io.Writer) error{
			func(w io.Writer) error { return page.Compare(w, alone) },
			func(w io.Writer) error { return cli.WriteJSON(w, alone.Data()) },
			func(w io.Writer) error { return alone.Markdown(w, nil) },
		} {
			if err := write(io.Discard); err != nil {
				t.Fatal(err)
			}
		}
		for i := range file.Runs {
			if err := compare.WriteLoad(io.Discard, &file.Runs[i], textfmt.Style{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, col := range c.Columns {
			if a := col.Median().Alloc; a != nil {
				_ = observe.WriteSites(io.Discard, a, textfmt.Style{})
			}
			if gc := col.Median().GC; gc != nil {
				_ = gclog.WriteSummary(io.Discard, &gc.Summary, 0, textfmt.Style{})
			}
		}
	})
}

// shareFile makes the run.json of one of several generators.
func shareFile(t *testing.T, dir string, i, of int, change func(*runfile.File)) string {
	t.Helper()
	l := &loadgen.Result{
		Targets: []string{"GET http://x/"}, Rate: 50, Connections: 5, Started: time.Unix(1e9, 0),
		Duration: 2 * time.Second, Answered: 100, Statuses: map[int]int64{200: 100},
	}
	l.Latency.RecordN(time.Duration(i+1)*time.Millisecond, 100)
	f := &runfile.File{
		Version: runfile.Version, Tool: "evenkeel",
		Runs: []runfile.Run{{Label: "load", Repeat: 1, Load: l, Share: &runfile.Share{Index: i, Of: of}}},
	}
	if change != nil {
		change(f)
	}
	name := filepath.Join(dir, fmt.Sprint(i, ".json"))
	if err := runfile.Save(name, f.Write); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestMergeFiles writes a run.json that other commands read.
func TestMergeFiles(t *testing.T) {
	dir := t.TempDir()
	all := filepath.Join(dir, "all.json")
	files := []string{shareFile(t, dir, 0, 2, nil), shareFile(t, dir, 1, 2, nil)}
	call("merge", "-o", all, files[0], files[1]).check(t, cli.ExitOK,
		[]string{
			"100 requests/s (open loop)", "requests 200", "p50 1.00 ms", "p90 2.00 ms",
			"added up from 2 generators",
		}, []string{"wrote " + all})
	call("compare", all, files[0]).check(t, cli.ExitOK, []string{"requests 200 100"}, nil)
	call("merge", "-o", "-", files[0], files[1]).check(t, cli.ExitOK, []string{`"index": 1`, `"answered": 200`}, nil)
	page := filepath.Join(dir, "page.html")
	call("compare", "-html", page, all).check(t, cli.ExitOK, nil, []string{"wrote " + page})
}

func TestMergeRefuses(t *testing.T) {
	dir := t.TempDir()
	one := shareFile(t, dir, 0, 3, nil)
	two := shareFile(t, dir, 1, 3, func(f *runfile.File) { f.Runs[0].Load.Late = 50 })
	bad := filepath.Join(dir, "bad.json")
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"", cli.ExitUsage, "0 files; name one of each machine"},
		{one, cli.ExitUsage, "1 files; name one of each machine"},
		{"- -", cli.ExitUsage, "there is one standard input"},
		{one + " " + one, cli.ExitFailed, "are the same run: give each generator's file once"},
		{one + " " + two, cli.ExitFailed, "1 of 3 shares are not there, such as 2/3"},
		{one + " " + two, cli.ExitFailed, two + ": 50 of 100 requests were sent more than 1 ms late"},
		{one + " " + bad, cli.ExitFailed, bad},
		{"-o " + one + " " + one + " " + two, cli.ExitFailed, "is read, and would be written over"},
		{"-skew x " + one, cli.ExitUsage, "-skew: write a duration"},
	} {
		call(append([]string{"merge"}, strings.Fields(tt.args)...)...).check(t, tt.code, nil, []string{tt.want})
	}
}

// TestMergeOfSeveralRuns keeps labels and repeats apart.
func TestMergeOfSeveralRuns(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i := range 2 {
		files = append(files, shareFile(t, dir, i, 2, func(f *runfile.File) {
			again := f.Runs[0]
			load := *again.Load
			load.Answered, again.Load, again.Label = 7, &load, "other"
			f.Runs = append(f.Runs, again)
		}))
	}
	call("merge", files[0], files[1]).check(t, cli.ExitOK, []string{"load other", "requests 200 14"}, nil)
}

func TestShareFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-share 2/2 x":                     "-share: write it as I/N with I from 0 to N-1",
		"-share 1 x":                       "of four machines 0/4, 1/4, 2/4 and 3/4",
		"-share -1/2 x":                    "write it as I/N",
		"-share 0/2 -n 1 x":                "-n 1 has no whole one for each of 2 machines: write 2 or more",
		"-share 0/9 -c 8 x":                "-c 8 has no whole one",
		"-start noon x":                    "-start: write seconds since 1970",
		"-start 0 x":                       "-start 1970-01-01T00:00:00Z is over since",
		"-start 32472144000 x":             "ahead; it may be 24h0m0s",
		"-share 0/2 -rate 1.5e-4 -z 1s x":  "load: -rate 7.5e-05",
		"-share 0/200 -rate 0 -c 100000 x": "", // 500 each
	} {
		r := call(append([]string{"load", "-t", "1ns"}, strings.Fields(args)...)...)
		if want == "" {
			if r.code != cli.ExitFailed {
				t.Errorf("%s: exit code %d\n%s", args, r.code, r.stderr)
			}
			continue
		}
		start := r.stderr
		if r.code != cli.ExitUsage || !strings.Contains(strings.ReplaceAll(start, "1970-01-01T01:00:00+01:00",
			"1970-01-01T00:00:00Z"), want) {
			t.Errorf("%s: exit code %d, %q, want %q", args, r.code, start, want)
		}
	}
}

// TestSharesOfTemplates: machines with one seed send together what one would, each request once.
func TestSharesOfTemplates(t *testing.T) {
	made := func(args ...string) (urls []string) {
		t.Helper()
		c := &loadCommand{app: &cli.App{Stdout: io.Discard, Stderr: io.Discard}}
		fs := c.app.NewFlags("load", loadHelp)
		c.register(fs)
		names, rest, err := c.app.Parse(fs, append(args, "-n", "6", "-template", "-seed", "42",
			"http://h/{{seq}}/{{int 1 1000000}}"))
		if err == nil {
			err = c.prepare(fs, append(names, rest...))
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range c.options.Targets[:c.options.Requests] {
			urls = append(urls, target.URL)
		}
		return urls
	}
	whole, shares := made(), append(made("-share", "0/2"), made("-share", "1/2")...)
	slices.Sort(whole)
	slices.Sort(shares)
	if !slices.Equal(whole, shares) {
		t.Errorf("one machine sends\n%q, two\n%q", whole, shares)
	}
}

// TestConvert goes from vegeta's results to a run.json, and from that to a log.
func TestConvert(t *testing.T) {
	dir := t.TempDir()
	const tools, share = "internal/exchange/testdata/", "internal/runfile/testdata/share.json"
	const several = "../../bench/results/fix-2026-11-28-0048.json"
	run, log := filepath.Join(dir, "run.json"), filepath.Join(dir, "run.hlog")
	call("convert", "-label", "vegeta", "-rate", "100", "-o", run, tools+"vegeta.gob").check(t, cli.ExitOK, nil,
		[]string{"vegeta's latency counts from the sending"})
	call("convert", "-to", "hlog", "-o", log, run).check(t, cli.ExitOK, nil,
		[]string{"a histogram log takes", "left out are failures"})
	call("convert", log).check(t, cli.ExitOK, []string{`"import": "hlog"`}, nil)
	call("compare", run, share).check(t, cli.ExitOK, []string{"requests"}, nil)
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"", cli.ExitUsage, "0 files; it reads one"},
		{"a b", cli.ExitUsage, "2 files; it reads one"},
		{"/no/such/file", cli.ExitFailed, "/no/such/file"},
		{"-unit 0s x", cli.ExitUsage, "-unit: write a duration from 1ns to 1h"},
		{"-rate NaN x", cli.ExitUsage, "-rate NaN; write requests a second"},
		{"-from xml " + run, cli.ExitFailed, `format "xml" cannot be read; these can: run, hlog`},
		{"-to wrk2 " + run, cli.ExitFailed, `format "wrk2" cannot be written; these can: run, hlog`},
		{share, cli.ExitUsage, "is a run.json already"},
		{
			"-to hlog " + several, cli.ExitFailed,
			"24 of its runs are meant, and this format has one: say which with -run; there are fixed#1",
		},
		{"-to hlog -run nonsense " + several, cli.ExitFailed, "0 of its runs are meant"},
		{"-o " + run + " " + run, cli.ExitFailed, "is read, and would be written over"},
		{tools + "gen.sh", cli.ExitFailed, "its format is not known here"},
	} {
		call(append([]string{"convert"}, strings.Fields(tt.args)...)...).check(t, tt.code, nil, []string{tt.want})
	}
	call("convert", "-to", "hlog", "-run", "slow#2", several).check(t, cli.ExitOK, []string{"HIST"}, nil)
	if _, err := os.Stat(log); err != nil {
		t.Error(err)
	}
}

// TestForeignFiguresAreNotMadeUp shows no figure that another tool does not know.
func TestForeignFiguresAreNotMadeUp(t *testing.T) {
	run := filepath.Join(t.TempDir(), "vegeta.json")
	call("convert", "-rate", "100", "-o", run, "internal/exchange/testdata/vegeta.gob").check(t, cli.ExitOK, nil, nil)
	r := call("compare", run)
	r.check(t, cli.ExitOK, []string{"p90", "p99 "}, nil)
	if strings.Contains(strings.Split(r.stdout, "!")[0], "sent > 1 ms late") {
		t.Error(r.stdout)
	}
}
