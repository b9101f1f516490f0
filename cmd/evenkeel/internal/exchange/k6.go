package exchange

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

// k6's summary, of --summary-export or handleSummary, has a few percentiles of each metric, in
// milliseconds. --summary-trend-stats chooses them. Only handleSummary's form has a map "values".
//
//	{"metrics": {"http_req_duration": {"med": 1.2, "p(90)": 3.4, "max": 9, ...},
//	 "http_reqs": {"count": 100, "rate": 50}, ...}}

type k6Metric map[string]any

// number returns 0 for a missing one.
func (m k6Metric) number(name string) (float64, error) {
	v, is := m[name].(float64)
	if !is && m[name] != nil {
		return 0, fmt.Errorf("%s is %.40v: a number was expected", name, m[name])
	}
	return v, nil
}

func (m k6Metric) count(name string) (int64, error) {
	v, err := m.number(name)
	if err == nil && !(v >= 0 && v < 1<<53) {
		err = fmt.Errorf("%s is %v: a count was expected", name, v)
	}
	return int64(v), err
}

func readK6(r io.Reader, o Options) ([]runfile.Run, error) {
	var f struct {
		Metrics map[string]k6Metric `json:"metrics"`
	}
	in := bufio.NewReaderSize(r, sniffBytes)
	head, _ := in.Peek(sniffBytes)
	d := json.NewDecoder(in)
	if first, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n")); bytes.Contains(first, []byte(`"metric"`)) &&
		bytes.Contains(first, []byte(`"type"`)) {
		return readK6Points(d, o)
	}
	if err := d.Decode(&f); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, errors.New("it was cut off: write it again with k6 run --summary-export FILE")
		}
		return nil, fmt.Errorf("no summary of k6's (%w): write it with k6 run --summary-export FILE", err)
	}
	for name, m := range f.Metrics {
		if values, nested := m["values"].(map[string]any); nested {
			f.Metrics[name] = values
		}
	}
	latency := f.Metrics["http_req_duration"]
	if latency == nil {
		return nil, errors.New("no metric http_req_duration in it: only HTTP requests are read here")
	}
	run := newRun(o, false)
	l := run.Load
	if err := k6Load(l, f.Metrics); err != nil {
		return nil, err
	}
	list, err := k6Known(latency)
	if err != nil {
		return nil, err
	}
	h, qs, err := fill(l.Requests(), list)
	if err != nil {
		return nil, err
	}
	l.Latency, run.Import.Quantiles = h, qs
	run.Notes = []string{
		"k6's summary has only " + percents(qs) + ", interpolated between requests, and results cannot be added to " +
			"it: ask k6 for more with --summary-trend-stats 'med,p(90),p(99),p(99.9),max'",
		"k6's http_req_duration counts from the sending, without dialling; the summary does not say when it ran, " +
			"what was asked for, targets, or figures over time",
	}
	return []runfile.Run{run}, nil
}

func k6Load(l *loadgen.Result, metrics map[string]k6Metric) (err error) {
	count := func(metric, name string) int64 {
		n, countErr := metrics[metric].count(name)
		if countErr != nil {
			err = cmp.Or(err, fmt.Errorf("%s: %w", metric, countErr))
		}
		return n
	}
	requests, users := count("http_reqs", "count"), count("vus_max", "value")
	l.Failed = count("http_req_failed", "passes") // passes are the failed requests
	l.Bytes = count("data_received", "count")
	rate, rateErr := metrics["http_reqs"].number("rate")
	switch {
	case err != nil:
		return err
	case requests == 0:
		return errors.New("http_reqs has no count: no request was sent, or it is not a summary of k6")
	case rateErr != nil:
		return fmt.Errorf("http_reqs: %w", rateErr)
	case l.Failed > requests:
		return fmt.Errorf("%d of %d requests failed: the file was changed; make it again", l.Failed, requests)
	}
	if d, ok := duration(float64(requests)/rate, time.Second); ok && rate > 0 {
		l.Duration = d
	}
	l.Answered, l.Connections = requests-l.Failed, int(min(users, loadgen.MaxConnections))
	if l.Failed > 0 {
		l.Failures = []loadgen.Failure{{
			Class: loadgen.ClassOther, Count: l.Failed,
			Example: "k6 does not tell what was not answered from what was answered with a status of 4xx or 5xx",
		}}
	}
	return nil
}

var k6Percentile = regexp.MustCompile(`^p\((\d+(?:\.\d+)?)\)$`)

func k6Known(m k6Metric) ([]known, error) {
	var list []known
	for name := range m {
		q := 0.
		switch p := k6Percentile.FindStringSubmatch(name); {
		case name == "med":
			q = .5
		case name == "max":
			q = 1
		case p != nil:
			v, err := strconv.ParseFloat(p[1], 64)
			if err != nil || v > 100 {
				return nil, fmt.Errorf("http_req_duration has %s, which is not a percentile", name)
			}
			q = quantile(v)
		default:
			continue
		}
		v, err := m.number(name)
		if err != nil {
			return nil, fmt.Errorf("http_req_duration: %w", err)
		}
		d, ok := duration(v, time.Millisecond)
		if !ok {
			return nil, fmt.Errorf("http_req_duration: %s is %v ms: the file was changed; make it again", name, v)
		}
		list = append(list, known{q, d})
	}
	if len(list) == 0 {
		return nil, errors.New("http_req_duration has no percentile: give k6 --summary-trend-stats " +
			"'med,p(90),p(99),max'")
	}
	return list, nil
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

func readK6Points(d *json.Decoder, o Options) ([]runfile.Run, error) {
	v := vegeta{run: newRun(o, true)}
	err := v.read("line", "write it again with k6 run --out json=FILE", func() error {
		var p k6Point
		if err := d.Decode(&p); err != nil {
			return err
		}
		if p.Type != "Point" || p.Metric != "http_req_duration" {
			return nil
		}
		took, ok := duration(p.Data.Value, time.Millisecond)
		status, err := strconv.ParseUint(p.Data.Tags["status"], 10, 16)
		if !ok || err != nil {
			return fmt.Errorf("%v ms with status %q: the file was changed; write it again", p.Data.Value,
				p.Data.Tags["status"])
		}
		failed := p.Data.Tags["error"]
		if status == 0 && failed == "" {
			failed = "k6 does not say why"
		}
		return v.add(vegetaResult{
			Code: uint16(status), Timestamp: p.Data.Time.Add(-took), Latency: took, Error: failed,
			Method: p.Data.Tags["method"], URL: p.Data.Tags["url"],
		})
	})
	if err != nil {
		return nil, err
	}
	v.run.Notes = []string{
		"k6's http_req_duration counts from the sending, without dialling; failures but timeouts are not in it, as " +
			"evenkeel counts them",
		"k6's points say no rate, connections or sizes; figures over time are left out",
	}
	return []runfile.Run{v.run}, nil
}
