package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

// HdrHistogram's percentile distribution has values, percentiles, and how many are at or below. It
// has no unit, no time and no failures.
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
	count   int64
	q       float64
	value   time.Duration
	rows    int
	csv     bool
	ended   bool
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
	d.ended = d.csv && q == 1
	d.value, d.q, d.count = value, q, n
	d.rows++
	return nil
}

func (d *distribution) footer(s string) error {
	_, text, found := strings.Cut(strings.Replace(s, "TotalCount", "Total count", 1), "Total count")
	if !found {
		return nil // mean, buckets or a comment
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
	run := newRun(o, false)
	run.Load.Answered, run.Load.Latency = d.count, h
	run.Notes = []string{
		d.note(),
		fmt.Sprintf("a .hgrm does not say its unit, and its values were taken for %v (%s); nor duration, time, rate, "+
			"targets, failures", unit, said),
	}
	return []runfile.Run{run}, nil
}

func hdrOf(h *loadgen.Histogram) (*hdr.Histogram, error) {
	text, err := h.MarshalText()
	if err != nil {
		return nil, err
	}
	return hdr.Decode(text)
}

const hgrmTicks = 5 // for each halving of the rest to 100%, as other tools write

func writeHgrm(w io.Writer, run *runfile.Run) error {
	h, err := hdrOf(&run.Load.Latency)
	if err != nil {
		return err
	}
	_, err = h.PercentilesPrint(w, hgrmTicks, float64(time.Millisecond))
	return err
}

// A histogram log has a histogram for each interval. Lines with a tag are a run of their own. It
// has no failures and no rate. Nanoseconds are usual.
//
//	#[Histogram log format version 1.3]
//	#[StartTime: 1441812279.474 (seconds since epoch), ...]
//	Tag=NAME,START,LENGTH,MAXIMUM,HISTFAAAA...

var hlogLine = regexp.MustCompile(
	`^(?:Tag=([^,]*),)?([-+.0-9eE]+),([-+.0-9eE]+),([-+.0-9eE]+|NaN),(HIST[-A-Za-z0-9+/=]*)$`,
)

var hlogVersion = regexp.MustCompile(`^#\[Histogram log format version ([0-9]+)\.([0-9]+)`)

var hlogHead = regexp.MustCompile(`^#\[(StartTime|BaseTime): ([-+.0-9eE]+)`)

const (
	maxIntervals = 1 << 20
	year         = 365 * 24 * 3600.
)

type interval struct {
	start, length float64
	h             loadgen.Histogram
}

type histogramLog struct {
	unit       time.Duration
	start      *float64 // nil: not known yet
	base       *float64 // likewise
	tags       []string
	byTag      map[string][]interval
	n          int
	otherSizes bool
}

func readHlog(r io.Reader, o Options) ([]runfile.Run, error) {
	l := &histogramLog{unit: max(o.Unit, 1), byTag: map[string][]interval{}}
	if err := lines(r, l.line); err != nil {
		return nil, err
	}
	if l.n == 0 {
		return nil, errors.New("no interval in it: the file was cut off, or nothing was logged; make it again")
	}
	var runs []runfile.Run
	for _, tag := range l.tags {
		run := newRun(o, true)
		run.Label = cmp.Or(tag, o.Label)
		if err := l.fill(&run, l.byTag[tag]); err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

func (l *histogramLog) line(s string) error {
	switch {
	case strings.TrimSpace(s) == "" || strings.HasPrefix(s, `"StartTimestamp"`):
		return nil
	case strings.HasPrefix(s, "#"):
		return l.comment(s)
	}
	m := hlogLine.FindStringSubmatch(s)
	if m == nil {
		return fmt.Errorf("%.60q is not a line of a histogram log ([Tag=NAME,]START,LENGTH,MAXIMUM,HISTOGRAM): it was "+
			"cut off or changed; make the file again", s)
	}
	start, err1 := strconv.ParseFloat(m[2], 64)
	length, err2 := strconv.ParseFloat(m[3], 64)
	if errors.Join(err1, err2) != nil || !(math.Abs(start) < 1e11) || !(length >= 0 && length < 1e9) {
		return fmt.Errorf("an interval from %s s, %s s long: write seconds, and no negative length", m[2], m[3])
	}
	h, err := hdr.Decode([]byte(m[5]))
	if err != nil {
		todo := "the line was cut off or changed; make the file again"
		if strings.Contains(err.Error(), "only V2") {
			todo = "it is of HdrHistogram before 2.1.4; write it again with a newer one"
		}
		return fmt.Errorf("its histogram cannot be read (%w): %s", err, todo)
	}
	if l.n++; l.n > maxIntervals {
		return fmt.Errorf("over %d intervals: log longer ones", maxIntervals)
	}
	i := interval{start: start, length: length}
	recount(&i.h, h, l.unit)
	l.otherSizes = l.otherSizes || h.SignificantFigures() != 3 || l.unit != 1 || h.LowestTrackableValue() != 1000
	if _, has := l.byTag[m[1]]; !has {
		if len(l.tags) == maxRuns {
			return fmt.Errorf("over %d tags: split the log", maxRuns)
		}
		l.tags = append(l.tags, m[1])
	}
	l.byTag[m[1]] = append(l.byTag[m[1]], i)
	if l.start == nil { // as in HdrHistogram's own reader
		l.start = &start
	}
	if l.base == nil { // likewise: earlier starts count from the log's
		l.base = new(float64)
		if start < *l.start-year {
			l.base = l.start
		}
	}
	return nil
}

func (l *histogramLog) comment(s string) error {
	if m := hlogVersion.FindStringSubmatch(s); m != nil {
		if minor, err := strconv.Atoi(m[2]); err != nil || m[1] != "1" || minor > 3 {
			return fmt.Errorf("version %s.%s of the log format; 1.0 to 1.3 are read here: write it with one of "+
				"these, or update evenkeel", m[1], m[2])
		}
	}
	m := hlogHead.FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	t, err := strconv.ParseFloat(m[2], 64)
	if err != nil || !(math.Abs(t) < 1e11) {
		return fmt.Errorf("%s is %s: write seconds since 1970", m[1], m[2])
	}
	if m[1] == "StartTime" {
		l.start = &t
	} else {
		l.base = &t
	}
	return nil
}

func (l *histogramLog) fill(run *runfile.Run, all []interval) error {
	slices.SortStableFunc(all, func(a, b interval) int { return cmp.Compare(a.start, b.start) })
	load := run.Load
	end := all[0].start
	for i := range all {
		if all[i].h.Count() > math.MaxInt64-load.Answered {
			return errors.New("the counts are more than a number holds: the file was changed; make it again")
		}
		load.Latency.Merge(&all[i].h)
		load.Answered += all[i].h.Count()
		end = max(end, all[i].start+all[i].length)
	}
	load.Duration = time.Duration((end - all[0].start) * 1e9)
	if at := all[0].start + *l.base; at > year {
		load.Started = time.UnixMilli(int64(math.Round(at * 1e3))).UTC()
	}
	run.Notes = append(run.Notes, fmt.Sprintf("of %d intervals of a histogram log, whose values were taken for %v "+
		"each (-unit); it says no rate, targets or failures", len(all), l.unit))
	if l.otherSizes {
		run.Notes = append(run.Notes, "its histograms have other bounds or digits, and were counted again in buckets "+
			"of 0.1% from 1 µs to 1 h")
	}
	if load.Series = points(all); len(load.Series.Points) == 0 {
		run.Notes = append(run.Notes, fmt.Sprintf("its intervals are not all of one length, or more than %d, so "+
			"there are no figures over time", maxPoints))
	}
	return nil
}

const maxPoints = 1000 // more cannot be added

// points needs intervals of one length, within 5%, that follow each other.
func points(all []interval) loadgen.Series {
	length := all[0].length
	if length < 1e-3 {
		return loadgen.Series{}
	}
	digit := math.Pow(10, math.Floor(math.Log10(length*1.01))-1)
	s := loadgen.Series{Interval: time.Duration(math.Round(length/digit) * digit * 1e9)} // 0.999 s was meant for one
	for i := range all {
		at := (all[i].start - all[0].start) / length
		k := int(math.Round(at))
		last := i == len(all)-1 && all[i].length < length
		if k != len(s.Points) && (k < len(s.Points) || k > maxPoints) || len(s.Points) >= maxPoints ||
			math.Abs(all[i].length-length) > .05*length && !last {
			return loadgen.Series{}
		}
		for len(s.Points) < k {
			s.Points = append(s.Points, loadgen.Point{})
		}
		p := loadgen.Point{Count: all[i].h.Count()}
		if p.Count > 0 {
			text, _ := all[i].h.MarshalText() // it fails only in Write, and memory takes all
			p.Histogram = string(text)
			p.P50, p.P99, p.Max = all[i].h.Quantile(.5), all[i].h.Quantile(.99), all[i].h.Max()
		}
		s.Points = append(s.Points, p)
	}
	return s
}

func writeHlog(w io.Writer, run *runfile.Run) error {
	h, err := hdrOf(&run.Load.Latency)
	if err != nil {
		return err
	}
	from := run.Load.Started.UnixMilli()
	if run.Load.Started.IsZero() {
		from = 0
	}
	h.SetStartTimeMs(from)
	h.SetEndTimeMs(from + run.Load.Duration.Milliseconds())
	log := hdr.NewHistogramLogWriter(w)
	log.SetBaseTime(from)
	return errors.Join(log.OutputLogFormatVersion(),
		log.OutputComment("[evenkeel: values in nanoseconds, maxima in milliseconds]"),
		startTime(w, from), log.OutputLegend(), log.OutputIntervalHistogram(h))
}

// startTime writes milliseconds. The library's own lines have seconds.
func startTime(w io.Writer, ms int64) error {
	_, err := fmt.Fprintf(w, "#[StartTime: %d.%03d (seconds since epoch), %s]\n#[BaseTime: %[1]d.%03[2]d (seconds "+
		"since epoch)]\n",
		ms/1000, ms%1000, time.UnixMilli(ms).UTC().Format(time.RFC3339))
	return err
}
