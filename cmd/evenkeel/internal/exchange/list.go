package exchange

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

// A list has a latency on each line, as a number in the unit of -unit or with its unit, such as
// 1.5ms. Empty lines and those that begin with # do not count.
var listLine = regexp.MustCompile(`^[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?(ns|us|µs|ms|s|m|h)?$`)

func readList(r io.Reader, o Options) ([]runfile.Run, error) {
	l := &loadgen.Result{Rate: o.Rate}
	err := lines(r, func(s string) error {
		s = strings.TrimSpace(s)
		if s == "" || s[0] == '#' {
			return nil
		}
		if !listLine.MatchString(s) {
			return fmt.Errorf("%.40q is no latency: write a number, or one with its unit, such as 1.5ms", s)
		}
		var d time.Duration
		v, err := strconv.ParseFloat(s, 64)
		if ok := false; err == nil {
			if o.Unit == 0 {
				return errors.New("a number without its unit: say it with -unit, such as -unit 1ms")
			}
			if d, ok = duration(v, o.Unit); !ok {
				return fmt.Errorf("%.40q is no latency", s)
			}
		} else if d, err = time.ParseDuration(s); err != nil {
			return fmt.Errorf("%.40q is no latency: %w", s, err)
		}
		l.Answered++
		l.Latency.Record(d)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []runfile.Run{{
		Label: o.Label, Load: l, Import: &runfile.Import{Format: string(FormatList), Exact: true},
		Notes: []string{"a list of latencies says nothing but these: duration, rate, connections, failures, statuses " +
			"are not known"},
	}}, nil
}

// sniffList reports whether all whole lines of a file's beginning are latencies.
func sniffList(text string) bool {
	n := 0
	for line := range strings.Lines(text) {
		s := strings.TrimSpace(line)
		if s == "" || s[0] == '#' {
			continue
		}
		if !listLine.MatchString(s) {
			return n > 0 && !strings.HasSuffix(line, "\n") // the last one may be cut
		}
		n++
	}
	return n > 0
}

// ab -g writes a line for each answer, sorted by latency. It has the start in seconds since 1970,
// and the times of connecting, processing, all, and waiting for the first byte in milliseconds.
//
//	starttime	seconds	ctime	dtime	ttime	wait
//	Sun Nov 22 10:00:00 2026	1795255200	0	2	2	2
const abHeader = "starttime\tseconds\tctime\tdtime\tttime\twait"

func readAB(r io.Reader, o Options) ([]runfile.Run, error) {
	if o.Rate > 0 {
		return nil, errors.New("ab is a closed loop: leave out -rate")
	}
	l := &loadgen.Result{}
	var end time.Time
	begun := false
	err := lines(r, func(s string) error {
		if !begun {
			if begun = s == abHeader; !begun {
				return fmt.Errorf("%.60q is not the header that ab -g writes", s)
			}
			return nil
		}
		f := strings.Split(s, "\t")
		if len(f) != 6 {
			return fmt.Errorf("%d columns in place of 6: it was cut off; write it again with ab -g", len(f))
		}
		seconds, err1 := strconv.ParseInt(f[1], 10, 64)
		took, err2 := strconv.ParseInt(f[4], 10, 64)
		if errors.Join(err1, err2) != nil || seconds < 0 || seconds > 1<<33 || took < 0 || took > int64(year*1000) {
			return fmt.Errorf("%.60q: the file was changed; write it again", s)
		}
		sent, latency := time.Unix(seconds, 0).UTC(), time.Duration(took)*time.Millisecond
		if l.Answered == 0 || sent.Before(l.Started) {
			l.Started = sent
		}
		if sent.Add(latency).After(end) {
			end = sent.Add(latency)
		}
		l.Answered++
		l.Latency.Record(latency)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if end.Sub(l.Started) > time.Duration(year*1e9) {
		return nil, errors.New("over a year lies between the first request and the last answer: " +
			"give the file of one run")
	}
	l.Duration = end.Sub(l.Started)
	return []runfile.Run{{
		Label: o.Label, Load: l, Import: &runfile.Import{Format: string(FormatAB), Exact: true},
		Notes: []string{
			"ab -g has the answers alone, in whole milliseconds, and when each began in whole seconds: so is the " +
				"duration; statuses, failures, connections, targets, sizes are not in it",
			"ab's latency counts from the dialling, in a closed loop: a service that stalls is sent less meanwhile",
		},
	}}, nil
}

// hey -o csv writes a line for each answer, with times in seconds. offset is when it was sent. It
// has no failed requests and no date.
//
//	response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset
//	0.0021,0.0004,0.0000,0.0000,0.0016,0.0001,200,0.0003
const heyHeader = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset"

func readHey(r io.Reader, o Options) ([]runfile.Run, error) {
	if o.Rate > 0 {
		return nil, errors.New("hey is a closed loop, also with -q: leave out -rate")
	}
	last := &lastByte{r: r}
	d := csv.NewReader(last)
	d.FieldsPerRecord, d.ReuseRecord = 8, true
	if head, err := d.Read(); err != nil || strings.Join(head, ",") != heyHeader {
		return nil, fmt.Errorf("its first line is not %q: write it again with hey -o csv", heyHeader)
	}
	l := &loadgen.Result{Statuses: map[int]int64{}}
	for n := 2; ; n++ {
		f, err := d.Read()
		if err == io.EOF && last.b == '\n' {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: it was cut off or changed: write it again with hey -o csv", n)
		}
		took, err1 := strconv.ParseFloat(f[0], 64)
		status, err2 := strconv.Atoi(f[6])
		offset, err3 := strconv.ParseFloat(f[7], 64)
		latency, ok1 := duration(took, time.Second)
		sent, ok2 := duration(offset, time.Second)
		if errors.Join(err1, err2, err3) != nil || !ok1 || !ok2 || status < 100 || status > 999 || took > year ||
			offset > year {
			return nil, fmt.Errorf("line %d: %s s with status %s, sent after %s s: the file was changed; write it "+
				"again", n, f[0], f[6], f[7])
		}
		l.Answered++
		l.Statuses[status]++
		l.Latency.Record(latency)
		l.Duration = max(l.Duration, sent+latency)
	}
	return []runfile.Run{{
		Label: o.Label, Load: l, Import: &runfile.Import{Format: string(FormatHey), Exact: true},
		Notes: []string{
			"hey's CSV has the answers alone: requests that failed are not in it, nor when it ran, connections, " +
				"targets, sizes",
			"hey's latency counts from the sending, in a closed loop: a service that stalls is sent less meanwhile",
		},
	}}, nil
}

// writeCSV writes each bucket in use with its longest latency, its count, the count up to it, and
// the share of that.
func writeCSV(w io.Writer, run *runfile.Run) error {
	if _, err := fmt.Fprintln(w, "latency_ns,count,cumulative,quantile"); err != nil {
		return err
	}
	sum, total := int64(0), run.Load.Latency.Count()
	for d, n := range run.Load.Latency.All() {
		sum += n
		if _, err := fmt.Fprintf(w, "%d,%d,%d,%.9g\n", int64(d), n, sum, float64(sum)/float64(total)); err != nil {
			return err
		}
	}
	return nil
}
