package observe

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/gclog"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/loadgen"
)

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
			o.Run.GC.Source == runfile.GCFromMemStats; fromStats != (tt.name == "silent, though it collected") {
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
	got, err := io.ReadAll(&gclog.Tail{
		Context: ctx, File: &endsLate{[]string{"a\n", "", "b\n"}, cancel},
		Poll: time.Hour,
	})
	if string(got) != "a\nb\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
