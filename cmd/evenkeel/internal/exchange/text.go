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

// wrk2 prints percentiles with -L, and below them the lines of a .hgrm in milliseconds. It does not
// say the rate that was asked for. wrk prints the first table too, without "HdrHistogram", of a
// closed loop.
//
//	Running 2s test @ http://127.0.0.1:8080/
//	  2 threads and 10 connections
//	  Latency Distribution (HdrHistogram - Recorded Latency)
//	 50.000%    1.00ms
//	  Detailed Percentile spectrum:
//	       Value   Percentile   TotalCount 1/(1-Percentile)
//	  1000 requests in 2.00s, 1.2MB read
//	  Socket errors: connect 0, read 0, write 0, timeout 3
//	  Non-2xx or 3xx responses: 5
var (
	wrkRunning  = regexp.MustCompile(`^Running \S+ test @ (\S+)`)
	wrkThreads  = regexp.MustCompile(`^\d+ threads? and (\d+) connections?$`)
	wrkPercent  = regexp.MustCompile(`^(\d+(?:\.\d+)?)% +([\d.]+)(us|ms|s|m|h)$`)
	wrkRequests = regexp.MustCompile(`^(\d+) requests in ([\d.]+)(us|ms|s|m|h), ([\d.]+)([KMGTP]?B) read$`)
	wrkErrors   = regexp.MustCompile(`^Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)$`)
	wrkNotOK    = regexp.MustCompile(`^Non-2xx or 3xx responses: (\d+)$`)
)

var wrkUnits = map[string]time.Duration{
	"us": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
	"m": time.Minute, "h": time.Hour,
}

type wrk2 struct {
	run      runfile.Run
	open     bool // latencies count from when requests were due
	answered bool
	known    []known
	table    distribution
	inTable  bool
	over     bool // latencies from sending follow (-U)
}

func readWrk2(r io.Reader, o Options) ([]runfile.Run, error) {
	p := &wrk2{run: newRun(o, false)}
	p.table.unit, p.table.h = time.Millisecond, newFine()
	if err := lines(r, p.line); err != nil {
		return nil, err
	}
	l := p.run.Load
	switch {
	case !p.answered:
		return nil, errors.New("it ends before the line of all requests (N requests in ...): it was cut off, or wrk2 " +
			"was killed; run it again")
	case p.table.started && !p.table.ended:
		return nil, errNoFooter
	case p.table.ended:
		h, err := p.table.h.histogram()
		if err != nil {
			return nil, err
		}
		l.Latency = h
		p.run.Notes = append(p.run.Notes, p.table.note())
	case len(p.known) > 0:
		h, qs, err := fill(max(l.Answered, 1), p.known)
		if err != nil {
			return nil, err
		}
		l.Latency, p.run.Import.Quantiles = h, qs
		p.run.Notes = append(p.run.Notes, "its output has only "+percents(qs)+": run wrk2 with -L for all")
	default:
		return nil, errors.New("no percentiles in it: run wrk2 with -L, which prints them")
	}
	if !p.open {
		return p.closed(o)
	}
	asked := "the rate that was asked for is not in wrk2's output: say it with -rate, or tables take this for a " +
		"closed loop"
	if o.Rate > 0 {
		asked = "the rate was said with -rate, and not by wrk2"
	}
	p.run.Notes = append(p.run.Notes, asked+"; nor when it ran, nor figures over time")
	if n := l.Latency.Count(); n != l.Answered {
		p.run.Notes = append(p.run.Notes, fmt.Sprintf("wrk2 counts %d requests, and its percentiles are of %d: those "+
			"of its calibration, 10 s, are not in them", l.Answered, n))
	}
	return []runfile.Run{p.run}, nil
}

func (p *wrk2) closed(o Options) ([]runfile.Run, error) {
	if o.Rate > 0 {
		return nil, errors.New("it is of wrk, which is a closed loop: leave out -rate")
	}
	if p.run.Import.Format = "wrk"; o.Label == string(FormatWrk2) {
		p.run.Label = "wrk"
	}
	p.run.Notes = append(p.run.Notes, "wrk is a closed loop and counts from the sending, so it sends less "+
		"while the service stalls; it does not say when it ran")
	return []runfile.Run{p.run}, nil
}

