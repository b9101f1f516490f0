// Package gclog sums up the collections in logs of GODEBUG=gctrace=1, process by process, and
// follows such logs while they grow.
package gclog

import (
	"fmt"
	"iter"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/textfmt"
)

// maxProcesses of one log are kept, the last ones.
const maxProcesses = 100

// Part is which of a process's collections count.
type Part struct {
	From, To cli.Period // since the program's start; to 0: no bound
	Skip     int        // collections at the front
}

// Report is what a log holds.
type Report struct {
	part      Part
	Processes []Process // the last maxProcesses of them
	Total     int       // processes
	sources   int       // prefixes of lines, none being one
}

// Process is one process of a log.
type Process struct {
	Source string        `json:"source,omitempty"` // the prefix of its lines
	First  int64         `json:"first_gc"`         // number of the first collection that counts
	Last   int64         `json:"last_gc"`          // and of the last; both 0 without any
	From   time.Duration `json:"from_ns"`          // the window, since the program's start
	To     time.Duration `json:"to_ns"`            // its end
	// what the runtime says in the last of them: since the program's start
	Util    int             `json:"util_percent"`
	Summary gctrace.Summary `json:"summary"`

	read  int64         // collections, counted or not
	until time.Duration // end of the last of them
}

// Summarize reads a log's cycles once and sums up each process. Those of one prefix come one after
// the other, and those of several at once.
func (part Part) Summarize(cycles iter.Seq[gctrace.Cycle]) *Report {
	type source struct {
		name   string
		cycles chan gctrace.Cycle
		report *Report
		done   chan struct{}
	}
	var list []*source
	at := map[string]*source{}
	for c := range cycles {
		s := at[c.Source]
		if s == nil {
			s = &source{c.Source, make(chan gctrace.Cycle, 64), nil, make(chan struct{})}
			list, at[c.Source] = append(list, s), s
			go func() {
				defer close(s.done)
				s.report = part.ofSource(func(yield func(gctrace.Cycle) bool) {
					for c := range s.cycles {
						yield(c) // ofSource takes all
					}
				})
			}()
		}
		s.cycles <- c
	}
	all := &Report{part: part, Processes: []Process{}, sources: len(list)}
	for _, s := range list {
		close(s.cycles)
		<-s.done
		for _, p := range s.report.Processes {
			p.Source = s.name
			all.Processes = append(all.Processes, p)
		}
		all.Total += s.report.Total
	}
	return all
}

// ofSource sums up the processes of one prefix, which come one after the other.
func (part Part) ofSource(cycles iter.Seq[gctrace.Cycle]) *Report {
	r := &Report{part: part}
	next, stop := iter.Pull(cycles)
	defer stop()
	for c, ok := next(); ok; {
		r.Total++
		if len(r.Processes) == maxProcesses {
			r.Processes = append(r.Processes[:0], r.Processes[1:]...)
		}
		var p Process
		p, c, ok = part.process(c, next)
		r.Processes = append(r.Processes, p)
	}
	return r
}

// process sums up the process whose first cycle is c; it returns the first one of the next.
//
// A log without its beginning says nothing of what came before its first line, so the window
// begins there, and not at the program's start. Behind collections that are skipped it begins
// at the end of the last of them.
func (part Part) process(c gctrace.Cycle, next func() (gctrace.Cycle, bool)) (Process, gctrace.Cycle, bool) {
	var p Process
	ok := true
	w := gctrace.Window{From: time.Duration(part.From), To: time.Duration(part.To)}
	if c.N > 1 {
		w.From = max(w.From, c.At)
	}
	// take moves on to the next cycle of this process.
	take := func() bool {
		last := c
		p.read++
		p.until = max(p.until, c.End())
		c, ok = next()
		return ok && !Restarted(last, c)
	}
	var skipped []gctrace.Cycle // the last of them: its heap tells what the next has allocated
	more := true
	for ; more && p.read < int64(part.Skip); more = take() {
		w.From = max(w.From, c.End())
		skipped = append(skipped[:0], c)
	}
	p.Summary = gctrace.Summarize(func(yield func(gctrace.Cycle) bool) {
		for _, s := range skipped {
			yield(s)
		}
		for ; more; more = take() {
			if w.Holds(c) {
				if p.First == 0 {
					p.First = c.N
				}
				p.Last, p.Util = c.N, c.UtilPercent
			}
			if !yield(c) {
				return
			}
		}
	}, w)
	p.From, p.To = w.From, w.To
	if w.To == 0 {
		p.To = max(w.From, p.until)
	}
	return p, c, ok
}

// Restarted reports whether c is of another process than the cycle before it: a process counts
// its collections up, and so does its clock.
func Restarted(last, c gctrace.Cycle) bool { return c.N <= last.N || c.At < last.At }

// maxSourceName is how much of a prefix is shown.
const maxSourceName = 60

// head says which collections a summary is of, and what the runtime itself says of them.
func (p *Process) head() string {
	source := ""
	if p.Source != "" {
		source = textfmt.Visible(p.Source, maxSourceName) + ": "
	}
	if p.First == 0 {
		return fmt.Sprintf("%sno collection from %s to %s after the program's start", source, textfmt.Duration(p.From),
			textfmt.Duration(p.To))
	}
	return source + fmt.Sprintf("gc %d to gc %d, from %s to %s after the program's start; the last line says %d%% "+
		"since that start",
		p.First, p.Last, textfmt.Duration(p.From), textfmt.Duration(p.To), p.Util)
}

// extent says what there is to choose from.
func (r *Report) extent() string {
	p := &r.Processes[len(r.Processes)-1]
	s := fmt.Sprintf("%s collections up to %s after the program's start", textfmt.Count(float64(p.read)),
		textfmt.Duration(p.until))
	if r.Total > 1 {
		s = "in its last process " + s
	}
	return s
}
