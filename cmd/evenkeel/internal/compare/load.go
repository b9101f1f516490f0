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

// WriteLoad writes what one load measured: its figures, statuses, failures and a histogram.
func WriteLoad(w io.Writer, r *runfile.Run, s textfmt.Style) error {
	var b strings.Builder
	l := r.Load
	fmt.Fprintf(&b, "%s\n%s\n", s.Bold(targetLines(l)), s.Dim(loadLine(l)))
	for _, line := range sourceLines(r) {
		fmt.Fprintf(&b, "%s\n", s.Dim(line))
	}
	fmt.Fprintln(&b)
	c := Files([]*runfile.File{{Runs: []runfile.Run{*r}}}, []string{""})
	t := textfmt.NewTable(2)
	for _, row := range c.Rows {
		t.Add(nil, []string{row.Name, row.Format(row.Cells[0].Median)})
	}
	if r.KnowsAll() {
		t.Add(nil, []string{"mean", textfmt.Duration(l.Latency.Mean())})
	}
	if l.Bytes > 0 {
		t.Add(nil, []string{"bytes of the answers", textfmt.Bytes(float64(l.Bytes))})
	}
	for _, st := range slices.Sorted(maps.Keys(l.Statuses)) {
		t.Add(nil, []string{fmt.Sprintf("status %d", st), textfmt.Count(float64(l.Statuses[st]))})
	}
	t.Render(&b)
	c.classesText(&b, s)
	if r.KnowsAll() {
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

func targetLines(l *loadgen.Result) string {
	shown := l.Targets[:min(len(l.Targets), listedTargets)]
	lines := strings.Join(shown, "\n")
	if n := len(l.Targets) - len(shown) + l.MoreTargets; n > 0 {
		lines += fmt.Sprintf("\nand %s more", textfmt.Count(float64(n)))
	}
	return lines
}

func sourceLines(r *runfile.Run) (lines []string) {
	if t := MixText(r.Mix); t != "" {
		lines = append(lines, "requests: "+t)
	}
	if t := ObservedText(r); t != "" {
		lines = append(lines, "service: "+t)
	}
	return lines
}

// MixText says where the requests of a run are from. It is "" for those of the command line.
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

// ObservedText says where the collector's rows of a service are from that evenkeel did not start.
// It is "" without any.
func ObservedText(r *runfile.Run) string {
	var parts []string
	traced := r.GC != nil && r.GC.Source == runfile.GCFromTrace
	if r.GCTrace != "" && traced {
		parts = append(parts, "collector by "+textfmt.Printable(r.GCTrace)+" (gctrace)")
	}
	if r.PProf != "" {
		switch pprof := textfmt.Printable(r.PProf) + " (runtime.MemStats)"; {
		case r.GC != nil && !traced:
			parts = append(parts, "collector and allocation by "+pprof+", which does not tell time in GC, clock time "+
				"and peak heap; its gctrace log does (-gctrace)")
		case r.Alloc != nil && r.Alloc.Source == runfile.AllocFromMemStats:
			parts = append(parts, "allocation by "+pprof)
		}
	}
	return strings.Join(parts, "; ")
}

func loadLine(l *loadgen.Result) string {
	t := LoadText(l)
	if l.Rate > 0 {
		t += fmt.Sprintf(", at most %d connections", l.Connections)
	}
	if l.Seed != 0 {
		t += fmt.Sprintf(", seed %d", l.Seed)
	}
	if l.Warmup > 0 {
		t += ", after " + textfmt.Duration(l.Warmup) + " of warm-up"
	}
	return t + ", timeout " + textfmt.Duration(l.Timeout)
}

type logBin struct {
	From, To time.Duration
	Count    int64
}

// logBins groups durations in bins of a 1-2-5 series.
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

// histogramText draws a bar for each bin. A bin that holds anything shows at least a dot, because
// the tail is what matters.
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
		t.Add(nil, []string{
			textfmt.Duration(x.From), "to " + textfmt.Duration(x.To), textfmt.Count(float64(x.Count)),
			bar + strings.Repeat(" ", barCells-len([]rune(bar))),
		})
	}
	t.Render(b)
}
