package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/gctrace"
)

// gcLog has lines of collections from..to, a tenth of a second apart, and of the program's own.
func gcLog(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "the program says %d\ngc %d @%.3fs 4%%: 0.020+1.0+0.030 ms clock, 0.040+0.20/1.0/0.50+0.060 "+
			"ms cpu, 6->7->3 MB, 8 MB goal, 0 MB stacks, 0 MB globals, 2 P\n", i, i, float64(i)/10)
	}
	return b.String()
}

func logFile(t *testing.T, text string) string {
	t.Helper()
	return writeIn(t, t.TempDir(), "server.log", text)
}

// TestGCTraceWindow takes parts of logs. Each collection takes 1.05 ms and begins at a tenth of
// a second that its number says.
func TestGCTraceWindow(t *testing.T) {
	t.Parallel()
	const sixty = 60
	for _, tt := range []struct {
		name, log, flags string
		want             []string
	}{
		{"all", gcLog(1, sixty), "", []string{
			"gc 1 to gc 60, from 0 to 6.00 s", "collections 60\n", "window 6.00 s\n",
			"4% in GC since",
		}},
		{
			"without its beginning", gcLog(50, sixty), "",
			[]string{"gc 50 to gc 60, from 5 s to 6.00 s", "collections 11\n", "window 1.00 s\n", "pace 91.0 ms\n"},
		},
		{"from the first on", gcLog(50, sixty), "-from 1s", []string{"collections 11\n", "window 1.00 s\n"}},
		{"-from", gcLog(1, sixty), "-from 2s", []string{
			"gc 20 to gc 60, from 2 s to 6.00 s", "collections 41\n",
			"window 4.00 s\n",
		}},
		{
			"-from the start", gcLog(1, sixty), "-from 0",
			[]string{"gc 1 to gc 60, from 0 to 6.00 s", "collections 60\n", "window 6.00 s\n"},
		},
		{
			"-from the start of what has none", gcLog(50, sixty), "-from 0",
			[]string{"gc 50 to gc 60, from 5 s to 6.00 s", "window 1.00 s\n"},
		},
		{"-to", gcLog(1, sixty), "-to 2", []string{"gc 1 to gc 19, from 0 to 2 s", "collections 19\n", "window 2 s\n"}},
		{
			"-from and -to", gcLog(1, sixty), "-from 2s -to 4s",
			[]string{"gc 20 to gc 39", "collections 20\n", "window 2 s\n", "allocated 80 MiB"},
		},
		{"-to after the end", gcLog(1, sixty), "-to 10s", []string{
			"window 10 s\n",
			"! the log ends at 6.00 s, before -to",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := call(append(append([]string{"gctrace"}, strings.Fields(tt.flags)...), logFile(t, tt.log))...)
			r.check(t, cli.ExitOK, tt.want, nil)
			if strings.Contains(r.stdout, "processes") {
				t.Errorf("one process, and it says\n%s", r.stdout)
			}
		})
	}
}

func TestGCTraceWindowFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flags string
		code  int
		want  string
	}{
		{"-from 4s -to 4s", cli.ExitUsage, "-to 4s is not after -from 4s"},
		{"-from soon", cli.ExitUsage, "500ms, 10s or 2m"},
		{"-from 2.01s", cli.ExitFailed, "no collection of it is in the window; it has 20 collections up to 2.00 s " +
			"after the program's start: change -from or -to"},
		{"-to 99ms", cli.ExitFailed, "change -from or -to"},
		{"-to 0", cli.ExitUsage, "-to 0: write when the window ends, such as 40s, or leave it out"},
	} {
		for _, json := range []string{"", " -json"} {
			r := call(append(append([]string{"gctrace"}, strings.Fields(tt.flags+json)...),
				logFile(t, gcLog(1, 20)))...)
			r.check(t, tt.code, nil, []string{tt.want})
			if r.stdout != "" {
				t.Errorf("%s%s: printed\n%s", tt.flags, json, r.stdout)
			}
		}
	}
}

