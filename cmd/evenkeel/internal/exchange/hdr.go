package exchange

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

const latestMs = 2e14 // some year past 8000, which JSON takes

// A histogram log has a histogram for each interval. Lines with a tag are a run of their own. It
// has no failures and no rate. Nanoseconds are usual.
func readHlog(r io.Reader, o Options) ([]runfile.Run, error) {
	o.Unit = max(o.Unit, 1)
	var runs []runfile.Run
	last := &lastByte{r: r}
	log := hdr.NewHistogramLogReader(&logLines{in: bufio.NewReader(last)})
	for n := 1; ; n++ {
		h, err := log.NextIntervalHistogram()
		if err != nil {
			return nil, fmt.Errorf("interval %d cannot be read (%w): the log was cut off or changed, or is of "+
				"HdrHistogram before 2.1.4; make it again with a newer one", n, err)
		}
		if h == nil {
			break
		}
		label := cmp.Or(h.Tag(), o.Label)
		i := slices.IndexFunc(runs, func(r runfile.Run) bool { return r.Label == label })
		if i < 0 {
			if i = len(runs); i == maxRuns {
				return nil, fmt.Errorf("over %d tags: split the log", maxRuns)
			}
			run := newRun(o)
			run.Label = label
			run.Notes = []string{fmt.Sprintf("of a histogram log, whose values were taken for %v each (-unit), and "+
				"counted again in buckets of 0.1%%; it says no rate, targets or failures", o.Unit)}
			runs = append(runs, run)
		}
		if err := addInterval(runs[i].Load, h, o.Unit); err != nil {
			return nil, fmt.Errorf("interval %d: %w", n, err)
		}
	}
	switch {
	case len(runs) == 0:
		return nil, errors.New("no interval in it: the file was cut off, or nothing was logged; make it again")
	case last.b != '\n':
		return nil, errors.New("its last line has no end: the log was cut off; make it again, or remove this line")
	}
	for i := range runs {
		if l := runs[i].Load; l.Started.Year() == 1970 { // the log does not say when it began
			l.Started = time.Time{}
		}
	}
	return runs, nil
}

// logLines fails at a line that HdrHistogram's reader would skip, because its counts would be lost.
type logLines struct {
	in   *bufio.Reader
	n    int
	rest []byte
}

var logLine = regexp.MustCompile(
	`^(#.*|"StartTimestamp".*|(Tag=[^,]*,)?[\d.]+,[\d.]+,[\d.]+,HIST[-A-Za-z0-9+/=]*)?\s*$`,
)

func (l *logLines) Read(b []byte) (int, error) {
	if len(l.rest) == 0 {
		line, err := l.in.ReadBytes('\n')
		if len(line) == 0 {
			return 0, err
		}
		if l.n++; !logLine.Match(line) {
			return 0, fmt.Errorf("line %d is not [Tag=NAME,]START,LENGTH,MAXIMUM,HISTOGRAM", l.n)
		}
		l.rest = line
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func addInterval(l *loadgen.Result, h *hdr.Histogram, unit time.Duration) error {
	from, to := h.StartTimeMs(), h.EndTimeMs()
	switch {
	case from < 0 || to < from || to > latestMs:
		return fmt.Errorf("from %d to %d ms since 1970: the file was changed; make it again", from, to)
	case h.TotalCount() < 0 || h.TotalCount() > math.MaxInt64-l.Answered:
		return errors.New("the counts are more than a number holds: the file was changed; make it again")
	}
	if !l.Started.IsZero() {
		from = min(from, l.Started.UnixMilli())
		to = max(to, l.Started.Add(l.Duration).UnixMilli())
	}
	l.Started, l.Duration = time.UnixMilli(from).UTC(), time.UnixMilli(to).Sub(time.UnixMilli(from))
	for _, b := range h.Distribution() {
		d, _ := duration(float64(b.To), unit)
		l.Latency.RecordN(d, b.Count)
	}
	l.Answered = l.Latency.Count()
	return nil
}

func writeHlog(w io.Writer, run *runfile.Run) error {
	text, err := run.Load.Latency.MarshalText()
	if err != nil {
		return err
	}
	h, err := hdr.Decode(text)
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
	return errors.Join(log.OutputLogFormatVersion(),
		log.OutputComment("[evenkeel: values in nanoseconds, maxima in milliseconds]"),
		log.OutputStartTime(from), log.OutputLegend(), log.OutputIntervalHistogram(h))
}