func (p *wrk2) line(s string) error {
	t := strings.TrimSpace(s)
	if p.inTable && !p.over {
		if err := p.table.line(s); err != nil {
			return err
		}
		p.inTable = !p.table.ended
		return nil
	}
	l := p.run.Load
	p.open = p.open || strings.Contains(t, "HdrHistogram")
	switch {
	case strings.Contains(t, "Uncorrected Latency"):
		p.over = true
	case strings.HasPrefix(t, "Detailed Percentile spectrum"):
		p.inTable = !p.over
	}
	if m := wrkRunning.FindStringSubmatch(t); m != nil {
		l.Targets = []string{"GET " + m[1]}
	}
	if m := wrkThreads.FindStringSubmatch(t); m != nil {
		l.Connections, _ = strconv.Atoi(m[1])
	}
	if m := wrkPercent.FindStringSubmatch(t); m != nil && !p.over {
		q, err1 := strconv.ParseFloat(m[1], 64)
		d, err2 := wrkDuration(m[2], m[3])
		if errors.Join(err1, err2) != nil || q > 100 || len(p.known) > 1000 {
			return fmt.Errorf("%.60q is not a percentile", t)
		}
		p.known = append(p.known, known{quantile(q), d})
	}
	if m := wrkRequests.FindStringSubmatch(t); m != nil {
		var err1, err2, err3 error
		l.Answered, err1 = strconv.ParseInt(m[1], 10, 64)
		l.Duration, err2 = wrkDuration(m[2], m[3])
		l.Bytes, err3 = wrkBytes(m[4], m[5])
		if err := errors.Join(err1, err2, err3); err != nil || p.answered {
			return errors.New("it is not the one line of all requests (N requests in TIME, SIZE read): give each run " +
				"as a file of its own")
		}
		p.answered = true
	}
	if m := wrkErrors.FindStringSubmatch(t); m != nil {
		for i, c := range []loadgen.Class{
			loadgen.ClassConnect, loadgen.ClassClosed, loadgen.ClassOther,
			loadgen.ClassTimeout,
		} {
			n, err := strconv.ParseInt(m[i+1], 10, 32)
			if err != nil {
				return fmt.Errorf("%.60q: %w", t, err)
			}
			if n > 0 {
				l.Failed += n
				l.Failures = append(l.Failures, loadgen.Failure{
					Class: c, Count: n,
					Example: "wrk2: " + []string{"connect", "read", "write", "timeout"}[i],
				})
			}
		}
	}
	if m := wrkNotOK.FindStringSubmatch(t); m != nil {
		p.run.Notes = append(p.run.Notes, m[1]+" answers had a status that is not 2xx or 3xx; wrk2 does not say which")
	}
	return nil
}

func wrkDuration(number, unit string) (time.Duration, error) {
	v, err := strconv.ParseFloat(number, 64)
	d, ok := duration(v, wrkUnits[unit])
	if err != nil || !ok {
		return 0, fmt.Errorf("%q is not a time", number+unit)
	}
	return d, nil
}

func wrkBytes(number, unit string) (int64, error) {
	v, err := strconv.ParseFloat(number, 64)
	for range strings.Index("BKMGTP", unit[:1]) {
		v *= 1024
	}
	if err != nil || v >= 1<<62 {
		return 0, fmt.Errorf("%q is not a size", number+unit)
	}
	return int64(v), nil
}

// A list has a latency on each line, in the unit of -unit or with its own, such as 1.5ms. Lines
// that begin with # do not count.
var listLine = regexp.MustCompile(`^[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?(ns|us|µs|ms|s|m|h)?$`)

func readList(r io.Reader, o Options) ([]runfile.Run, error) {
	run := newRun(o, true)
	l := run.Load
	err := lines(r, func(s string) error {
		s = strings.TrimSpace(s)
		if s == "" || s[0] == '#' {
			return nil
		}
		if !listLine.MatchString(s) {
			return fmt.Errorf("%.40q is not a latency: write a number, or one with its unit, such as 1.5ms", s)
		}
		v, err := strconv.ParseFloat(s, 64)
		if err == nil && o.Unit == 0 {
			return errors.New("a number without its unit: say it with -unit, such as -unit 1ms")
		}
		d, _ := duration(v, o.Unit) // listLine lets no sign through
		if err != nil {
			if d, err = time.ParseDuration(s); err != nil {
				return fmt.Errorf("%.40q is not a latency: %w", s, err)
			}
		}
		l.Answered++
		l.Latency.Record(d)
		return nil
	})
	if err != nil {
		return nil, err
	}
	run.Notes = []string{"a list of latencies says nothing but these: duration, rate, connections, failures, " +
		"statuses are not known"}
	return []runfile.Run{run}, nil
}

func sniffList(text string) bool {
	n := 0
	for line := range strings.Lines(text) {
		s := strings.TrimSpace(line)
		if s == "" || s[0] == '#' {
			continue
		}
		if !listLine.MatchString(s) {
			return n > 0 && !strings.HasSuffix(line, "\n")
		}
		n++
	}
	return n > 0
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
	run := newRun(o, true)
	l := run.Load
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
	run.Notes = []string{
		"hey's CSV has only answers. It lacks failed requests, when it ran, connections, targets, sizes",
		"hey is a closed loop and counts from the sending, so it sends less while the service stalls",
	}
	return []runfile.Run{run}, nil
}
