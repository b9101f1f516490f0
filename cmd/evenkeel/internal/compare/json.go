package compare

import (
	"encoding/json"
	"io"
	"time"

	"evenkeel.dev/tailstat"
)

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
	Name string `json:"name"`
	Note string `json:"note"`
	// smallest ratio above 1 that this machine shows, by one variant against itself
	Floor *float64   `json:"floor,omitempty"`
	Cells []cellData `json:"cells"`
}

type cellData struct {
	Median *float64    `json:"median,omitempty"` // seconds, bytes, percent or a number; absent: not known
	Least  *float64    `json:"least,omitempty"`
	Most   *float64    `json:"most,omitempty"`
	Change *changeData `json:"change,omitempty"` // absent: not judged
}

type changeData struct {
	Verdict tailstat.Verdict  `json:"verdict"`
	Ratio   *float64          `json:"ratio,omitempty"` // absent if inconclusive
	Text    string            `json:"text"`            // "0.82x", or "~"
	Within  tailstat.Interval `json:"within"`
	P       float64           `json:"p"`
	// smallest ratio above 1 that as many runs, as noisy as these, show
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
	for i := range c.Rows {
		r := &c.Rows[i]
		f := figureData{Name: r.Name, Note: r.Note}
		if x, ok := r.Floor(); ok {
			f.Floor = &x
		}
		for k := range r.Cells {
			f.Cells = append(f.Cells, r.cellData(k))
		}
		d.Figures = append(d.Figures, f)
	}
	return d
}

func (r *Row) cellData(column int) (d cellData) {
	if cell := r.Cells[column]; cell.Known {
		d.Median, d.Least, d.Most = &cell.Median, &cell.Min, &cell.Max
	}
	x := r.results[column]
	if x == nil {
		return d
	}
	d.Change = &changeData{Verdict: x.Verdict, Text: Ratio(x), Within: x.Within, P: x.P}
	if x.Verdict != tailstat.VerdictInconclusive {
		d.Change.Ratio = &x.Ratio
	}
	if least, ok := x.Detectable(); ok {
		d.Change.Detectable = &least
	}
	return d
}

// JSON writes Data, indented.
func (c *Comparison) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(c.Data())
}
