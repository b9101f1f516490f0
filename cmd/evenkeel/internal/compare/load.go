package compare

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

const barCells = 40

func WriteLoad(w io.Writer, r *runfile.Run, s textfmt.Style) error {
	var b strings.Builder
	l := r.Load
	fmt.Fprintf(&b, "%s\n%s\n", s.Bold(strings.Join(Targets(l, listedTargets), "\n")), s.Dim(LoadLine(l)))
	if t := MixText(r.Mix); t != "" {
		fmt.Fprintln(&b, s.Dim("requests: "+t))
	}
	if t := ObservedText(r); t != "" {
		fmt.Fprintln(&b, s.Dim("service: "+t))
	}
	fmt.Fprintln(&b)
	c := Files([]*runfile.File{{Runs: []runfile.Run{*r}}}, []string{""})
	t := textfmt.NewTable(2)
	for _, row := range c.Rows {
		t.Row(row.Name, row.Format(row.Cells[0].Median))
	}
	if l.Latency.Count() > 0 {
		t.Row("mean", textfmt.Duration(l.Latency.Mean()))
	}
	if l.Bytes > 0 {
		t.Row("bytes of the answers", textfmt.Bytes(float64(l.Bytes)))
	}
	for _, st := range slices.Sorted(maps.Keys(l.Statuses)) {
		t.Row(fmt.Sprintf("status %d", st), textfmt.Count(float64(l.Statuses[st])))
	}
	t.Render(&b)
	c.classesText(&b, s)
	if l.Latency.Count() > 0 {
		fmt.Fprintf(&b, "\n%s\n", s.Bold("latency"))
		histogramText(&b, &l.Latency)
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "! %s\n", textfmt.Printable(strings.TrimPrefix(n, r.Label+": ")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const listedTargets = 10

// Targets returns at most so many, and how many more there are.
func Targets(l *loadgen.Result, most int) []string {
	list := slices.Clone(l.Targets[:min(len(l.Targets), most)])
	if n := len(l.Targets) - len(list) + l.MoreTargets; n > 0 {
		list = append(list, fmt.Sprintf("and %s more", textfmt.Count(float64(n))))
	}
	return list
}

// MixText says where requests are from, or "" for the command line's.
func MixText(m *runfile.Mix) string {
	if m == nil {
		return ""
	}
	var parts []string
	if m.File != "" {
		parts = append(parts, "from "+textfmt.Printable(m.File))
	}
	if m.Seed != nil {
		parts = append(parts, fmt.Sprintf("%s different ones made with -seed %d", textfmt.Count(float64(m.Made)),
			*m.Seed))
	}
	return strings.Join(parts, ", ")
}

// ObservedText says what observed a service that evenkeel did not start, or "".
func ObservedText(r *runfile.Run) string {
	var parts []string
	traced := r.GC != nil && r.GC.Source == runfile.FromTrace
	if r.GCTrace != "" && traced {
		parts = append(parts, "collector by "+textfmt.Printable(r.GCTrace)+" (gctrace)")
	}
	if r.PProf != "" {
		switch pprof := textfmt.Printable(r.PProf) + " (runtime.MemStats)"; {
		case r.GC != nil && !traced:
			parts = append(parts, "collector and allocation by "+pprof+", which does not tell time in GC, clock time "+
				"and peak heap; its gctrace log does (-gctrace)")
		case r.Alloc != nil && r.Alloc.Source == runfile.FromMemStats:
			parts = append(parts, "allocation by "+pprof)
		}
	}
	return strings.Join(parts, "; ")
}

// LoadLine says all of what was asked for.
func LoadLine(l *loadgen.Result) string {
	t := loadText(l)
	if l.Rate > 0 && l.Connections > 0 {
		t += fmt.Sprintf(", at most %d connections", l.Connections)
	}
	if l.Seed != 0 {
		t += fmt.Sprintf(", seed %d", l.Seed)
	}
	if l.Warmup > 0 {
		t += ", after " + textfmt.Duration(l.Warmup) + " of warm-up"
	}
	if l.Timeout > 0 {
		t += ", timeout " + textfmt.Duration(l.Timeout)
	}
	return t
}

type logBin struct {
	From, To time.Duration
	Count    int64
}

func logBins(h *loadgen.Histogram) (bins []logBin) {
	first := 0
	for d, n := range h.All() {
		i := chart.Index125(float64(max(d, 1)))
		if len(bins) == 0 {
			first = i
		}
		for k := first + len(bins); k <= i; k++ {
			from, to := time.Duration(chart.Series125(k)), time.Duration(chart.Series125(k+1))
			bins = append(bins, logBin{From: from, To: to})
		}
		bins[i-first].Count += n
	}
	return bins
}

// The tail matters, so a bin that holds anything shows at least a dot.
func histogramText(b *strings.Builder, h *loadgen.Histogram) {
	bins := logBins(h)
	most := int64(1)
	for _, x := range bins {
		most = max(most, x.Count)
	}
	t := textfmt.NewTable(4)
	for _, x := range bins {
		cells := int(math.Round(float64(x.Count) / float64(most) * barCells))
		bar := strings.Repeat("█", cells)
		if cells == 0 && x.Count > 0 {
			bar = "·"
		}
		t.Row(textfmt.Duration(x.From), "to "+textfmt.Duration(x.To), textfmt.Count(float64(x.Count)),
			bar+strings.Repeat(" ", barCells-len([]rune(bar))))
	}
	t.Render(b)
}

// ClassTable has a row for all requests of a column, and for each class.
type ClassTable struct {
	Column int
	Pooled string // differs from the first table, or ""
	Rows   []ClassRow
}

type ClassRow struct {
	Name  string
	Cells []string // by ClassColumns
}

// ClassColumns are the figures of a class. Bytes are an answer's mean.
var ClassColumns = []string{
	"share", "requests", "failed", "other status", "mean", "p50", "p90", "p99", "p99.9", "max",
	"bytes",
}

// Classes returns a table for each column with two classes or more.
func (c *Comparison) Classes() (tables []ClassTable) {
	for i := range c.Columns {
		runs := c.Columns[i].whole()
		if rows := classRows(runs); rows != nil {
			pooled := ""
			if len(runs) > 1 {
				pooled = fmt.Sprintf("all requests of %d repeats; the first table has medians of repeats",
					len(runs))
			}
			tables = append(tables, ClassTable{i, pooled, rows})
		}
	}
	return tables
}

func classRows(runs []*runfile.Run) (rows []ClassRow) {
	sums := []loadgen.TargetClass{{Name: "all", Share: 1, Statuses: map[int]int64{}}}
	for _, r := range runs {
		for k := range r.Load.Classes {
			from := &r.Load.Classes[k]
			is := func(c loadgen.TargetClass) bool { return c.Name == from.Name }
			i := slices.IndexFunc(sums[1:], is) + 1
			if i == 0 {
				i = len(sums)
				sums = append(sums, loadgen.TargetClass{
					Name: from.Name, Share: from.Share, Statuses: map[int]int64{},
				})
			}
			addClass(&sums[i], from)
			addClass(&sums[0], from)
		}
	}
	if len(sums) == 1 {
		return nil
	}
	for i := range sums {
		rows = append(rows, ClassRow{sums[i].Name, classCells(&sums[i])})
	}
	return rows
}

func addClass(to, from *loadgen.TargetClass) {
	to.Answered += from.Answered
	to.Failed += from.Failed
	to.Bytes += from.Bytes
	to.Latency.Merge(&from.Latency)
	for s, n := range from.Statuses {
		to.Statuses[s] += n
	}
}

func classCells(c *loadgen.TargetClass) []string {
	h := &c.Latency
	cells := []string{
		textfmt.Percent(c.Share * 100), textfmt.Count(float64(c.Answered + c.Failed)),
		textfmt.Count(float64(c.Failed)), textfmt.Count(float64(NotOK(c.Statuses))),
	}
	for _, d := range []time.Duration{
		h.Mean(), h.Quantile(.5), h.Quantile(.9), h.Quantile(.99), h.Quantile(.999), h.Max(),
	} {
		text := "-"
		if h.Count() > 0 {
			text = textfmt.Duration(d)
		}
		cells = append(cells, text)
	}
	size := "-"
	if c.Answered > 0 {
		size = textfmt.Bytes(float64(c.Bytes) / float64(c.Answered))
	}
	return append(cells, size)
}

func (c *Comparison) classesText(b *strings.Builder, s textfmt.Style) {
	for _, t := range c.Classes() {
		head := append([]string{"requests of " + c.Columns[t.Column].Label}, ClassColumns...)
		if len(c.Columns) == 1 {
			head[0] = "by class"
		}
		fmt.Fprintln(b)
		table := textfmt.NewTable(len(head))
		table.Add(s.Bold, head)
		for _, r := range t.Rows {
			table.Add(nil, append([]string{textfmt.Visible(r.Name, maxClassName)}, r.Cells...))
		}
		table.Render(b)
		if t.Pooled != "" {
			fmt.Fprintf(b, "%s\n", s.Dim(t.Pooled))
		}
	}
}

const maxClassName = 48
