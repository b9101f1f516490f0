package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

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
	v := vegeta{run: runfile.Run{
		Label: o.Label, Load: &loadgen.Result{Rate: o.Rate},
		Import: &runfile.Import{Format: string(FormatK6), Exact: true},
	}}
	for n := 1; ; n++ {
		var p k6Point
		err := d.Decode(&p)
		if err == io.EOF {
			break
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("line %d: it was cut off: write it again with k6 run --out json=FILE", n)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if p.Type != "Point" || p.Metric != "http_req_duration" {
			continue
		}
		took, ok := duration(p.Data.Value, time.Millisecond)
		status, err := strconv.ParseUint(p.Data.Tags["status"], 10, 16)
		if !ok || err != nil {
			return nil, fmt.Errorf("line %d: %v ms with status %q: the file was changed; write it again", n,
				p.Data.Value, p.Data.Tags["status"])
		}
		failed := p.Data.Tags["error"]
		if status == 0 && failed == "" {
			failed = "k6 does not say why"
		}
		err = v.add(vegetaResult{
			Code: uint16(status), Timestamp: p.Data.Time.Add(-took), Latency: took, Error: failed,
			Method: p.Data.Tags["method"], URL: p.Data.Tags["url"],
		})
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := v.window(); err != nil {
		return nil, err
	}
	v.run.Notes = []string{
		"k6's http_req_duration counts from the sending, without dialling; failures but timeouts are not in it, as " +
			"evenkeel counts them",
		"k6's points say no rate, connections or sizes; figures over time are left out",
	}
	return []runfile.Run{v.run}, nil
}
