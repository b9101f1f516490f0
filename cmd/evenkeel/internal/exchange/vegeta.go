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

// vegeta attack writes gob. vegeta encode makes JSON, an object a line, or CSV of twelve columns.

// gob and JSON find the fields by name.
type vegetaResult struct {
	Code      uint16        `json:"code"`
	Timestamp time.Time     `json:"timestamp"`
	Latency   time.Duration `json:"latency"`
	BytesIn   uint64        `json:"bytes_in"`
	Error     string        `json:"error"`
	Method    string        `json:"method"`
	URL       string        `json:"url"`
}

const maxTargets = 20

func readVegeta(r io.Reader, o Options) ([]runfile.Run, error) {
	in := bufio.NewReaderSize(r, sniffBytes)
	head, _ := in.Peek(sniffBytes)
	var next func() (vegetaResult, error)
	switch {
	case strings.HasPrefix(strings.TrimLeft(string(head), " \r\n\t"), "{"):
		d := json.NewDecoder(in)
		next = func() (v vegetaResult, err error) { return v, d.Decode(&v) }
	case slices.Contains(head, 0):
		d := gob.NewDecoder(in)
		next = func() (v vegetaResult, err error) { return v, d.Decode(&v) }
	default:
		next = vegetaCSV(in)
	}
	v := vegeta{run: newRun(o, true)}
	remedy := "copy the file again, or keep what vegeta encode makes of its whole part"
	err := v.read("result", remedy, func() error {
		result, err := next()
		if err != nil {
			return err
		}
		return v.add(result)
	})
	if err != nil {
		return nil, err
	}
	v.end()
	return []runfile.Run{v.run}, nil
}

// vegetaCSV reads time, status, latency, bytes out, bytes in, error, body, attack, number, method,
// URL, header.
func vegetaCSV(r io.Reader) func() (vegetaResult, error) {
	last := &lastByte{r: r}
	d := csv.NewReader(last)
	d.FieldsPerRecord, d.TrimLeadingSpace, d.ReuseRecord = 12, true, true
	return func() (v vegetaResult, err error) {
		f, err := d.Read()
		if err == io.EOF && last.b != '\n' || errors.Is(err, csv.ErrFieldCount) {
			return v, io.ErrUnexpectedEOF
		}
		if err != nil {
			return v, err
		}
		at, err1 := strconv.ParseInt(f[0], 10, 64)
		code, err2 := strconv.ParseUint(f[1], 10, 16)
		latency, err3 := strconv.ParseInt(f[2], 10, 64)
		in, err4 := strconv.ParseUint(f[4], 10, 64)
		return vegetaResult{uint16(code), time.Unix(0, at), time.Duration(latency), in, f[5], f[9], f[10]},
			errors.Join(err1, err2, err3, err4)
	}
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

type vegeta struct {
	run  runfile.Run
	last time.Time
	sent time.Time
}

func (v *vegeta) add(r vegetaResult) error {
	l := v.run.Load
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
	if r.Timestamp.After(v.sent) {
		v.sent = r.Timestamp
	}
	if end := r.Timestamp.Add(r.Latency); end.After(v.last) {
		v.last = end
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
	class := vegetaClass(r.Error)
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

// read takes results one by one. remedy is for a file that was cut off.
func (v *vegeta) read(what, remedy string, one func() error) error {
	for n := 1; ; n++ {
		err := one()
		if err == io.EOF {
			break
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it was cut off: " + remedy)
		}
		if err != nil {
			return fmt.Errorf("%s %d: %w", what, n, err)
		}
	}
	l := v.run.Load
	if d := v.last.Sub(l.Started); d.Seconds() > year {
		return fmt.Errorf("from the first request to the last answer it is %v: results of different attacks, or the "+
			"file was changed; give those of one", d)
	}
	slices.SortFunc(l.Targets, strings.Compare) // they come in the order of the answers
	l.Duration = v.last.Sub(l.Started)
	return nil
}

func (v *vegeta) end() {
	l := v.run.Load
	rate := "the rate is that of -rate, not vegeta's"
	if l.Rate == 0 {
		rate = "the rate is that of sending, because vegeta does not say what was asked for (use -rate)"
		if d := v.sent.Sub(l.Started); d > 0 {
			l.Rate = float64(l.Requests()-1) / d.Seconds()
		}
	}
	v.run.Notes = append(v.run.Notes,
		"vegeta's latency counts from the sending, without the wait for a free worker; of the failures it includes "+
			"only timeouts, as evenkeel does",
		rate+"; connections and timeout are not known, and figures over time are left out")
}

func vegetaClass(text string) loadgen.Class {
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
		if strings.Contains(text, c.part) {
			return c.class
		}
	}
	return loadgen.ClassOther
}
