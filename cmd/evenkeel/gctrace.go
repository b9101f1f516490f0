package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/report"
)

const gctraceHelp = `
evenkeel gctrace [flags] [FILE]

Summarises the GODEBUG=gctrace=1 lines of any Go program's standard error, whatever else is in
it. Without FILE, or with -, it reads standard input.

  GODEBUG=gctrace=1 ./server 2> server.log
  evenkeel gctrace server.log
  evenkeel gctrace -f server.log        follow it while it grows: the last minute, every second;
                                        Ctrl-C ends with the summary of all
  GODEBUG=gctrace=1 ./server 2>&1 >/dev/null | evenkeel gctrace -f
`

const (
	followPoll   = 200 * time.Millisecond
	followEvery  = time.Second
	followWindow = time.Minute
	followRest   = 500 * time.Millisecond // after Ctrl-C
)

func runGCTrace(ctx context.Context, a *app, args []string) error {
	fs := a.newFlags("gctrace", gctraceHelp)
	follow := fs.Bool("f", false, "follow: show the last minute again and again while the log grows")
	asJSON := fs.Bool("json", false, "print the summary, and what the log was like, as JSON")
	names, rest, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	names = append(names, rest...)
	if len(names) > 1 {
		return a.wrong(fs, "%d files; it reads one", len(names))
	}
	in, name := io.Reader(os.Stdin), "standard input"
	if len(names) == 1 && names[0] != "-" {
		f, err := os.Open(names[0])
		if err != nil {
			return err
		}
		defer f.Close()
		in, name = f, names[0]
	}
	ctx, release := a.catch(ctx)
	defer release()
	if *follow && in != os.Stdin {
		in = &tail{ctx, in}
	}
	v := &gcView{app: a, follow: *follow && !*asJSON, log: scanLog(in)}
	sum := gctrace.Summarize(v.cycles(ctx), gctrace.Window{})
	err = v.end(name, &sum, *asJSON)
	if ctx.Err() != nil && !*follow {
		err = errors.Join(err, errInterrupted)
	}
	return err
}

// tail reads a growing file until its context ends, and then to where its end is.
type tail struct {
	ctx context.Context
	f   io.Reader
}

func (t *tail) Read(b []byte) (int, error) {
	for {
		n, err := t.f.Read(b)
		if n > 0 || err != io.EOF || t.ctx.Err() != nil {
			return n, err
		}
		select {
		case <-t.ctx.Done():
		case <-time.After(followPoll):
		}
	}
}

// logScan scans a log in a goroutine of its own, since a read of standard input cannot be
// interrupted. stats and err are valid when cycles is closed.
type logScan struct {
	cycles chan gctrace.Cycle
	stats  gctrace.Stats
	err    error
}

func scanLog(in io.Reader) *logScan {
	l := &logScan{cycles: make(chan gctrace.Cycle, 256)}
	go func() {
		defer close(l.cycles)
		sc := gctrace.NewScanner(in)
		for sc.Scan() {
			l.cycles <- sc.Cycle()
		}
		l.stats, l.err = sc.Stats(), sc.Err()
	}()
	return l
}

// gcView shows a log's summary.
type gcView struct {
	*app
	follow bool
	log    *logScan
	ended  bool            // the log was read to its end
	recent []gctrace.Cycle // of followWindow
	drawn  int             // lines of the view on the terminal
}

// cycles yields the log's cycles until it ends, or ctx and a little time for what is on its
// way, and refreshes the view.
func (v *gcView) cycles(ctx context.Context) iter.Seq[gctrace.Cycle] {
	return func(yield func(gctrace.Cycle) bool) {
		var tick <-chan time.Time
		if v.follow {
			t := time.NewTicker(followEvery)
			defer t.Stop()
			tick = t.C
		}
		interrupted, enough := ctx.Done(), (<-chan time.Time)(nil)
		for {
			select {
			case c, ok := <-v.log.cycles:
				if !ok {
					v.ended = true
					return
				}
				v.see(c)
				if !yield(c) {
					return
				}
			case <-tick:
				v.refresh()
			case <-interrupted:
				interrupted, enough = nil, time.After(followRest)
			case <-enough:
				return
			case <-v.hurry:
				return
			}
		}
	}
}

func (v *gcView) see(c gctrace.Cycle) {
	if !v.follow {
		return
	}
	old := 0
	for old < len(v.recent) && v.recent[old].End() < c.End()-followWindow {
		old++
	}
	v.recent = append(slices.Delete(v.recent, 0, old), c)
}

// refresh draws the last minute: in place on a terminal, a line otherwise.
func (v *gcView) refresh() {
	n := len(v.recent)
	if n == 0 {
		return
	}
	last := v.recent[n-1]
	s := gctrace.Summarize(slices.Values(v.recent), gctrace.Window{From: max(v.recent[0].At, last.End()-followWindow), To: last.End()})
	if !v.view {
		window, _ := s.Window.Get()
		percent, _ := s.CPUPercent.Get()
		live, _ := s.Heap.Live.Last.Get()
		fmt.Fprintf(v.stdout, "gc %d: %s collections in %s, %s in GC, live heap %s\n", last.N, report.FormatCount(float64(s.Collections)),
			report.FormatDuration(window), report.FormatPercent(percent), report.FormatBytes(float64(live)))
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "collection %d, the last minute:\n\n", last.N)
	if err := report.GCText(&b, &s, v.style); err != nil {
		return
	}
	v.erase()
	v.drawn = strings.Count(b.String(), "\n")
	fmt.Fprint(v.stdout, b.String())
}

// erase takes the last view off the terminal.
func (v *gcView) erase() {
	if v.drawn > 0 {
		fmt.Fprintf(v.stdout, "\x1b[%dA\x1b[J", v.drawn)
		v.drawn = 0
	}
}

// end prints the summary of the whole log.
func (v *gcView) end(name string, sum *gctrace.Summary, asJSON bool) error {
	v.erase()
	var stats gctrace.Stats
	if v.ended {
		stats = v.log.stats
		if v.log.err != nil {
			return fmt.Errorf("%s: %w", name, v.log.err)
		}
	}
	if asJSON {
		e := json.NewEncoder(v.stdout)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Summary *gctrace.Summary `json:"summary"`
			Log     gctrace.Stats    `json:"log"`
		}{sum, stats})
	}
	if sum.Collections == 0 {
		return fmt.Errorf("%s: no gctrace line in it; start the program with GODEBUG=gctrace=1 and keep its standard error", name)
	}
	if err := report.GCText(v.stdout, sum, v.style); err != nil {
		return err
	}
	if stats.Recovered > 0 {
		fmt.Fprintf(v.stdout, "! lines that had the program's own output in them, and were put together again: %d\n", stats.Recovered)
	}
	if stats.Lost > 0 {
		fmt.Fprintf(v.stdout, "! collections that are missing, since their lines could not be read: %d\n", stats.Lost)
	}
	if stats.Truncated {
		fmt.Fprintln(v.stdout, "! the log ends in the middle of a line")
	}
	return nil
}
