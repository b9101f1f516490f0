package observe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/loadgen"
)

const gcLine = "gc 1 @0.005s 4%: 0.068+1.0+0.029 ms clock, 0.13+0.23/0.19/0+0.058 ms cpu, 3->4->0 MB, 4 MB goal, 0 " +
	"MB stacks, 0 MB globals, 2 P"

func TestPasser(t *testing.T) {
	for _, tt := range []struct {
		name, in, want, tail string
	}{
		{"nothing", "", "", ""},
		{"only the server's", "a\nb\n", "a\nb\n", "a|b"},
		{"only the collector's", gcLine + "\n" + gcLine + " (forced)\n", "", ""},
		{"the timer's", "GC forced\n" + gcLine + "\n", "", ""},
		{"both", "a\n" + gcLine + "\nb\r\n\n", "a\nb\r\n\n", "a|b"},
		{"in a line of the server's", "a " + gcLine + "\n", "a " + gcLine + "\n", "a " + gcLine},
		{"looks like the collector's", "gc 1 is mine\n", "gc 1 is mine\n", "gc 1 is mine"},
		{"no end", "a\nb", "a\nb", "a|b"},
		{"cut off", "a\ngc 12 @0.0", "a\n", "a"},
		{"long", strings.Repeat("x", passLineBytes+5) + "\n", strings.Repeat("x", passLineBytes+5) + "\n", ""},
	} {
		for _, piece := range []int{1, 7, 1 << 20} {
			var out bytes.Buffer
			p := &Passer{W: &out}
			feed(p, tt.in, piece)
			if got := out.String(); got != tt.want {
				t.Errorf("%s, pieces of %d: passed %q, want %q", tt.name, piece, got, tt.want)
			}
			if got := strings.Join(p.Last(), "|"); tt.name != "long" && got != tt.tail {
				t.Errorf("%s, pieces of %d: tail %q, want %q", tt.name, piece, got, tt.tail)
			}
		}
	}
}

func feed(p *Passer, s string, piece int) {
	for len(s) > 0 {
		n := min(piece, len(s))
		_, _ = p.Write([]byte(s[:n]))
		s = s[n:]
	}
	p.flush()
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("closed") }

// TestPasserDoesNotStop has its own writer fail: the server must go on.
func TestPasserDoesNotStop(t *testing.T) {
	p := &Passer{W: failing{}}
	if n, err := p.Write([]byte("a\nb\n")); n != 4 || err != nil {
		t.Errorf("Write: %d, %v", n, err)
	}
}

func TestTrace(t *testing.T) {
	var in strings.Builder
	for i := range 100 {
		fmt.Fprintf(&in, "server says %d\n%s\n", i, strings.Replace(gcLine, "gc 1", fmt.Sprint("gc ", i+1), 1))
	}
	var out bytes.Buffer
	var tr trace
	before := time.Now()
	pass := &Passer{W: &out}
	tr.Read(iotest.HalfReader(strings.NewReader(in.String())), pass)
	if tr.count() != 100 || tr.stats.Foreign != 100 {
		t.Errorf("%d cycles, %+v", tr.count(), tr.stats)
	}
	if strings.Count(out.String(), "server says") != 100 || strings.Contains(out.String(), "clock") {
		t.Errorf("passed on:\n%s", out.String())
	}
	var want []string
	for i := 100 - tailLines; i < 100; i++ {
		want = append(want, fmt.Sprint("server says ", i))
	}
	if d := cmp.Diff(want, pass.Last()); d != "" {
		t.Error("the server's last lines: " + d)
	}
	if end := 6 * time.Millisecond; tr.start.Before(before.Add(-2*end)) || tr.start.After(time.Now()) {
		t.Errorf("start %v, read since %v", tr.start, before)
	}
}

// TestTraceOfOneProgramAfterTheOther: a script that runs a migration and then the server, both with
// GODEBUG=gctrace=1. What counts is the server's own start; where one begins in the middle of the
// load nothing can be told.
func TestTraceOfOneProgramAfterTheOther(t *testing.T) {
	var tr trace
	tr.scan(strings.NewReader(gcLineAt(1, 60100*time.Millisecond) + gcLineAt(2, 60200*time.Millisecond) +
		gcLineAt(1, 1*time.Millisecond)))
	if seen := tr.mark(); seen != 1 || time.Since(tr.start) > 30*time.Second {
		t.Errorf("%d collections of a program that started %v ago", seen, time.Since(tr.start))
	}
	tr.scan(strings.NewReader(gcLineAt(2, 200*time.Millisecond) + gcLineAt(3, 300*time.Millisecond)))
	if tr.count() != 3 || tr.restarts != 0 {
		t.Errorf("%d collections, %d restarts", tr.count(), tr.restarts)
	}
	tr.scan(strings.NewReader(gcLineAt(1, 1*time.Millisecond)))
	o := &Observer{Trace: trace{cycles: tr.cycles, restarts: tr.restarts}, seenBefore: 1}
	if o.fillTrace(); len(o.Run.Notes) != 1 || !strings.Contains(o.Run.Notes[0],
		"the server's standard error: the program was started again") || o.Run.GC != nil {
		t.Errorf("%q, %+v", o.Run.Notes, o.Run.GC)
	}
}

// gcLineAt is the line of collection n, which ended at that time since its program's start.
func gcLineAt(n int, at time.Duration) string {
	return fmt.Sprintf("gc %d @%.3fs 4%%: 0.068+1.0+0.029 ms clock, 0.13+0.23/0.19/0+0.058 ms cpu, 3->4->0 MB, 4 MB "+
		"goal, 0 MB stacks, 0 MB globals, 2 P\n", n, at.Seconds())
}

