package exchange

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

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
