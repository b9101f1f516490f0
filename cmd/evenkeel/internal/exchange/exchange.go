// Package exchange reads runs from the results of other load tools and HdrHistogram, and writes a
// run's histogram for others. Notes of a run say what its format lacks. Readers take any bytes.
//
// It reads what has each request's latency. Percentiles alone cannot be added, drawn or judged.
package exchange

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

// Format names what a file holds.
type Format string

const (
	FormatRun    Format = "run"
	FormatHlog   Format = "hlog"
	FormatVegeta Format = "vegeta" // its results in gob or JSON
	FormatK6     Format = "k6"     // its points in JSON
	FormatHey    Format = "hey"    // its CSV
	FormatList   Format = "list"
)

const (
	maxBytes   = 1 << 30
	maxRuns    = 1000
	sniffBytes = 64 << 10
)

type Options struct {
	Format Format        // default "": found by the contents
	Unit   time.Duration // of values without a unit; default 1 ns in a histogram log, none in a list
	Label  string        // of the run; default the format's name
	Rate   float64       // asked for, per second; default 0: not known
}

type format struct {
	name Format
	read func(io.Reader, Options) ([]runfile.Run, error)
}

// Messages list them in this order.
var formats = []format{
	{FormatRun, nil}, // Read does that itself
	{FormatHlog, readHlog},
	{FormatVegeta, readVegeta},
	{FormatK6, readK6},
	{FormatHey, readHey},
	{FormatList, readList},
}

func readable() string {
	var names []string
	for _, f := range formats {
		names = append(names, string(f.name))
	}
	return strings.Join(names, ", ")
}

func Read(r io.Reader, o Options) (*runfile.File, error) {
	in := bufio.NewReaderSize(http.MaxBytesReader(nil, io.NopCloser(r), maxBytes), sniffBytes)
	if o.Format == "" {
		head, err := in.Peek(sniffBytes)
		if err != nil && err != io.EOF && len(head) == 0 {
			return nil, err
		}
		if o.Format = sniff(head); o.Format == "" {
			return nil, fmt.Errorf("its format is not known here (%s): say with -from which it is; percentiles alone, "+
				"as wrk2 prints them, are not read", readable())
		}
	}
	if o.Format == FormatRun {
		return runfile.Read(in)
	}
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == o.Format })
	if i < 0 {
		return nil, fmt.Errorf("format %q cannot be read; these can: %s", o.Format, readable())
	}
	if o.Label == "" {
		o.Label = string(o.Format)
	}
	runs, err := formats[i].read(in, o)
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		err = fmt.Errorf("it is over %d MB: measure for a shorter time, or convert it in parts and add them with "+
			"evenkeel merge", maxBytes>>20)
	}
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

func newRun(o Options) runfile.Run {
	return runfile.Run{
		Label: o.Label, Repeat: 1, Import: string(o.Format),
		Load: &loadgen.Result{Rate: o.Rate, Statuses: map[int]int64{}},
	}
}

func Write(w io.Writer, f *runfile.File, run *runfile.Run, format Format) error {
	switch {
	case format == FormatRun:
		return f.Write(w)
	case format != FormatHlog:
		return fmt.Errorf("format %q cannot be written; these can: %s, %s", format, FormatRun, FormatHlog)
	case run.Load.Latency.Count() == 0:
		return errors.New("its histogram is empty: there is nothing to write")
	}
	return writeHlog(w, run)
}

// LeftOut says what a histogram log does not take of a run.
const LeftOut = "a histogram log takes the latency in nanoseconds, whole, and the window; left out are failures, " +
	"statuses, rate, targets, figures over time"

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
		case strings.HasPrefix(s, "#[Histogram log format"), strings.HasPrefix(s, `"StartTimestamp"`):
			return FormatHlog
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
	case has("type") && has("metric") && has("data"):
		return FormatK6
	}
	return ""
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
