//go:build linux

package harness

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/bench/machine"
)

type Harness struct {
	Cases   []Case
	Rounds  int           // 0: the case's
	Length  time.Duration // 0: the case's
	Quick   bool          // one short round, not saved
	Ways    []string      // nil: all of a case
	Results string        // directory, or "" to save nothing
	Keep    string        // directory for traces and the like; "": a temporary one
	Bin     string        // directory for built programs; "": a temporary one
	Out     io.Writer

	Patience time.Duration // longest wait for a quiet machine

	programs map[string]string // by package
	dir      string
	missed   []figure
}

// Run measures the cases that pattern names, all for "". It saves what was measured before an
// error. Of several cases it leaves out those that this machine has measured at this commit.
func (h *Harness) Run(ctx context.Context, pattern string) (err error) {
	var chosen []*Case
	for i := range h.Cases {
		if c := &h.Cases[i]; pattern == "" || c.matches(pattern) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("-run %s: no such case; -list prints them", pattern)
	}
	if h.Results != "" && !h.Quick {
		if err := checkSave(h.Results); err != nil {
			return err
		}
	}
	if err := raiseFiles(); err != nil {
		return err
	}
	if h.dir = h.Bin; h.dir == "" {
		if h.dir, err = os.MkdirTemp("", "evenkeel-bench-"); err != nil {
			return err
		}
		defer func() { h.programs, err = nil, errors.Join(err, os.RemoveAll(h.dir)) }()
	}
	for _, c := range chosen {
		if failed := h.run(ctx, c, len(chosen) == 1); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", c.Name, failed))
			fmt.Fprintf(h.Out, "%s: %v\n", c.Name, failed)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return err
}

func (h *Harness) run(ctx context.Context, c *Case, again bool) error {
	res := &Result{Case: c, Out: h.Out}
	var s *set
	if !h.Quick {
		s = newSet(c, h.Out)
		if !again && h.Results != "" && s.saved(h.Results) {
			fmt.Fprintf(res.Out, "%s: measured at %s; -run %[1]s measures it again\n", c.Name, s.Versions.Revision)
			return nil
		}
	}
	fmt.Fprintf(res.Out, "%s: %s\n", c.Name, c.What)
	err := h.rounds(ctx, res)
	if len(res.Runs) == 0 {
		if h.Quick {
			return err // the machine lacks something
		}
		return cmp.Or(err, errors.New("nothing was measured"))
	}
	res.table()
	if h.Quick {
		return err
	}
	s.Raw.Runs, s.Complete = res.Runs, err == nil && h.Rounds == 0 && h.Length == 0
	s.Seconds = time.Since(s.Started).Seconds()
	s.judge(res)
	for _, f := range s.Figures {
		if f.Verdict == missed {
			h.missed = append(h.missed, f)
		}
	}
	if h.Results != "" {
		err = errors.Join(err, s.save(h.Results))
	}
	return err
}

// rounds goes on after a run that fails.
func (h *Harness) rounds(ctx context.Context, res *Result) (err error) {
	c, failed := res.Case, 0
	prepared := h.newRun(c, Run{})
	if c.Open != nil {
		end, err := c.Open(ctx, prepared)
		if end != nil {
			defer end()
		}
		if _, ok := err.(notHere); ok {
			fmt.Fprintf(res.Out, "%s is left out: %v\n", c.Name, err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	rounds := cmp.Or(h.Rounds, c.Rounds, defaultRounds)
	if h.Quick {
		rounds = 1
	}
	todo := c.runs()
	if h.Ways != nil {
		todo = slices.DeleteFunc(todo, func(r Run) bool { return !slices.Contains(h.Ways, r.Way) })
	}
	for round := 1; round <= rounds; round++ {
		for _, i := range rand.Perm(len(todo)) {
			r := h.newRun(c, todo[i])
			r.Round, r.Prepared = round, prepared.Values
			err := h.one(ctx, c, r)
			if ctx.Err() != nil {
				return fmt.Errorf("interrupted in round %d of %d", round, rounds)
			}
			if _, ok := err.(notHere); ok {
				fmt.Fprintf(res.Out, "%s is left out: %v\n", r.Way, err)
				continue
			}
			if err != nil {
				failed++
				r.Error = err.Error()
			}
			res.Runs = append(res.Runs, r)
			fmt.Fprintf(res.Out, "%s\n", r.line(c))
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d runs failed", failed)
	}
	return nil
}

const (
	quickLength = 300 * time.Millisecond
	quickWarmup = 50 * time.Millisecond
)

func (h *Harness) newRun(c *Case, r Run) *Run {
	r.h, r.Quick = h, h.Quick
	r.Length = cmp.Or(h.Length, c.Length, 3*time.Second)
	r.Warmup = cmp.Or(c.Warmup, r.Length/10)
	if h.Quick {
		r.Length, r.Warmup = min(r.Length, quickLength), min(r.Warmup, quickWarmup)
	}
	return &r
}

func (h *Harness) one(ctx context.Context, c *Case, r *Run) error {
	if !h.Quick && h.Patience > 0 {
		if err := machine.AwaitQuiet(ctx, h.Patience, h.Out); err != nil {
			return err
		}
	}
	before, err := machine.ReadTimes()
	if err != nil {
		return err
	}
	if err := c.Run(ctx, r); err != nil {
		return err
	}
	after, err := machine.ReadTimes()
	if steal := after.StealSince(before); steal > mostSteal {
		r.Disturbed = fmt.Sprintf("the hypervisor took %.1f%%", 100*steal)
	}
	return err
}

const mostSteal = .01

func (r *Run) line(c *Case) string {
	parts := []string{fmt.Sprintf("round %d: %s", r.Round, r.Way)}
	if r.Load != "" {
		parts[0] += ", " + r.Load
	}
	if r.Error != "" {
		return parts[0] + " FAILED: " + r.Error
	}
	for _, name := range c.figures([]*Run{r}) {
		if x, ok := r.Values[name]; ok {
			parts = append(parts, fmt.Sprintf("%s %.4g", name, x))
		}
	}
	if r.Disturbed != "" {
		parts = append(parts, "DISTURBED: "+r.Disturbed)
	}
	return strings.Join(parts, "  ")
}

// raiseFiles raises the soft limit on open files, which children inherit.
func raiseFiles() error {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return err
	}
	r.Cur = r.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &r)
}

// Files returns an error if the hard limit on open files is below n.
func Files(n int) error {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return err
	}
	if r.Max < uint64(n) {
		return fmt.Errorf("it needs %d open files and the hard limit is %d; raise it with ulimit -Hn %d as root", n,
			r.Max, n)
	}
	return nil
}

// Full says whether the cases of a test are measured in full.
type Full struct {
	on     bool
	length time.Duration
}

func TestFlags() *Full {
	f := &Full{}
	flag.BoolVar(&f.on, "full", false, "measure each case in full, fail if it misses a claim, and save the results")
	flag.DurationVar(&f.length, "length", 0, "with -full, length of a run (default: the case's own)")
	return f
}

// Run runs each case in a subtest, for a moment or in full. In full a missed claim is an error, and
// the results are saved.
func (f *Full) Run(t *testing.T, cases ...Case) {
	if testing.Short() {
		t.Skip("builds programs and runs them")
	}
	h := &Harness{Cases: cases, Quick: !f.on, Length: f.length, Bin: t.TempDir(), Patience: 2 * time.Minute}
	h.Results = filepath.Join(Root(), "bench", "results")
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			h.Out, h.missed = t.Output(), nil
			if err := h.Run(t.Context(), c.Name); err != nil {
				t.Error(err)
			}
			for _, f := range h.missed {
				t.Errorf("%s: %s, want %s", f.Name, f.text(), f.Target)
			}
		})
	}
}
