package gclog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
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

type Options struct {
	Part   Part
	Follow bool // show the last minute again and again
	JSON   bool
}

// Show shows a log. Errors begin with name.
func Show(ctx context.Context, a *cli.App, in io.Reader, name string, o Options) error {
	ends := false // a pipe does not, while it has a writer
	if f, ok := in.(*os.File); ok && o.Follow {
		fi, err := f.Stat()
		ends = err == nil && fi.Mode().IsRegular()
		in = &Tail{Context: ctx, File: in, Poll: followPoll}
	}
	v := &view{
		app: a, screen: cli.Screen{App: a}, log: scan(in),
		follow: o.Follow && !o.JSON, toEnd: ends,
	}
	r := o.Part.Summarize(v.cycles(ctx))
	err := v.end(name, r, o.JSON)
	if ctx.Err() != nil && !o.Follow {
		err = errors.Join(err, cli.ErrInterrupted)
	}
	return err
}

type view struct {
	app    *cli.App
	follow bool
	toEnd  bool // the log ends with ctx
	log    *scanner
	ended  bool
	recent []gctrace.Cycle
	screen cli.Screen
}

// cycles ends with a followed file, or followRest after ctx.
func (v *view) cycles(ctx context.Context) iter.Seq[gctrace.Cycle] {
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
			case <-v.app.Hurry().Done():
				return
			}
		}
	}
}

func (v *view) see(c gctrace.Cycle) {
	if !v.follow {
		return
	}
	if n := len(v.recent); n > 0 && Restarted(v.recent[n-1], c) {
		v.recent = v.recent[:0]
	}
	old := 0
	for old < len(v.recent) && v.recent[old].End() < c.End()-followWindow {
		old++
	}
	v.recent = append(slices.Delete(v.recent, 0, old), c)
}

func (v *view) refresh() {
	if len(v.recent) == 0 {
		return
	}
	var b strings.Builder
	last := v.recent[len(v.recent)-1]
	s := gctrace.Summarize(slices.Values(v.recent),
		gctrace.Window{From: max(v.recent[0].At, last.End()-followWindow), To: last.End()})
	if v.app.View {
		fmt.Fprintf(&b, "collection %d, the last minute:\n\n", last.N)
		if err := WriteSummary(&b, &s, last.UtilPercent, v.app.Style); err != nil {
			return
		}
	} else {
		window, _ := s.Window.Get()
		percent, _ := s.CPUPercent.Get()
		if !s.Read.IsZero() {
			percent = float64(last.UtilPercent)
		}
		live, _ := s.Heap.Live.Last.Get()
		fmt.Fprintf(&b, "gc %d: %s collections in %s, %s in GC, live heap %s\n", last.N,
			textfmt.Count(float64(s.Collections)),
			textfmt.Duration(window), textfmt.Percent(percent), textfmt.Bytes(float64(live)))
	}
	_ = v.screen.Draw(b.String())
}

// Nothing interrupts a read of standard input, so scanner has a goroutine. stats and err are valid
// once cycles is closed.
type scanner struct {
	cycles chan gctrace.Cycle
	stats  gctrace.Stats
	err    error
}

func scan(in io.Reader) *scanner {
	l := &scanner{cycles: make(chan gctrace.Cycle, 256)}
	go func() {
		defer close(l.cycles)
		sc := gctrace.NewScanner(in)
		for c := range sc.All() {
			l.cycles <- c
		}
		l.stats, l.err = sc.Stats(), sc.Err()
	}()
	return l
}

// Tail reads a growing file until its context ends, and then to the end of the file.
type Tail struct {
	Context context.Context
	File    io.Reader
	Poll    time.Duration
	AtEnd   func() // called at each end so far
}

func (t *Tail) Read(b []byte) (int, error) {
	for {
		ended := t.Context.Err() != nil // before the last read, so that nothing is left out
		n, err := t.File.Read(b)
		if n > 0 || err != io.EOF || ended {
			return n, err
		}
		if t.AtEnd != nil {
			t.AtEnd()
		}
		select {
		case <-t.Context.Done():
		case <-time.After(t.Poll):
		}
	}
}
