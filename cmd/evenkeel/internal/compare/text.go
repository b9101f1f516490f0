package compare

import (
	"fmt"
	"io"
	"strings"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/tailstat"
)

func (c *Comparison) Text(w io.Writer, s textfmt.Style) error {
	head := []string{""}
	for k, col := range c.Columns {
		head = append(head, col.Label)
		if c.against[k] != nil {
			head = append(head, "", "")
		}
	}
	t := textfmt.NewTable(len(head))
	t.Add(s.Bold, head)
	for _, r := range c.Rows {
		cells, marks := []string{r.Name}, map[int]func(string) string{}
		for k := range r.Cells {
			cells = append(cells, r.valueText(k))
			if c.against[k] != nil {
				marks[len(cells)], marks[len(cells)+1] = r.style(s, k), s.Dim
				cells = append(cells, Ratio(r.Results[k]), Bounds(r.Results[k]))
			}
		}
		t.Row(cells...)
		for i, m := range marks {
			t.Mark(i, m)
		}
	}
	var b strings.Builder
	t.Render(&b)
	for _, f := range c.Footnotes() {
		fmt.Fprintf(&b, "%s\n", s.Dim(textfmt.Printable(f)))
	}
	c.classesText(&b, s)
	c.eventsText(&b, s)
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "! %s\n", textfmt.Printable(n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Row) style(s textfmt.Style, column int) func(string) string {
	code := "2"
	switch r.Shown(column) {
	case tailstat.VerdictFaster:
		code = "32"
	case tailstat.VerdictSlower:
		code = "31"
	}
	return func(t string) string { return s.Attr(code, t) }
}

// Markdown shows these rows without a verdict too, because a fast answer may be a failure.
var shownAlways = map[string]bool{"requests": true, "failed": true, "not 2xx or 3xx": true}

// Markdown writes lines, and a table for each column next to the base, or all rows if no figure is
// judged.
func (c *Comparison) Markdown(w io.Writer, lines []string) error {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "- %s\n", markdown(l))
	}
	if len(lines) > 0 {
		b.WriteByte('\n')
	}
	if c.verdicts == 0 {
		c.markdownMedians(&b)
	}
	for k, against := range c.against {
		if against != nil {
			c.markdownTable(&b, k)
		}
	}
	for _, f := range c.Footnotes() {
		fmt.Fprintf(&b, "%s  \n", markdown(f))
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "\n> **Note** %s\n", markdown(n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Comparison) markdownTable(b *strings.Builder, column int) {
	base := c.Columns[c.Base].Label
	fmt.Fprintf(b, "| | %s | %s | ratio | lies within | |\n|---|--:|--:|--:|--:|---|\n", markdown(base),
		markdown(c.Columns[column].Label))
	for _, r := range c.Rows {
		x := r.Results[column]
		if x == nil && !shownAlways[r.Name] {
			continue
		}
		verdict := ""
		if v := r.Shown(column); v != tailstat.VerdictInconclusive {
			verdict = "**" + v.String() + "**"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", markdown(r.Name), r.valueText(c.Base), r.valueText(column),
			markdown(Ratio(x)), markdown(strings.Trim(Bounds(x), "[]")), verdict)
	}
	b.WriteByte('\n')
}

func (c *Comparison) markdownMedians(b *strings.Builder) {
	b.WriteString("| |")
	for _, col := range c.Columns {
		fmt.Fprintf(b, " %s |", markdown(col.Label))
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("--:|", len(c.Columns)))
	for _, r := range c.Rows {
		fmt.Fprintf(b, "| %s |", markdown(r.Name))
		for k := range c.Columns {
			fmt.Fprintf(b, " %s |", r.valueText(k))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

func (r *Row) valueText(column int) string {
	if cell := r.Cells[column]; cell.Known {
		return r.Format(cell.Median)
	}
	return "-"
}

// A label comes from whoever wrote the run file.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune("\\`*_[]|~#", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case strings.ContainsRune("<>&@", r):
			fmt.Fprintf(&b, "&#%d;", r)
		case r < ' ' || r == 0x7f:
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Data is a comparison as evenkeel compare -json writes it, see docs/reference/compare-json.md.
type Data struct {
	Base       string       `json:"base"`       // label
	Confidence float64      `json:"confidence"` // with which all intervals hold together
	Verdicts   int          `json:"verdicts"`   // number of intervals
	Columns    []columnData `json:"columns"`
	Figures    []figureData `json:"figures"`
	Footnotes  []string     `json:"footnotes,omitempty"`
	Notes      []string     `json:"notes,omitempty"`
}

type columnData struct {
	Label  string    `json:"label"`
	Runs   []runData `json:"runs"`
	Paired bool      `json:"paired,omitempty"` // with the base's, by rounds
}

type runData struct {
	Repeat      int       `json:"repeat"`
	Round       int       `json:"round,omitempty"`
	Started     time.Time `json:"started,omitzero"`
	Interrupted bool      `json:"interrupted,omitempty"`
	Spoilt      string    `json:"spoilt,omitempty"` // what else the machine did
}

// figureData is a row, with its cells in the order of the columns.
type figureData struct {
	Name  string     `json:"name"`
	Note  string     `json:"note"`
	Cells []cellData `json:"cells"`
}

type cellData struct {
	*Cell              // nil: not known
	Change *changeData `json:"change,omitempty"` // absent: not judged
}

type changeData struct {
	Verdict tailstat.Verdict  `json:"verdict"`
	Ratio   *float64          `json:"ratio,omitempty"` // absent if inconclusive
	Text    string            `json:"text"`            // "0.82x", or "~"
	Within  tailstat.Interval `json:"within"`
	P       float64           `json:"p"`
	// Detectable is the smallest ratio above 1 that such runs show.
	Detectable *float64 `json:"detectable,omitempty"`
}

// Data returns the comparison as data.
func (c *Comparison) Data() *Data {
	d := &Data{
		Base: c.Columns[c.Base].Label, Confidence: confidence, Verdicts: c.verdicts, Footnotes: c.Footnotes(),
		Notes: c.Notes,
	}
	for k, col := range c.Columns {
		x := columnData{Label: col.Label, Paired: c.against[k] != nil && c.against[k].Paired}
		for _, r := range col.Runs {
			x.Runs = append(x.Runs, runData{r.Repeat, r.Round, r.Load.Started, r.Load.Interrupted, Spoilt(r)})
		}
		d.Columns = append(d.Columns, x)
	}
	for _, r := range c.Rows {
		f := figureData{Name: r.Name, Note: r.Note}
		for k := range r.Cells {
			f.Cells = append(f.Cells, r.cellData(k))
		}
		d.Figures = append(d.Figures, f)
	}
	return d
}

func (r *Row) cellData(column int) (d cellData) {
	if cell := r.Cells[column]; cell.Known {
		d.Cell = &cell
	}
	x := r.Results[column]
	if x == nil {
		return d
	}
	d.Change = &changeData{Verdict: x.Verdict, Text: Ratio(x), Within: x.Within, P: x.P}
	if x.Verdict != tailstat.VerdictInconclusive {
		d.Change.Ratio = &x.Ratio
	}
	if least, ok := x.Detectable(0); ok {
		d.Change.Detectable = &least
	}
	return d
}