// TestGCTraceProcesses has a program that was started again write into one log.
func TestGCTraceProcesses(t *testing.T) {
	t.Parallel()
	call("gctrace", logFile(t, gcLog(10, 20)+gcLog(1, 5))).check(t, cli.ExitOK, []string{
		"process 1 of 2: gc 10 to gc 20, from 1 s to 2.00 s", "collections 11\n", "window 1.00 s\n",
		"process 2 of 2: gc 1 to gc 5, from 0 to 501 ms", "collections 5\n", "window 501 ms\n",
		"! collections of 2 processes",
	}, nil)
	// The second one's first lines are lost, so that its numbers go on, and only its clock tells.
	late := strings.ReplaceAll(gcLog(21, 22), "@2.", "@0.")
	call("gctrace", logFile(t, gcLog(1, 20)+late)).check(t, cli.ExitOK,
		[]string{"process 2 of 2: gc 21 to gc 22, from 100 ms to 201 ms", "window 101 ms\n"}, nil)
	// A part is taken of each.
	call("gctrace", "-from", "450ms", logFile(t, gcLog(1, 20)+gcLog(1, 5)+gcLog(1, 3))).check(t, cli.ExitOK, []string{
		"process 1 of 3: gc 5 to gc 20", "process 2 of 3: gc 5 to gc 5", "process 3 of 3: no collection from ",
	}, nil)

	type process struct {
		First   int64 `json:"first_gc"`
		Last    int64 `json:"last_gc"`
		From    int64 `json:"from_ns"`
		To      int64 `json:"to_ns"`
		Util    int   `json:"util_percent"`
		Summary gctrace.Summary
	}
	var got struct {
		Summary   *gctrace.Summary
		Processes []process
		Log       gctrace.Stats
	}
	r := call("gctrace", "-json", logFile(t, gcLog(10, 20)+gcLog(1, 5)))
	r.check(t, cli.ExitOK, nil, nil)
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Summary != nil || len(got.Processes) != 2 || got.Log.Cycles != 16 {
		t.Fatalf("want two summaries of processes, and none of both together:\n%s", r.stdout)
	}
	first := got.Processes[0]
	if first.Summary.Collections != 11 || got.Processes[1].Summary.Collections != 5 {
		t.Errorf("%d and %d collections, want 11 and 5", first.Summary.Collections,
			got.Processes[1].Summary.Collections)
	}
	if first.First != 10 || first.Last != 20 || first.From != 1e9 || first.To != 2.00105e9 || first.Util != 4 {
		t.Errorf("the first process is %+v", first)
	}
}

// TestGCTraceForeign reads logs as loggers and other releases leave them.
func TestGCTraceForeign(t *testing.T) {
	t.Parallel()
	seven := []string{"gc 1 to gc 7, from 0 to 521 ms", "collections 7 (2 forced)\n", "allocated 25 MiB\n"}
	const marked = ", of the 120 of 374 cycles that the log has"
	for _, tt := range []struct {
		file  string
		code  int
		says  []string // on standard output, or error where it fails
		notes int
	}{
		{"klog.txt", cli.ExitOK, seven, 0},
		{"lines-lost.txt", cli.ExitOK, []string{
			"collections 374\n", "average pace 10.0 ms\n", "time in GC 10% of 2 processors since the program's start",
			"allocated 176 MiB" + marked + "\n", "phase" + marked, "heap" + marked,
			"! collections whose lines are missing or could not be read: 254\n",
		}, 1},
		{"study-listing.txt", cli.ExitOK, []string{
			"collections 2,551\n", "average pace 2.07 ms\n",
			"time in GC 14% of 12 processors since", "allocated -\n",
		}, 1},
		{"go1.5.txt", cli.ExitFailed, []string{"none of 3 gctrace lines is whole"}, 0},
	} {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			r := call("gctrace", filepath.Join("testdata", "gctrace", tt.file))
			if tt.code == cli.ExitOK {
				r.check(t, tt.code, tt.says, nil)
			} else {
				r.check(t, tt.code, nil, tt.says)
			}
			if n := strings.Count(r.stdout, "! "); n != tt.notes {
				t.Errorf("%d notes, want %d:\n%s", n, tt.notes, r.stdout)
			}
		})
	}
	cut := regexp.MustCompile(` ms cpu.*`).ReplaceAllString(gcLog(1, 4), "")
	call("gctrace", logFile(t, cut)).check(t, cli.ExitFailed, nil,
		[]string{"none of 4 gctrace lines is whole"})
}

// TestGCTraceManyProcesses has two programs write into one log at once.
func TestGCTraceManyProcesses(t *testing.T) {
	t.Parallel()
	const kept = 100
	var b strings.Builder
	for range kept + 10 {
		b.WriteString(gcLog(1, 2))
	}
	r := call("gctrace", logFile(t, b.String()))
	r.check(t, cli.ExitOK, []string{"process 11 of 110", "! the first 10 processes are left out", "at once?"}, nil)
	if n := strings.Count(r.stdout, "time in GC"); n != kept {
		t.Errorf("%d summaries, want at most %d", n, kept)
	}
}
