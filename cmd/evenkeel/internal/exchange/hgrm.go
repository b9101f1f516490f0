package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

// A .hgrm is HdrHistogram's percentile distribution. A line has a value, its percentile, and how
// many are at or below it. Its steps get closer towards 100%. It has no unit, no time and no
// failures.
//
//	       Value     Percentile TotalCount 1/(1-Percentile)
//	       0.121 0.500000000000        500           2.00
//	#[Max     =        9.000, Total count    =         1000]
//
// Java's library also writes CSV without a footer, and Python's footer says TotalCount.

func hgrmHeader(line string) bool {
	f := strings.Fields(uncomma(line))
	return len(f) == 4 && f[0] == "Value" && f[1] == "Percentile" && f[2] == "TotalCount"
}

func uncomma(line string) string { return strings.NewReplacer(",", " ", `"`, "").Replace(line) }

type distribution struct {
	unit    time.Duration
	h       fine
	count   int64 // so far
	q       float64
	value   time.Duration
	rows    int
	csv     bool // commas between the columns, and no footer
	ended   bool // the footer has come
	started bool
}

var errNoFooter = errors.New("it ends before its footer (#[Max = ..., Total count = ...]): it was cut off; make it " +
	"again")

func (d *distribution) line(s string) error {
	if d.csv {
		s = uncomma(s)
	}
	f := strings.Fields(s)
	switch {
	case len(f) == 0:
		return nil
	case hgrmHeader(s):
		if d.started {
			return errors.New("a second table begins: give each as a file of its own")
		}
		d.started, d.csv = true, strings.Contains(s, ",")
		return nil
	case strings.HasPrefix(s, "#["):
		if !d.started { // HistogramLogProcessor names its log above the table
			return nil
		}
		return d.footer(s)
	case !d.started || d.ended:
		return fmt.Errorf("%.60q is not a line of a percentile distribution (Value Percentile TotalCount "+
			"1/(1-Percentile))", s)
	}
	if len(f) < 3 || len(f) > 4 {
		return fmt.Errorf("%d columns in place of 3 or 4: the line was cut off; make the file again", len(f))
	}
	v, err1 := strconv.ParseFloat(f[0], 64)
	q, err2 := strconv.ParseFloat(f[1], 64)
	n, err3 := strconv.ParseInt(f[2], 10, 64)
	value, ok := duration(v, d.unit)
	switch {
	case errors.Join(err1, err2, err3) != nil || !ok || !(q >= 0 && q <= 1) || n < 0:
		return fmt.Errorf("%.60q: write a value of 0 or more, a percentile from 0 to 1 and a count", s)
	case value < d.value || q < d.q || n < d.count:
		return errors.New("it falls below the line before it: values, percentiles and counts of a distribution rise; " +
			"make the file again")
	}
	d.h.record(value, n-d.count)
	d.ended = d.csv && q == 1 // the last line
	d.value, d.q, d.count = value, q, n
	d.rows++
	return nil
}

func (d *distribution) footer(s string) error {
	_, text, found := strings.Cut(strings.Replace(s, "TotalCount", "Total count", 1), "Total count")
	if !found {
		return nil // the mean, the buckets and comments
	}
	n, err := strconv.ParseInt(strings.Trim(text, " =]"), 10, 64)
	if err != nil || n != d.count {
		return fmt.Errorf("the footer counts %s, and the lines %d: the file was cut off or changed; make it again",
			strings.Trim(text, " =]"), d.count)
	}
	d.ended = true
	return nil
}

func (d *distribution) note() string {
	return fmt.Sprintf("its percentile distribution has %d lines: a percentile between two of them reads as the "+
		"upper one, and results cannot be added to it", d.rows)
}

func readHgrm(r io.Reader, o Options) ([]runfile.Run, error) {
	unit, said := o.Unit, "as was said"
	if unit == 0 {
		unit, said = time.Millisecond, "say another with -unit"
	}
	d := distribution{unit: unit, h: newFine()}
	if err := lines(r, d.line); err != nil {
		return nil, err
	}
	if !d.ended {
		return nil, errNoFooter
	}
	h, err := d.h.histogram()
	if err != nil {
		return nil, err
	}
	run := runfile.Run{
		Label: o.Label, Load: &loadgen.Result{Answered: d.count, Rate: o.Rate, Latency: h},
		Import: &runfile.Import{Format: string(FormatHgrm)},
	}
	run.Notes = []string{
		d.note(),
		fmt.Sprintf("a .hgrm does not say its unit, and its values were taken for %v (%s); nor duration, time, rate, "+
			"targets, failures", unit, said),
	}
	return []runfile.Run{run}, nil
}

// hdrOf converts a histogram to HdrHistogram's own type.
func hdrOf(h *loadgen.Histogram) (*hdr.Histogram, error) {
	text, err := h.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var encoded string
	if err := json.Unmarshal(text, &encoded); err != nil {
		return nil, err
	}
	return hdr.Decode([]byte(encoded))
}

// hgrmTicks is the number of lines for each halving of the rest to 100%, as other tools write.
const hgrmTicks = 5

func writeHgrm(w io.Writer, run *runfile.Run) error {
	h, err := hdrOf(&run.Load.Latency)
	if err != nil {
		return err
	}
	_, err = h.PercentilesPrint(w, hgrmTicks, float64(time.Millisecond))
	return err
}
