package exchange

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

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
