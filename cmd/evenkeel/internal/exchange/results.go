package exchange

import (
	"bufio"
	"encoding/csv"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

// result is one request. vegeta's gob and JSON find the fields by name.
type result struct {
	Code      uint16        `json:"code"` // 0: no answer
	Timestamp time.Time     `json:"timestamp"`
	Latency   time.Duration `json:"latency"`
	BytesIn   uint64        `json:"bytes_in"`
	Error     string        `json:"error"`
	Method    string        `json:"method"`
	URL       string        `json:"url"`
}

const (
	maxTargets = 20
	maxWindow  = 365 * 24 * time.Hour
)

// results adds up requests, in any order.
type results struct {
	run  runfile.Run
	sent time.Time // the last request
	last time.Time // the last answer
}

// read calls next until io.EOF. remedy is for a file that was cut off. next returns nil for what is
// not a request.
func (s *results) read(remedy string, next func() (*result, error)) error {
	l := s.run.Load
	for n := 1; ; n++ {
		r, err := next()
		if err == io.EOF {
			break
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it was cut off: " + remedy)
		}
		if err == nil && r != nil {
			err = s.add(r)
		}
		if err != nil {
			return fmt.Errorf("result %d: %w", n, err)
		}
	}
	slices.Sort(l.Targets) // they come in the order of the answers
	l.Duration = s.last.Sub(l.Started)
	if l.Duration > maxWindow {
		return fmt.Errorf("from the first request to the last answer it is %v: results of different attacks, or the "+
			"file was changed; give those of one", l.Duration)
	}
	return nil
}

func (s *results) add(r *result) error {
	l := s.run.Load
	switch y := r.Timestamp.Year(); {
	case r.Latency < 0:
		return fmt.Errorf("a latency of %v: the file was changed; make it again", r.Latency)
	case y < 1970 || y > 2260:
		return fmt.Errorf("sent at %v, which is impossible: the file was changed, or is not this one's", r.Timestamp)
	case r.BytesIn > math.MaxInt64/2-uint64(l.Bytes):
		return fmt.Errorf("%d bytes: the file was changed; make it again", r.BytesIn)
	case r.Code > 0 && (r.Code < 100 || r.Code > 999):
		return fmt.Errorf("status %d: there are those from 100 to 999, and 0 without an answer", r.Code)
	}
	if l.Started.IsZero() || r.Timestamp.Before(l.Started) {
		l.Started = r.Timestamp.UTC()
	}
	if r.Timestamp.After(s.sent) {
		s.sent = r.Timestamp
	}
	if end := r.Timestamp.Add(r.Latency); end.After(s.last) {
		s.last = end
	}
	l.Bytes += int64(r.BytesIn)
	target := r.Method + " " + r.URL
	switch {
	case r.URL == "" || slices.Contains(l.Targets, target):
	case len(l.Targets) < maxTargets:
		l.Targets = append(l.Targets, target)
	case len(l.Targets) == maxTargets:
		l.Targets = append(l.Targets, "...")
	}
	if r.Code > 0 {
		l.Answered++
		l.Statuses[int(r.Code)]++
		l.Latency.Record(r.Latency)
		return nil
	}
	class := classOf(r.Error)
	l.Failed++
	i := slices.IndexFunc(l.Failures, func(f loadgen.Failure) bool { return f.Class == class })
	if i < 0 {
		i = len(l.Failures)
		l.Failures = append(l.Failures, loadgen.Failure{Class: class, Example: r.Error})
	}
	l.Failures[i].Count++
	if class == loadgen.ClassTimeout { // as evenkeel itself counts failures
		l.Latency.Record(r.Latency)
	}
	return nil
}

func classOf(failure string) loadgen.Class {
	for _, c := range []struct {
		part  string
		class loadgen.Class
	}{
		{"no such host", loadgen.ClassDNS},
		{"Client.Timeout", loadgen.ClassTimeout},
		{"deadline exceeded", loadgen.ClassTimeout},
		{"i/o timeout", loadgen.ClassTimeout},
		{"connection refused", loadgen.ClassRefused},
		{"tls: ", loadgen.ClassTLS},
		{"x509: ", loadgen.ClassTLS},
		{"connection reset", loadgen.ClassReset},
		{"broken pipe", loadgen.ClassReset},
		{"EOF", loadgen.ClassClosed},
		{"malformed HTTP", loadgen.ClassProtocol},
		{"dial tcp", loadgen.ClassConnect},
	} {
		if strings.Contains(failure, c.part) {
			return c.class
		}
	}
	return loadgen.ClassOther
}

// vegeta attack writes gob. vegeta encode makes JSON, an object a line.
func readVegeta(r io.Reader, o Options) ([]runfile.Run, error) {
	in := bufio.NewReaderSize(r, sniffBytes)
	head, _ := in.Peek(sniffBytes)
	decode := gob.NewDecoder(in).Decode
	if strings.HasPrefix(strings.TrimSpace(string(head)), "{") {
		decode = json.NewDecoder(in).Decode
	}
	s := results{run: newRun(o)}
	err := s.read("copy the file again, or keep what vegeta encode makes of its whole part", func() (*result, error) {
		r := new(result)
		return r, decode(r)
	})
	if err != nil {
		return nil, err
	}
	rate := "the rate is that of -rate, not vegeta's"
	if l := s.run.Load; l.Rate == 0 {
		rate = "the rate is that of sending, because vegeta does not say what was asked for (use -rate)"
		if d := s.sent.Sub(l.Started); d > 0 {
			l.Rate = float64(l.Requests()-1) / d.Seconds()
		}
	}
	s.run.Notes = []string{
		"vegeta's latency counts from the sending, without the wait for a free worker; of the failures it includes " +
			"only timeouts, as evenkeel does",
		rate + "; connections and timeout are not known, and figures over time are left out",
	}
	return []runfile.Run{s.run}, nil
}

// k6 run --out json writes a line for each measurement. Those of http_req_duration are the
// requests, with their end and duration in milliseconds. The status is 0 without an answer.
//
//	{"type":"Point","metric":"http_req_duration","data":{"time":"...","value":1.2,
//	 "tags":{"status":"200","method":"GET","url":"..."}}}
type k6Point struct {
	Type   string `json:"type"`
	Metric string `json:"metric"`
	Data   struct {
		Time  time.Time         `json:"time"`
		Value float64           `json:"value"`
		Tags  map[string]string `json:"tags"`
	} `json:"data"`
}

func readK6(r io.Reader, o Options) ([]runfile.Run, error) {
	d := json.NewDecoder(r)
	s := results{run: newRun(o)}
	err := s.read("write it again with k6 run --out json=FILE", func() (*result, error) {
		var p k6Point
		if err := d.Decode(&p); err != nil || p.Type != "Point" || p.Metric != "http_req_duration" {
			return nil, err
		}
		took, ok := duration(p.Data.Value, time.Millisecond)
		status, err := strconv.ParseUint(p.Data.Tags["status"], 10, 16)
		if !ok || err != nil {
			return nil, fmt.Errorf("%v ms with status %q: the file was changed; write it again", p.Data.Value,
				p.Data.Tags["status"])
		}
		failed := p.Data.Tags["error"]
		if status == 0 && failed == "" {
			failed = "k6 does not say why"
		}
		return &result{
			Code: uint16(status), Timestamp: p.Data.Time.Add(-took), Latency: took, Error: failed,
			Method: p.Data.Tags["method"], URL: p.Data.Tags["url"],
		}, nil
	})
	if err != nil {
		return nil, err
	}
	s.run.Notes = []string{
		"k6's http_req_duration counts from the sending, without dialling; failures but timeouts are not in it, as " +
			"evenkeel counts them",
		"k6's points say no rate, connections or sizes; figures over time are left out",
	}
	return []runfile.Run{s.run}, nil
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
	s := results{run: newRun(o)}
	err := s.read("write it again with hey -o csv", func() (*result, error) {
		f, err := d.Read()
		switch {
		case err == io.EOF && last.b != '\n', errors.Is(err, csv.ErrFieldCount):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		took, err1 := strconv.ParseFloat(f[0], 64)
		status, err2 := strconv.ParseUint(f[6], 10, 16)
		offset, err3 := strconv.ParseFloat(f[7], 64)
		latency, ok1 := duration(took, time.Second)
		sent, ok2 := duration(offset, time.Second)
		if errors.Join(err1, err2, err3) != nil || !ok1 || !ok2 || status == 0 {
			return nil, fmt.Errorf("%s s with status %s, sent after %s s: the file was changed; write it again", f[0],
				f[6], f[7])
		}
		return &result{Code: uint16(status), Timestamp: time.Unix(0, 0).UTC().Add(sent), Latency: latency}, nil
	})
	if err != nil {
		return nil, err
	}
	s.run.Load.Started = time.Time{}
	s.run.Notes = []string{
		"hey's CSV has only answers. It lacks failed requests, when it ran, connections, targets, sizes",
		"hey is a closed loop and counts from the sending, so it sends less while the service stalls",
	}
	return []runfile.Run{s.run}, nil
}

// lastByte detects a cut in the last column, after which a line looks whole.
type lastByte struct {
	r io.Reader
	b byte
}

func (l *lastByte) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	if n > 0 {
		l.b = b[n-1]
	}
	return n, err
}
