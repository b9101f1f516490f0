// Package exchange reads runs from the output of other load tools and HdrHistogram, and writes a
// run's histogram for others. Notes of a run say what its format lacks. Readers take any bytes.
package exchange

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

// Format names what a file holds.
type Format string

const (
	FormatRun    Format = "run"
	FormatHgrm   Format = "hgrm"
	FormatHlog   Format = "hlog"
	FormatWrk2   Format = "wrk2"   // wrk's output too
	FormatK6     Format = "k6"     // its summary in JSON, or its points
	FormatVegeta Format = "vegeta" // its results in gob, JSON or CSV
	FormatHey    Format = "hey"
	FormatList   Format = "list"
)

const (
	maxBytes     = 1 << 30
	maxLineBytes = 4 << 20
	maxRuns      = 1000
	sniffBytes   = 64 << 10
)

type Options struct {
	Format Format // default "": found by the contents
	// of values without a unit; default 1 ms in a .hgrm, 1 ns in a histogram log, none in a list
	Unit  time.Duration
	Label string  // of the run; default the format's name
	Rate  float64 // asked for, per second; default 0: not known
}

// Read and Write handle FormatRun themselves.
type format struct {
	name    Format
	read    func(io.Reader, Options) ([]runfile.Run, error)
	write   func(io.Writer, *runfile.Run) error
	leftOut string
}

// Messages list them in this order.
var formats = []format{
	{name: FormatRun},
	{FormatHgrm, readHgrm, writeHgrm, "a .hgrm takes only some percentiles, in milliseconds, and the number of " +
		"requests, so nothing can be added to it"},
	{FormatHlog, readHlog, writeHlog, "a histogram log takes the latency in nanoseconds, whole, and the window"},
	{name: FormatWrk2, read: readWrk2},
	{name: FormatK6, read: readK6},
	{name: FormatVegeta, read: readVegeta},
	{name: FormatHey, read: readHey},
	{name: FormatList, read: readList},
}

func formatOf(name Format) format {
	for _, f := range formats {
		if f.name == name {
			return f
		}
	}
	return format{}
}

func readable() string { return listed(func(f format) bool { return f.read != nil }) }

func writable() string { return listed(func(f format) bool { return f.write != nil }) }

func listed(has func(format) bool) string {
	var names []string
	for _, f := range formats {
		if f.name == FormatRun || has(f) {
			names = append(names, string(f.name))
		}
	}
	return strings.Join(names, ", ")
}

func Read(r io.Reader, o Options) (*runfile.File, error) {
	in := bufio.NewReaderSize(&limited{r, maxBytes}, sniffBytes)
	if o.Format == "" {
		head, err := in.Peek(sniffBytes)
		if err != nil && err != io.EOF && len(head) == 0 {
			return nil, err
		}
		if o.Format = sniff(head); o.Format == "" {
			return nil, fmt.Errorf("its format is not known here (%s): say with -from which it is",
				readable())
		}
	}
	if o.Format == FormatRun {
		return runfile.Read(in)
	}
	read := formatOf(o.Format).read
	if read == nil {
		return nil, fmt.Errorf("format %q cannot be read; these can: %s", o.Format, readable())
	}
	if o.Label == "" {
		o.Label = string(o.Format)
	}
	runs, err := read(in, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Format, err)
	}
	for i := range runs {
		if runs[i].Load.Latency.Count() == 0 && runs[i].Load.Requests() == 0 {
			return nil, fmt.Errorf("%s: no request in it: measure again, or give another file", o.Format)
		}
	}
	return &runfile.File{Version: runfile.Version, Tool: runfile.Tool() + " convert", Runs: runs}, nil
}

func newRun(o Options, exact bool) runfile.Run {
	return runfile.Run{
		Label: o.Label, Repeat: 1, Load: &loadgen.Result{Rate: o.Rate, Statuses: map[int]int64{}},
		Import: &runfile.Import{Format: string(o.Format), Exact: exact},
	}
}

func Write(w io.Writer, f *runfile.File, run *runfile.Run, format Format) error {
	if format == FormatRun {
		return f.Write(w)
	}
	write := formatOf(format).write
	switch {
	case write == nil:
		return fmt.Errorf("format %q cannot be written; these can: %s", format, writable())
	case run.Load.Latency.Count() == 0:
		return errors.New("its histogram is empty: there is nothing to write")
	}
	out := bufio.NewWriter(w)
	if err := write(out, run); err != nil {
		return err
	}
	return out.Flush()
}

