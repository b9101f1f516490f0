package verdict

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

const (
	mixWidth    = 56
	slowWidth   = 24
	textPlaces  = 8
	textClasses = 8
	textWidth   = 100
	leastWidth  = 40
)

type Options struct {
	Color bool
	Width int // of sentences, 40 or more; 0: 100
	Rows  int // of the table of causes, and nothing below it; 0: all
}

func (v *Verdict) WriteText(w io.Writer, o Options) error {
	t := newText(o)
	t.v, t.r = v, v.report
	if o.Rows > 0 && t.r.Requests > 0 {
		t.first()
		t.table(o.Rows)
		_, err := io.WriteString(w, t.out.String())
		return err
	}
	t.headline()
	if r := t.r; r.Requests > 0 {
		t.classes()
		t.bands()
		t.table(len(t.v.Table()))
		t.places()
		t.samples()
		t.slowest()
		t.line("\nunknown: %s of all server time, %s of that of p99+",
			textfmt.Percent(100*r.Total.Share(reqtrace.CauseUnknown)),
			textfmt.Percent(100*r.Tail.Parts.Share(reqtrace.CauseUnknown)))
	}
	for _, c := range v.Caveats {
		t.wrap("! ", c, nil)
	}
	t.head("what a trace cannot show")
	for _, l := range Limits {
		t.wrap("  ", l, t.style.Dim)
	}
	_, err := io.WriteString(w, t.out.String())
	return err
}

type text struct {
	v     *Verdict
	r     *reqtrace.Report
	style textfmt.Style
	width int
	out   strings.Builder
}

func newText(o Options) *text {
	width := textWidth
	if o.Width > 0 {
		width = max(o.Width, leastWidth)
	}
	return &text{style: textfmt.Style{Color: o.Color}, width: width}
}

func (t *text) line(format string, a ...any) { fmt.Fprintf(&t.out, format+"\n", a...) }

// wrap indents lines after the first as far as first is long.
func (t *text) wrap(first, sentences string, style func(string) string) {
	textfmt.Wrap(&t.out, t.width, first, sentences, style)
}

func (t *text) first() {
	t.wrap("", t.v.Sentence, t.style.Bold)
	if t.v.Fix != "" {
		t.wrap("Fix: ", t.v.Fix+" See "+t.v.Causes[0].Guide+".", nil)
	}
}

func (t *text) headline() {
	v := t.v
	t.first()
	for _, f := range v.Figures {
		t.wrap("", f, nil)
	}
	for _, l := range v.LeftOut {
		t.wrap("Left out: ", l, nil)
	}
	t.wrap("", v.Scope(), t.style.Dim)
}

func (t *text) head(title string) { t.line("\n%s", t.style.Bold(title)) }

func (t *text) classes() {
	rows := t.v.Classes()
	if len(rows) == 0 {
		return
	}
	table := textfmt.NewTable(5)
	table.Add(t.style.Bold, []string{"class (-class NAME explains only one)", "requests", "p50", "p99", "of p99+"})
	for _, c := range rows[:min(len(rows), textClasses)] {
		table.Row("  "+c.Name, textfmt.Count(float64(c.Requests)), textfmt.Duration(c.P50), textfmt.Duration(c.P99),
			textfmt.Share(c.Share))
	}
	t.line("")
	table.Render(&t.out)
	if n := len(rows) - textClasses; n > 0 {
		t.line("  and %d more", n)
	}
}

func (t *text) bands() {
	all := []reqtrace.Parts{t.r.Median.Parts}
	t.head(fmt.Sprintf("%-9s%9s%10s  %s", "band", "requests", "mean", "where the time of its requests went"))
	for _, b := range t.r.Bands {
		t.line("%-9s%9s%10s  %s", textfmt.Printable(b.Name), textfmt.Count(float64(b.Requests)),
			textfmt.Duration(b.Mean), t.mix(b.Parts, mixWidth))
		all = append(all, b.Parts)
	}
	t.legend(all)
}

func (t *text) legend(all []reqtrace.Parts) {
	const indent = "         "
	legend := indent
	for _, c := range Causes(1./mixWidth/2, all...) {
		word := causeWords[c]
		if len(legend)+len(word.phrase)+4 > 98 {
			t.line("%s", t.style.Dim(strings.TrimRight(legend, " ")))
			legend = indent
		}
		legend += fmt.Sprintf("%c %s  ", word.letter, word.phrase)
	}
	t.line("%s", t.style.Dim(strings.TrimRight(legend, " ")))
}

func (t *text) mix(p reqtrace.Parts, width int) string {
	var b strings.Builder
	sum, at := 0., 0
	for _, c := range causeOrder {
		sum += max(p.Share(c), 0) * float64(width)
		if to := min(int(math.Round(sum)), width); to > at {
			b.WriteString(t.style.Attr(causeWords[c].ansi, strings.Repeat(string(causeWords[c].letter), to-at)))
			at = to
		}
	}
	return b.String()
}

func (t *text) table(rows int) {
	table := textfmt.NewTable(6)
	table.Add(t.style.Bold, []string{"of a request, on average", "median", "p99+", "more", "share", ""})
	list := t.v.Table()
	for _, row := range list[:min(rows, len(list))] {
		share, bar := textfmt.Bar(row.Share)
		table.Row("  "+Phrase(row.Cause), textfmt.Duration(row.Median), textfmt.Duration(row.Tail),
			textfmt.SignedDuration(row.Excess), share, bar)
	}
	if median, tail := t.r.Median.Mean, t.r.Tail.Mean; rows >= len(list) {
		table.Row("  all", textfmt.Duration(median), textfmt.Duration(tail), textfmt.SignedDuration(tail-median))
	}
	t.line("")
	table.Render(&t.out)
}

