package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/textfmt"
)

const (
	followPoll   = 200 * time.Millisecond
	followEvery  = time.Second
	followWindow = time.Minute
	followRest   = 500 * time.Millisecond // after Ctrl-C
)

// tail reads a growing file until its context ends, and then to where its end is.
type tail struct {
	ctx   context.Context
	f     io.Reader
	poll  time.Duration
	atEnd func() // called whenever it stands at the end for now; nil: nobody
}

func (t *tail) Read(b []byte) (int, error) {
	for {
		ended := t.ctx.Err() != nil // before the last look, or what came meanwhile would be left out
		n, err := t.f.Read(b)
		if n > 0 || err != io.EOF || ended {
			return n, err
		}
		if t.atEnd != nil {
			t.atEnd()
		}
		select {
		case <-t.ctx.Done():
		case <-time.After(t.poll):
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
	app    *cli.App
	follow bool
	toEnd  bool // the log ends by itself once ctx has ended: nothing on its way is left out
	log    *logScan
	ended  bool                       // the log was read to its end
	recent map[string][]gctrace.Cycle // of followWindow, by their source
	drawn  int                        // lines of the view on the terminal
}

// cycles yields the log's cycles until it ends, or ctx and a little time for what is on its
// way, and refreshes the view. A file that is followed ends with ctx, and is read to there.
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
				interrupted = nil
				if !v.toEnd {
					enough = time.After(followRest)
				}
			case <-enough:
				return
			case <-v.app.Hurry:
				return
			}
		}
	}
}

func (v *gcView) see(c gctrace.Cycle) {
	if !v.follow {
		return
	}
	if v.recent == nil {
		v.recent = map[string][]gctrace.Cycle{}
	}
	recent := v.recent[c.Source]
	if n := len(recent); n > 0 && restarted(recent[n-1], c) {
		recent = recent[:0]
	}
	old := 0
	for old < len(recent) && recent[old].End() < c.End()-followWindow {
		old++
	}
	v.recent[c.Source] = append(slices.Delete(recent, 0, old), c)
}

// refresh draws the last minute of each process: in place on a terminal, a line otherwise.
func (v *gcView) refresh() {
	var b strings.Builder
	for _, source := range slices.Sorted(maps.Keys(v.recent)) {
		recent := v.recent[source]
		last := recent[len(recent)-1]
		s := gctrace.Summarize(slices.Values(recent), gctrace.Window{From: max(recent[0].At, last.End()-followWindow), To: last.End()})
		if source != "" {
			source = textfmt.Visible(source, maxSourceName) + ": "
		}
		if !v.app.View {
			window, _ := s.Window.Get()
			percent, _ := s.CPUPercent.Get()
			if s.Read.Known() {
				percent = float64(last.UtilPercent)
			}
			live, _ := s.Heap.Live.Last.Get()
			fmt.Fprintf(&b, "%sgc %d: %s collections in %s, %s in GC, live heap %s\n", source, last.N, textfmt.Count(float64(s.Collections)),
				textfmt.Duration(window), textfmt.Percent(percent), textfmt.Bytes(float64(live)))
			continue
		}
		fmt.Fprintf(&b, "%scollection %d, the last minute:\n\n", source, last.N)
		if err := writeSummary(&b, &s, last.UtilPercent, v.app.Style); err != nil {
			return
		}
	}
	if v.app.View {
		v.erase()
		v.drawn = strings.Count(b.String(), "\n")
	}
	fmt.Fprint(v.app.Stdout, b.String())
}

// erase takes the last view off the terminal.
func (v *gcView) erase() {
	if v.drawn > 0 {
		fmt.Fprintf(v.app.Stdout, "\x1b[%dA\x1b[J", v.drawn)
		v.drawn = 0
	}
}
