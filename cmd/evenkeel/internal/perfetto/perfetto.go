// Package perfetto writes the slowest requests of a report as tracks, in Chrome's trace event
// format (JSON).
//
//	process 1     the collector      thread 1  it marks            thread 2  the world is stopped
//	              and the machine    thread 3  it stood still
//	process 2     slowest request    thread 1  its goroutine       thread 2  who it waited for
//	process 3     the next one       …
//
// Slices of a thread do not overlap, but for those within their request's.
package perfetto

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

// event is a slice ("X") or the name of a track ("M").
type event struct {
	Phase    string         `json:"ph"`
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	At       microseconds   `json:"ts"`
	For      *microseconds  `json:"dur,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

type microseconds time.Duration // written to the nanosecond, without a float's rounding

func (m microseconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%03d", int64(m)/1000, int64(m)%1000), nil
}

const (
	collector = 1 // process
	marks     = 1 // its threads
	stops     = 2
	stills    = 3
	own       = 1 // threads of a request
	holders   = 2
)

// Write writes a report's tracks. source names the trace.
func Write(w io.Writer, source string, r *reqtrace.Report) error {
	t := tracks{Unit: "ms", About: map[string]string{
		"source":   textfmt.Printable(source),
		"requests": fmt.Sprintf("the slowest %d of %d", len(r.Slowest), r.Requests),
	}}
	t.collector(r)
	for i := range r.Slowest {
		t.request(collector+1+i, &r.Slowest[i])
	}
	return json.NewEncoder(w).Encode(t)
}

type tracks struct {
	Unit   string            `json:"displayTimeUnit"`
	About  map[string]string `json:"otherData"`
	Events []event           `json:"traceEvents"`
}

func (t *tracks) add(e event) { t.Events = append(t.Events, e) }

// thread 0 names the process. Tracks are in the order of their numbers.
func (t *tracks) name(process, thread int, name string) {
	kind, number := "thread", thread
	if thread == 0 {
		kind, number = "process", process
	}
	t.add(event{
		Phase: "M", Name: kind + "_name", Process: process, Thread: thread,
		Args: map[string]any{"name": textfmt.Printable(name)},
	})
	t.add(event{
		Phase: "M", Name: kind + "_sort_index", Process: process, Thread: thread,
		Args: map[string]any{"sort_index": number},
	})
}

func (t *tracks) slice(process, thread int, category, name string, from, to time.Duration, args map[string]any) {
	took := microseconds(to - from)
	t.add(event{
		Phase: "X", Name: textfmt.Printable(name), Category: category, Process: process, Thread: thread,
		At: microseconds(from), For: &took, Args: args,
	})
}

func (t *tracks) collector(r *reqtrace.Report) {
	t.name(collector, 0, "the collector and the machine")
	t.name(collector, marks, "it marks")
	t.name(collector, stops, "the world is stopped")
	for _, s := range r.Spans {
		if s.Stopped {
			t.slice(collector, stops, "gc", "stopped", s.Start, s.End, nil)
		} else {
			t.slice(collector, marks, "gc", "marks", s.Start, s.End, nil)
		}
	}
	if len(r.Machine.Spans) > 0 {
		t.name(collector, stills, "the machine stood still")
	}
	for _, s := range r.Machine.Spans {
		t.slice(collector, stills, "machine", "stood still", s.Start, s.End, nil)
	}
}

func (t *tracks) request(process int, q *reqtrace.Request) {
	name := textfmt.Duration(q.Duration()) + " at " + textfmt.Duration(q.Start)
	if q.ID != "" {
		name += ", id " + q.ID
	}
	t.name(process, 0, name)
	t.name(process, own, fmt.Sprintf("goroutine %d", q.Goroutine))
	args := map[string]any{"breakdown": verdict.Breakdown(q)}
	for c, d := range q.Parts.All() {
		args[c.String()] = textfmt.Duration(d)
	}
	t.slice(process, own, "request", "request", q.Start, q.End, args)
	for _, p := range q.Path {
		t.slice(process, own, p.Cause.String(), verdict.Phrase(p.Cause), p.Start, p.End,
			texts("where", p.Site, "for", p.Op))
	}
	t.holders(process, q.Path)
}

func (t *tracks) holders(process int, path []reqtrace.Tile) {
	var last reqtrace.Tile
	flush := func() {
		if last.Holder == "" {
			return
		}
		args := texts("had", last.Op, "for which the request waited at", last.Site)
		if last.Doing != reqtrace.CauseUnknown {
			args["meanwhile"] = verdict.Phrase(last.Doing)
		}
		t.slice(process, holders, last.Doing.String(), last.Holder, last.Start, last.End, args)
	}
	named := false
	for _, p := range path {
		if p.Holder != "" && !named {
			t.name(process, holders, "who it waited for")
			named = true
		}
		if last.Holder == p.Holder && last.Doing == p.Doing && last.Op == p.Op && last.Site == p.Site &&
			last.End == p.Start {
			last.End = p.End
			continue
		}
		flush()
		last = p
	}
	flush()
}

// texts leaves out empty values.
func texts(pairs ...string) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			m[pairs[i]] = textfmt.Printable(pairs[i+1])
		}
	}
	return m
}
