package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

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
	if err := f.Save(name); err != nil {
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
		"-start noon x":                    "-start: write a time with its zone, such as 2026-11-22T10:00:00Z",
		"-start 0 x":                       "-start 1970-01-01T00:00:00Z is over since",
		"-start 2999-01-01T00:00:00Z x":    "ahead; it may be 24h0m0s",
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
	call("convert", log).check(t, cli.ExitOK, []string{`"format": "hlog"`}, nil)
	call("compare", run, share).check(t, cli.ExitOK, []string{"requests"}, nil)
	k6 := filepath.Join(dir, "k6.json")
	call("convert", "-o", k6, tools+"k6-export.json").check(t, cli.ExitOK, nil, nil)
	r := call("compare", k6, run)
	r.check(t, cli.ExitOK, []string{"p99.9"}, nil)
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
		{"-from xml " + run, cli.ExitFailed, `format "xml" cannot be read; these can: run, hgrm`},
		{"-to wrk2 " + run, cli.ExitFailed, `format "wrk2" cannot be written; these can: run, hgrm`},
		{share, cli.ExitUsage, "is a run.json already"},
		{
			"-to hgrm " + several, cli.ExitFailed,
			"24 of its runs are meant, and this format has one: say which with -run; there are fixed#1",
		},
		{"-to hgrm -run nonsense " + several, cli.ExitFailed, "0 of its runs are meant"},
		{"-o " + run + " " + run, cli.ExitFailed, "is read, and would be written over"},
		{tools + "gen.sh", cli.ExitFailed, "in no format that is known here"},
	} {
		call(append([]string{"convert"}, strings.Fields(tt.args)...)...).check(t, tt.code, nil, []string{tt.want})
	}
	call("convert", "-to", "hgrm", "-run", "slow#2", several).check(t, cli.ExitOK, []string{"Percentile"}, nil)
	call("merge", k6, k6).check(t, cli.ExitFailed, nil, []string{"percentiles cannot be added"})
	if _, err := os.Stat(log); err != nil {
		t.Error(err)
	}
}

// TestForeignFiguresAreNotMadeUp shows no percentile that a summary did not tell.
func TestForeignFiguresAreNotMadeUp(t *testing.T) {
	dir := t.TempDir()
	text, run := filepath.Join(dir, "wrk.txt"), filepath.Join(dir, "wrk.json")
	if err := os.WriteFile(text, []byte("Running 2s test @ http://127.0.0.1:8080/\n  2 threads and 10 connections\n"+
		"  Latency Distribution\n     50%    1.00ms\n     75%    1.20ms\n     90%    2.00ms\n     99%    3.00ms\n"+
		"  1000 requests in 2.00s, 1.20MB read\nRequests/sec:    500.00\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	call("convert", "-o", run, text).check(t, cli.ExitOK, nil, nil)
	r := call("compare", run)
	r.check(t, cli.ExitOK, []string{"p90", "p99 "}, nil)
	for _, not := range []string{"p99.9", "sent > 1 ms late"} {
		if strings.Contains(strings.Split(r.stdout, "!")[0], not) {
			t.Errorf("it has %s:\n%s", not, r.stdout)
		}
	}
}
