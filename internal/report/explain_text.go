package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/reqtrace"
)

const (
	mixWidth   = 56 // of the bar of a band
	shareWidth = 20 // of the bar of a share
	leastPart  = .0005
	textSites  = 8
)

// Limits is what an execution trace cannot show, for whoever reads a report of one.
var Limits = []string{
	"waits for a processor in the kernel, and time a hypervisor took (steal): both look like running",
	"page faults, and what C or the kernel does inside a call: only that the call is under way",
	"a request's time in the socket before its goroutine is woken, and on the network before that",
	"which lock it was: a wait is named by the place that waits, its time by what the holders did",
}

// Text writes the verdict and what it rests on, some 100 columns wide.
func (x *Explanation) Text(w io.Writer, s Style) error {
	var b strings.Builder
	r := x.Report
	fmt.Fprintf(&b, "%s\n", s.bold(printable(x.Verdict.Sentence)))
	fmt.Fprintf(&b, "%s\n", s.dim(printable(x.scope())))
	if r.Requests > 0 {
		x.gcText(&b, s)
		x.bandsText(&b, s)
		x.excessText(&b, s)
		x.sitesText(&b, s)
		x.slowestText(&b, s)
		fmt.Fprintf(&b, "\nunknown: %s of all server time, %s of that of p99+\n",
			FormatPercent(100*part(&r.Total, reqtrace.CauseUnknown)), FormatPercent(100*part(&r.Tail.Parts, reqtrace.CauseUnknown)))
	}
	for _, c := range x.Verdict.Caveats {
		fmt.Fprintf(&b, "! %s\n", printable(c))
	}
	fmt.Fprintf(&b, "\n%s\n", s.bold("what a trace cannot show"))
	for _, l := range Limits {
		fmt.Fprintf(&b, "  %s\n", s.dim(l))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// scope says what the report covers.
func (x *Explanation) scope() string {
	r := x.Report
	how := "of net/http"
	if r.Marked {
		how = "marked by regions"
	}
	t := fmt.Sprintf("%s (%s) in %s on %s", plural(r.Requests, "whole request"), how, FormatDuration(r.Trace), plural(r.Procs, "P"))
	if r.CutStart+r.CutEnd > 0 {
		t += fmt.Sprintf("; %d cut off at its start, %d at its end", r.CutStart, r.CutEnd)
	}
	return t
}

func (x *Explanation) gcText(b *strings.Builder, s Style) {
	g, r := &x.Verdict.GC, x.Report
	fmt.Fprintf(b, "\n%s\n", s.bold("the collector's share of what p99+ takes more than the median"))
	var each []string
	for _, c := range gcCauses {
		each = append(each, fmt.Sprintf("%s %s", c, wholePercent(r.Tail.Share(c))))
	}
	fmt.Fprintf(b, "  direct   %4s  %s\n", wholePercent(g.Direct), strings.Join(each, ", "))
	if !g.Replayed {
		fmt.Fprintf(b, "  what-if     -  there was nothing to replay\n")
		return
	}
	w := &r.WhatIf
	if !g.Trusted {
		fmt.Fprintf(b, "  what-if  %4s  replayed: p99 %s with the collector, %s without; measured %s:\n", wholePercent(g.WhatIf),
			FormatDuration(w.Replayed.P99), FormatDuration(w.WithoutGC.P99), FormatDuration(w.Actual.P99))
		fmt.Fprintf(b, "                 model error %s, too much for a forecast\n", signedPercent(g.ModelError))
		return
	}
	fmt.Fprintf(b, "  what-if  %4s  without the collector the p99 of %s would be %s, by a replay:\n", wholePercent(g.WhatIf),
		FormatDuration(w.Actual.P99), FormatDuration(w.Forecast))
	fmt.Fprintf(b, "                 %s with it, %s without; model error %s\n",
		FormatDuration(w.Replayed.P99), FormatDuration(w.WithoutGC.P99), signedPercent(g.ModelError))
}

func (x *Explanation) bandsText(b *strings.Builder, s Style) {
	r := x.Report
	all := []*reqtrace.Parts{&r.Median.Parts}
	fmt.Fprintf(b, "\n%s\n", s.bold(fmt.Sprintf("%-9s%9s%10s  %s", "band", "requests", "mean", "where the time of its requests went")))
	row := func(n *reqtrace.Band) {
		fmt.Fprintf(b, "%-9s%9s%10s  %s\n", printable(n.Name), FormatCount(float64(n.Requests)), FormatDuration(n.Mean), mix(&n.Parts, mixWidth, s))
	}
	for i := range r.Bands {
		row(&r.Bands[i])
		all = append(all, &r.Bands[i].Parts)
	}
	line := "         "
	for _, c := range present(1./mixWidth/2, all...) {
		word := causeWords[c]
		if len(line)+len(word.phrase)+4 > 98 {
			fmt.Fprintf(b, "%s\n", s.dim(strings.TrimRight(line, " ")))
			line = "         "
		}
		line += fmt.Sprintf("%c %s  ", word.letter, word.phrase)
	}
	fmt.Fprintf(b, "%s\n", s.dim(strings.TrimRight(line, " ")))
}

// mix writes a bar of letters, each cause as many as its share of the time.
func mix(p *reqtrace.Parts, width int, s Style) string {
	total := float64(max(p.Total(), 1))
	var b strings.Builder
	sum, at := 0., 0
	for _, c := range causeOrder {
		sum += float64(max(p.Of(c), 0)) / total * float64(width)
		if to := min(int(math.Round(sum)), width); to > at {
			b.WriteString(s.attr(causeWords[c].ansi, strings.Repeat(string(causeWords[c].letter), to-at)))
			at = to
		}
	}
	return b.String()
}

func (x *Explanation) excessText(b *strings.Builder, s Style) {
	r := x.Report
	t := newTable(6)
	t.add(s.bold, []string{"of a request, in the mean", "median", "p99+", "more", "share", ""})
	for _, c := range byExcess(r) {
		share := r.Tail.Share(c)
		text, bar := "", ""
		if share > 0 {
			text, bar = wholePercent(share), strings.Repeat("█", int(math.Round(share*shareWidth)))
		}
		t.add(nil, []string{
			"  " + phrase(c), FormatDuration(r.Median.Parts.Of(c)), FormatDuration(r.Tail.Parts.Of(c)), signedDuration(r.Tail.Excess.Of(c)), text,
			bar + strings.Repeat(" ", shareWidth-len([]rune(bar))),
		})
	}
	t.add(nil, []string{"  all", FormatDuration(r.Median.Mean), FormatDuration(r.Tail.Mean), signedDuration(r.Tail.Mean - r.Median.Mean)})
	fmt.Fprintln(b)
	t.write(b)
}

// byExcess returns the causes that matter in p99+ or in the median, the largest excess first.
func byExcess(r *reqtrace.Report) []reqtrace.Cause {
	list := present(leastPart, &r.Tail.Parts, &r.Median.Parts)
	slices.SortStableFunc(list, func(a, b reqtrace.Cause) int {
		switch x, y := r.Tail.Excess.Of(a), r.Tail.Excess.Of(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return list
}

func signedDuration(d time.Duration) string {
	if d > 0 {
		return "+" + FormatDuration(d)
	}
	return FormatDuration(d)
}

func (x *Explanation) sitesText(b *strings.Builder, s Style) {
	sites := moreSites(x.Report)
	if len(sites) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", s.bold("where in the code, in p99+ and (more than in the median)"))
	for _, m := range sites[:min(len(sites), textSites)] {
		fmt.Fprintf(b, "  %9s (%s)  %s at %s\n", FormatDuration(m.Time), signedDuration(m.more), phrase(m.Cause), printable(siteText(m.Site)))
	}
}

// siteText names a place that the trace has no stack for.
func siteText(site string) string {
	if site == "" {
		return "a place without a stack"
	}
	return site
}

func (x *Explanation) slowestText(b *strings.Builder, s Style) {
	if len(x.Report.Slowest) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", s.bold("the slowest requests"))
	for i := range x.Report.Slowest {
		q := &x.Report.Slowest[i]
		fmt.Fprintf(b, "  %9s at %-9s %s  %s\n", FormatDuration(q.Duration()), FormatDuration(q.Start), mix(&q.Parts, 24, s), breakdown(q))
	}
}

// breakdown says what a request was, and its largest parts.
func breakdown(q *reqtrace.Request) string {
	parts := slices.Clone(causeOrder)
	slices.SortStableFunc(parts, func(a, b reqtrace.Cause) int { return int(min(max(q.Parts.Of(b)-q.Parts.Of(a), -1), 1)) })
	var t []string
	for _, c := range parts[:3] {
		if share := part(&q.Parts, c); share >= .05 {
			t = append(t, wholePercent(share)+" "+c.String())
		}
	}
	if len(q.Sites) > 0 && q.Sites[0].Site != "" && 3*q.Sites[0].Time > q.Duration() {
		t = append(t, q.Sites[0].Site)
	}
	if q.ID != "" {
		t = append(t, "id "+q.ID)
	}
	return printable(strings.Join(t, ", "))
}
