package observe

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
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
			out.Reset()
			p = &Passer{W: &out, All: true}
			feed(p, tt.in, piece)
			if got := out.String(); got != tt.in {
				t.Errorf("%s, -v: passed %q, want all", tt.name, got)
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
