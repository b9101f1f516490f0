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
			return fmt.Errorf("%.40q is not a latency: write a number, or one with its unit, such as 1.5ms", s)
		}
		var d time.Duration
		v, err := strconv.ParseFloat(s, 64)
		if ok := false; err == nil {
			if o.Unit == 0 {
				return errors.New("a number without its unit: say it with -unit, such as -unit 1ms")
			}
			if d, ok = duration(v, o.Unit); !ok {
				return fmt.Errorf("%.40q is not a latency", s)
			}
		} else if d, err = time.ParseDuration(s); err != nil {
			return fmt.Errorf("%.40q is not a latency: %w", s, err)
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
			"hey's CSV has answers alone. It lacks failed requests, when it ran, connections, " +
				"targets, sizes",
			"hey is a closed loop and counts from the sending, so it sends less while the service stalls",
		},
	}}, nil
}
