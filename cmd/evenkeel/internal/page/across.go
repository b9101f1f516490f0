package page

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/traces"
	"evenkeel.dev/internal/across"
	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

var (
	//go:embed across.html.tmpl
	acrossTemplate string

	acrossTmpl = newTemplate(acrossTemplate)
)

type acrossPage struct {
	shell

	Story    *across.Story
	Services []traces.Service
	Legend   []reqtrace.Cause
	Requests []acrossRequest
}

type acrossRequest struct {
	Time  string
	Bands []acrossBand
}

// acrossBand is a request of a service on a time line. Depth indents its name.
type acrossBand struct {
	Name, Desc string
	Depth      int
	Tiles      []tilePath
}

const mostBands = 40 // of a request

// Across writes which service makes the slowest requests slow, their paths over services, and what each
// service does by itself.
func Across(w io.Writer, s *across.Story, services []traces.Service) error {
	p := acrossPage{
		shell: newShell(style+explainStyle, explainScript, []byte("null")), Story: s, Services: services,
	}
	var all []reqtrace.Parts
	for _, spans := range s.Slowest {
		r := acrossRequest{Time: textfmt.Duration(spans[0].End)}
		x := chart.Axis{Lo: 0, Hi: float64(max(s.Slowest[0][0].End, 1))}
		for _, span := range spans[:min(len(spans), mostBands)] {
			q := requestOf(&span)
			all = append(all, q.Parts)
			from, took := textfmt.Duration(span.Start), textfmt.Duration(span.End-span.Start)
			r.Bands = append(r.Bands, acrossBand{
				span.Service, fmt.Sprintf("%s from %s for %s: %s", span.Service, from, took, verdict.Breakdown(q)),
				span.Depth, tilePaths(q, x),
			})
		}
		p.Requests = append(p.Requests, r)
	}
	p.Legend = verdict.Causes(minPart, all...)
	return acrossTmpl.Execute(w, &p)
}

// requestOf returns a span as a request of one service.
func requestOf(s *across.Span) *reqtrace.Request {
	q := &reqtrace.Request{Start: s.Start, End: s.End, Path: s.Tiles}
	for _, t := range s.Tiles {
		q.Parts.Add(t.Cause, t.End-t.Start)
		if t.Site != "" {
			q.Sites = append(q.Sites, reqtrace.Blame{
				Cause: t.Cause, Site: t.Site, Op: t.Op, Holder: t.Holder, Doing: t.Doing,
				Time: t.End - t.Start,
			})
		}
	}
	return q
}

// Indent is the distance of the name from the left, as figure spaces.
func (b acrossBand) Indent() string { return strings.Repeat("\u2007\u2007", b.Depth) }

func partTitle(p across.Part) string {
	if p.Between {
		return "on the way to " + p.Service + " and back"
	}
	return p.Service
}