// awaitCount waits until so many collections were read.
func awaitCount(t *testing.T, tr *trace, n int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); tr.count() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d collections are read, want %d", tr.count(), n)
		}
	}
}

// TestFollow reads a log that is there, then what is added, and finds where a program began anew.
func TestFollow(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	add := func(text string) {
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	add(strings.Repeat("a line of the program's own\n", 2*logHistory/20))
	add(gcLineAt(7, time.Second) + gcLineAt(8, 2*time.Second))
	var tr trace
	stop, err := tr.follow(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if n := tr.mark(); n != 2 {
		t.Errorf("%d collections were there, want 2", n)
	}
	add(gcLineAt(9, 3*time.Second))
	awaitCount(t, &tr, 3)
	add(gcLineAt(1, time.Millisecond) + "gc 2 @0.0")
	stop()
	if tr.restarts != 1 || len(tr.cycles) != 1 || tr.cycles[0].N != 1 {
		t.Errorf("%d restarts, %+v", tr.restarts, tr.cycles)
	}
}

// TestFillTraceOfALog says why there are no rows.
func TestFillTraceOfALog(t *testing.T) {
	cycle := gctrace.Cycle{N: 1, Procs: 2}
	for _, tt := range []struct {
		name string
		o    *Observer
		want string
	}{
		{
			"restarted", &Observer{Trace: trace{log: "f", restarts: 1, cycles: []gctrace.Cycle{cycle}}},
			"f: the program was started again",
		},
		{
			"silent", &Observer{Trace: trace{log: "f", cycles: []gctrace.Cycle{cycle}}, seenBefore: 1},
			"f: no gctrace line came during the load",
		},
		{"silent, though it collected", &Observer{
			Trace: trace{log: "f"}, before: &allocations{memStats: &memStats{numGC: 3}},
			after: &allocations{memStats: &memStats{numGC: 5}},
		}, "f: no gctrace line came"},
		{"another's", &Observer{
			Trace:  trace{log: "f", cycles: []gctrace.Cycle{cycle}, start: time.Now()},
			before: &allocations{memStats: &memStats{numGC: 3}}, after: &allocations{memStats: &memStats{numGC: 50}},
		}, "47 by runtime.MemStats: is the log another process's"},
	} {
		o := tt.o
		o.Traced, o.Run = true, runfile.Run{Load: &loadgen.Result{Started: time.Now(), Duration: time.Second}}
		o.fillGC()
		if got := strings.Join(o.Run.Notes, "|"); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if fromStats := o.Run.GC != nil &&
			o.Run.GC.Source == runfile.FromMemStats; fromStats != (tt.name == "silent, though it collected") {
			t.Errorf("%s: %+v", tt.name, o.Run.GC)
		}
	}
}

// TestFollows tells one process's figures from another's.
func TestFollows(t *testing.T) {
	stats := func(total, numGC int64, ends ...int64) *allocations {
		return &allocations{memStats: &memStats{total: total, numGC: numGC, pauseEnd: ends, pauses: ends}}
	}
	for _, tt := range []struct {
		name          string
		before, after *allocations
		want          bool
	}{
		{"later", stats(5, 2, 10, 20, 0, 0), stats(9, 3, 10, 20, 30, 0), true},
		{"nothing collected", stats(5, 2, 10, 20, 0, 0), stats(9, 2, 10, 20, 0, 0), true},
		{"the ring went round", stats(5, 2, 10, 20, 0, 0), stats(9, 7, 50, 60, 70, 40), true},
		{"of before its first", stats(5, 0, 0, 0, 0, 0), stats(9, 1, 10, 0, 0, 0), true},
		{"less allocated", stats(9, 2, 10, 20, 0, 0), stats(5, 3, 10, 20, 30, 0), false},
		{"fewer collections", stats(5, 2, 10, 20, 0, 0), stats(9, 1, 10, 0, 0, 0), false},
		{"another history", stats(5, 2, 10, 20, 0, 0), stats(9, 3, 11, 21, 31, 0), false},
	} {
		if got := tt.after.follows(tt.before); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	// Of 8 collections a ring of 4 has the pauses of the last 4: 5 in the window are not known, 3
	// are.
	for n, want := range map[int64]string{3: "", 5: "90ns"} {
		pause, ok := stats(9, 8, 50, 20, 30, 40).collections(stats(5, n), time.Second).Wall.Pause.Get()
		if got := pause.String(); ok != (want != "") || ok && got != want {
			t.Errorf("from %d: %v, %v", n, pause, ok)
		}
	}
	if ring := parseRing("[1 2 3]"); len(ring) != 3 || ring[2] != 3 {
		t.Error(ring)
	}
	if ring := parseRing("[1 x]"); ring != nil {
		t.Error(ring)
	}
}

// endsLate is a file to which the last line is added, and whose following is stopped, right after
// it seemed to have ended.
type endsLate struct {
	lines []string
	stop  func()
}

func (e *endsLate) Read(b []byte) (int, error) {
	if len(e.lines) == 0 {
		return 0, io.EOF
	}
	if e.lines[0] == "" {
		e.lines = e.lines[1:]
		e.stop()
		return 0, io.EOF
	}
	n := copy(b, e.lines[0])
	e.lines = e.lines[1:]
	return n, nil
}

// TestTailReadsToTheEnd has the last line come between the look that found nothing and the end.
func TestTailReadsToTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	got, err := io.ReadAll(&tail{ctx, &endsLate{[]string{"a\n", "", "b\n"}, cancel}, func() {}})
	if string(got) != "a\nb\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