func (t *text) places() {
	list := t.v.Places()
	if len(list) == 0 {
		return
	}
	t.head("where in the code, in p99+ and (more than in the median)")
	for _, p := range list[:min(len(list), textPlaces)] {
		parts := whereParts(&p.Blame)
		t.line("  %9s (%s)  %s: %s", textfmt.Duration(p.Time), textfmt.SignedDuration(p.Excess), Phrase(p.Cause),
			textfmt.Printable(parts[0]))
		for _, part := range parts[1:] {
			t.line("              %s", textfmt.Printable(part))
		}
	}
}

func (t *text) samples() {
	list := t.v.Running()
	if len(list) == 0 {
		return
	}
	t.head("running, in p99+, by the samples of a CPU profile (and 95% interval)")
	for _, s := range list[:min(len(list), textPlaces)] {
		t.line("  %9s (%s to %s)  %s", textfmt.Share(s.Share), textfmt.Share(s.Low), textfmt.Share(s.High),
			textfmt.Printable(cmp.Or(s.Site, "no function of the program's")))
	}
}

func (t *text) slowest() {
	if len(t.r.Slowest) == 0 {
		return
	}
	t.head("the slowest requests")
	for _, q := range t.r.Slowest {
		row := fmt.Sprintf("  %9s at %-9s ", textfmt.Duration(q.Duration()), textfmt.Duration(q.Start))
		bar, took := t.mix(q.Parts, slowWidth), Breakdown(&q)
		if utf8.RuneCountInString(row)+slowWidth+2+utf8.RuneCountInString(took) <= t.width {
			t.line("%s%s  %s", row, bar, took)
			continue
		}
		t.line("%s%s", row, bar)
		t.wrap("              ", took, nil)
	}
}

const changePlaces = 10

func (c *Change) WriteText(w io.Writer, o Options) error {
	t := newText(o)
	t.wrap("", c.Sentence, t.style.Bold)
	t.wrap("", c.Scope(), t.style.Dim)
	t.sides(c)
	t.changes(c)
	t.changedPlaces(c)
	if len(c.Caveats) > 0 {
		t.line("")
	}
	for _, x := range c.Caveats {
		t.wrap("! ", x, nil)
	}
	_, err := io.WriteString(w, t.out.String())
	return err
}

func (c *Change) Scope() string {
	side := func(s *Side) string {
		return fmt.Sprintf("%s: %s, %s in %s", s.Name, textfmt.Plural(s.Traces, "trace"),
			textfmt.Plural(s.Requests, "request"), textfmt.Duration(s.Trace))
	}
	return side(&c.Old) + "; " + side(&c.New)
}

func (t *text) sides(c *Change) {
	t.head(fmt.Sprintf("%-14s%10s  %s", "slowest 1%", "mean", "where the time of its requests went"))
	longest := max(c.Old.Slow.Total(), c.New.Slow.Total(), 1)
	for _, s := range []*Side{&c.Old, &c.New} {
		width := int(float64(mixWidth)*float64(s.Slow.Total())/float64(longest) + .5)
		t.line("%-14s%10s  %s", textfmt.Visible(textfmt.Printable(s.Name), 13), textfmt.Duration(s.Slow.Total()),
			t.mix(s.Slow, width))
	}
	t.legend([]reqtrace.Parts{c.Old.Slow, c.New.Slow})
}

func (t *text) changes(c *Change) {
	least := time.Duration(leastRow * float64(max(c.Slow.Old, c.Slow.New)))
	table := textfmt.NewTable(5)
	table.Add(t.style.Bold, []string{"what makes the difference", "old", "new", "more", "interval"})
	row := func(name string, slow Difference, named bool) {
		var style func(string) string
		if named {
			style = t.style.Bold
		}
		table.Add(style, []string{
			"  " + name, textfmt.Duration(slow.Old), textfmt.Duration(slow.New),
			textfmt.SignedDuration(slow.More), intervalText(slow),
		})
	}
	for _, x := range c.ByCause {
		if max(x.Slow.Old, x.Slow.New, x.Slow.More.Abs()) >= least {
			row(x.Phrase, x.Slow, x.Named)
		}
	}
	if c.Mix.More != 0 {
		table.Row("  another mix of classes", "", "", textfmt.SignedDuration(c.Mix.More), intervalText(c.Mix))
	}
	row("all, as a mean", c.Slow, false)
	t.line("")
	table.Render(&t.out)
	t.line("%s", t.style.Dim("  by cause: what requests take beyond the time at which the slowest 1% of both begin"))
}

func (t *text) changedPlaces(c *Change) {
	n := 0
	for _, x := range c.Rows {
		if x.Function == "" || x.Slow.More == 0 || n == changePlaces {
			continue
		}
		if n++; n == 1 {
			t.head("where in the code, of the slowest 1%")
		}
		t.line("  %9s %-22s  %s", textfmt.SignedDuration(x.Slow.More), intervalText(x.Slow),
			textfmt.Printable(x.Words()))
	}
}