func sniff(head []byte) Format {
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))
	if len(text) == 0 {
		return ""
	}
	if text[0] == '{' {
		return sniffJSON(text)
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return FormatVegeta
	}
	for line := range bytes.Lines(text) {
		s := string(bytes.TrimSpace(line))
		switch {
		case s == heyHeader:
			return FormatHey
		case hgrmHeader(s):
			return FormatHgrm
		case strings.HasPrefix(s, "#[Histogram log format"), strings.HasPrefix(s, `"StartTimestamp"`),
			hlogLine.MatchString(s):
			return FormatHlog
		case strings.HasPrefix(s, "Running ") && strings.Contains(s, " test @ "):
			return FormatWrk2
		case strings.Count(s, ",") >= 11 && strings.Trim(s[:strings.Index(s, ",")], "0123456789") == "":
			return FormatVegeta
		}
	}
	if sniffList(string(text)) {
		return FormatList
	}
	return ""
}

func sniffJSON(text []byte) Format {
	has := func(name string) bool { return bytes.Contains(text, []byte(`"`+name+`"`)) }
	switch {
	case has("runs") && has("tool"):
		return FormatRun
	case has("attack") && has("latency"):
		return FormatVegeta
	case has("type") && has("metric") && has("data"), has("metrics"), has("root_group"), has("state"):
		return FormatK6
	}
	return ""
}

// limited fails past a limit, where io.LimitReader would end the file.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(b []byte) (int, error) {
	n, err := l.r.Read(b[:min(int64(len(b)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("it is over %d MB: measure for a shorter time, or convert it in parts and add them with "+
			"evenkeel merge", maxBytes>>20)
	}
	return n, err
}

func lines(r io.Reader, each func(line string) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLineBytes)
	n := 0
	for sc.Scan() {
		n++
		if err := each(strings.TrimRight(sc.Text(), "\r")); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if errors.Is(sc.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d is over %d MB: it is not in this format", n+1, maxLineBytes>>20)
	}
	return sc.Err()
}

// ok is false if the value is negative or not a number.
func duration(v float64, unit time.Duration) (d time.Duration, ok bool) {
	if !(v >= 0) || math.IsInf(v, 0) {
		return 0, false
	}
	if v *= float64(unit); v >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return time.Duration(math.Round(v)), true
}

func recount(to *loadgen.Histogram, from *hdr.Histogram, unit time.Duration) {
	for _, b := range from.Distribution() {
		if b.Count > 0 {
			d, _ := duration(float64(b.To), unit)
			to.RecordN(d, b.Count)
		}
	}
}

// fine counts known percentiles, in buckets from 1 ns on. You cannot add other results to it.
type fine struct{ h *hdr.Histogram }

func newFine() fine { return fine{hdr.New(1, int64(time.Hour), 3)} }

func (f fine) record(d time.Duration, n int64) {
	if n > 0 {
		_ = f.h.RecordValues(min(int64(d), f.h.HighestTrackableValue()), n)
	}
}

func (f fine) histogram() (h loadgen.Histogram, err error) {
	if f.h.TotalCount() == 0 {
		return h, nil
	}
	b, err := f.h.EncodeV2()
	if err == nil {
		err = h.UnmarshalText(b)
	}
	return h, err
}

type known struct {
	q float64 // 0 to 1; 1 is the maximum
	d time.Duration
}

// fill makes a histogram of n requests. What lies between two percentiles reads as the upper one.
func fill(n int64, list []known) (loadgen.Histogram, []float64, error) {
	h := newFine()
	slices.SortFunc(list, func(a, b known) int { return cmp.Compare(a.q, b.q) })
	var qs []float64
	done := int64(0)
	for i, k := range list {
		if i > 0 && k.d < list[i-1].d {
			return loadgen.Histogram{}, nil, fmt.Errorf("percentile %v is %v, below percentile %v with %v: the file "+
				"is damaged; make it again", 100*k.q, k.d, 100*list[i-1].q, list[i-1].d)
		}
		// hdrhistogram-go's rank of this quantile; the maximum keeps one for itself
		rank := min(max(int64(k.q*float64(n)+.5), 1), n)
		if k.q < 1 && list[len(list)-1].q == 1 {
			rank = min(rank, n-1)
		}
		if i == len(list)-1 {
			rank = n // above the last one everything reads as it
		}
		h.record(k.d, rank-done)
		done = max(done, rank)
		qs = append(qs, k.q)
	}
	made, err := h.histogram()
	return made, qs, err
}

// quantile returns exactly 0.999 for 99.9.
func quantile(percent float64) float64 { return math.Round(percent*1e7) / 1e9 }

func percents(qs []float64) string {
	var names []string
	for _, q := range qs {
		if q == 1 {
			names = append(names, "max")
			continue
		}
		names = append(names, "p"+strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.6f", 100*q), "0"), "."))
	}
	return strings.Join(names, ", ")
}

// LeftOut says what a written format does not take of a run.
func LeftOut(run *runfile.Run, format Format) string {
	left := formatOf(format).leftOut + "; left out are failures, statuses, rate, targets, figures over time"
	if run.Import != nil && !run.Import.Exact {
		left += "; the run was imported from " + run.Import.Format +
			", and has percentiles only, so that many of its buckets hold what belongs below them"
	}
	return left
}
