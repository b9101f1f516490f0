// Package gclog summarises logs of GODEBUG=gctrace=1 for each process, and follows growing logs.
package gclog

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/textfmt"
)

// maxProcesses is how many processes of a prefix are kept, the last ones.
const maxProcesses = 100

// Part selects a process's collections.
type Part struct {
	From, To cli.Period // since the program's start; to 0: no bound
	Skip     int        // collections at the front
}

// Report is what a log holds.
type Report struct {
	part      Part
	Processes []Process
	Total     int
	sources   int // prefixes of lines
}

// Process is a process in a log.
type Process struct {
	Source  string          `json:"source,omitempty"` // the prefix of its lines
	First   int64           `json:"first_gc"`         // number of the first counted collection; 0: none
	Last    int64           `json:"last_gc"`          // number of the last
	From    time.Duration   `json:"from_ns"`          // since the program's start
	To      time.Duration   `json:"to_ns"`            // since the program's start
	Util    int             `json:"util_percent"`
	Summary gctrace.Summary `json:"summary"`

	read  int64         // collections
	until time.Duration // end of the last of them
}

// source is the processes of one prefix, which follow one another.
type source struct {
	name      string
	last      gctrace.Cycle
	cycles    chan gctrace.Cycle // of the running process
	summary   chan Process
	processes []Process // that ended
}

// Summarize reads cycles once, and summarises each process.
func (part Part) Summarize(cycles iter.Seq[gctrace.Cycle]) *Report {
	r := &Report{part: part, Processes: []Process{}}
	var list []*source
	at := map[string]*source{}
	for c := range cycles {
		s := at[c.Source]
		if s == nil {
			s = &source{name: c.Source}
			list, at[c.Source] = append(list, s), s
		}
		if s.cycles == nil || Restarted(s.last, c) {
			s.end()
			s.begin(part)
			r.Total++
		}
		s.last = c
		s.cycles <- c
	}
	for _, s := range list {
		s.end()
		r.Processes = append(r.Processes, s.processes...)
	}
	r.sources = len(list)
	return r
}

func (s *source) begin(part Part) {
	cycles, summary := make(chan gctrace.Cycle, 64), make(chan Process, 1)
	s.cycles, s.summary = cycles, summary
	go func() { summary <- part.process(s.name, cycles) }()
}

func (s *source) end() {
	if s.cycles == nil {
		return
	}
	close(s.cycles)
	s.processes = append(s.processes[max(len(s.processes)-maxProcesses+1, 0):], <-s.summary)
}

// process summarises a process with at least one cycle. The window begins at the first line, or
// after the last skipped collection.
func (part Part) process(source string, cycles <-chan gctrace.Cycle) Process {
	p := Process{Source: source}
	w := gctrace.Window{From: time.Duration(part.From), To: time.Duration(part.To)}
	see := func(c gctrace.Cycle) {
		p.read++
		p.until = max(p.until, c.End())
	}
	c, more := <-cycles
	if c.N > 1 {
		w.From = max(w.From, c.At)
	}
	var skipped []gctrace.Cycle // the last one, whose heap shows what the next allocated
	for ; more && p.read < int64(part.Skip); c, more = <-cycles {
		see(c)
		w.From = max(w.From, c.End())
		skipped = append(skipped[:0], c)
	}
	p.Summary = gctrace.Summarize(func(yield func(gctrace.Cycle) bool) {
		for _, s := range skipped {
			yield(s)
		}
		for ; more; c, more = <-cycles {
			see(c)
			if w.Holds(c) {
				p.First, p.Last, p.Util = cmp.Or(p.First, c.N), c.N, c.UtilPercent
			}
			yield(c) // Summarize takes all
		}
	}, w)
	p.From, p.To = w.From, w.To
	if w.To == 0 {
		p.To = max(w.From, p.until)
	}
	return p
}

// Restarted reports whether c is of a later process than the cycle before it.
func Restarted(last, c gctrace.Cycle) bool { return c.N <= last.N || c.At < last.At }

const maxSourceName = 60

func (p *Process) head() string {
	source := ""
	if p.Source != "" {
		source = textfmt.Visible(p.Source, maxSourceName) + ": "
	}
	if p.First == 0 {
		return fmt.Sprintf("%sno collection from %s to %s after the program's start", source, textfmt.Duration(p.From),
			textfmt.Duration(p.To))
	}
	return source + fmt.Sprintf("gc %d to gc %d, from %s to %s after the program's start; %d%% in GC since that start",
		p.First, p.Last, textfmt.Duration(p.From), textfmt.Duration(p.To), p.Util)
}

func (r *Report) extent() string {
	p := &r.Processes[len(r.Processes)-1]
	s := fmt.Sprintf("%s collections up to %s after the program's start", textfmt.Count(float64(p.read)),
		textfmt.Duration(p.until))
	if r.Total > 1 {
		s = "in its last process " + s
	}
	return s
}
