package exchange

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
)

// A native histogram of Prometheus has buckets whose bounds are powers of 2^(2^-schema), in
// seconds. At schema 8, the finest, they are 0.27% apart. A span has the number of empty buckets
// before it and its own number. OpenMetrics 2.0 writes it on one line:
//
//	latency_seconds{label="load"} {count:3,sum:0.3,schema:8,zero_threshold:0,zero_count:0,
//	 positive_spans:[-850:1,3:2],positive_buckets:[1,1,1]}
const (
	promSchema = 8
	promName   = "evenkeel_request_duration_seconds"
)

// promIndex is the bucket of a number of seconds: base^(i-1) < v <= base^i.
func promIndex(seconds float64) int {
	return int(math.Ceil(math.Log2(seconds) * (1 << promSchema)))
}

func writePrometheus(w io.Writer, run *runfile.Run) error {
	var spans, buckets []string
	var count, zero int64
	var sum float64
	// the bucket after the span, its length, and the count of its last bucket
	next, length, filled := 0, 0, int64(0)
	offset := 0
	flush := func() {
		if length > 0 {
			spans = append(spans, fmt.Sprintf("%d:%d", offset, length))
		}
	}
	for d, n := range run.Load.Latency.All() {
		count += n
		sum += d.Seconds() * float64(n)
		if d <= 0 {
			zero += n
			continue
		}
		i := promIndex(d.Seconds())
		switch {
		case length > 0 && i == next-1: // several of loadgen's buckets in one
			filled += n
			buckets[len(buckets)-1] = strconv.FormatInt(filled, 10)
			continue
		case length > 0 && i == next:
			length++
		default:
			flush()
			offset, length = i-next, 1
		}
		next, filled = i+1, n
		buckets = append(buckets, strconv.FormatInt(n, 10))
	}
	flush()
	_, err := fmt.Fprintf(w, "# TYPE %s histogram\n# UNIT %[1]s seconds\n# HELP %[1]s Latency of requests, as "+
		"evenkeel measured it.\n"+
		"%[1]s{label=\"%s\",repeat=\"%d\"} "+
		"{count:%d,sum:%s,schema:%d,zero_threshold:0,zero_count:%d,"+
		"positive_spans:[%s],positive_buckets:[%s]}%s\n# EOF\n",
		promName, promLabel(run.Label), run.Repeat, count, strconv.FormatFloat(sum, 'g', -1, 64), promSchema, zero,
		strings.Join(spans, ","), strings.Join(buckets, ","), promTime(run))
	return err
}

// promTime is the end of the window, if it is known.
func promTime(run *runfile.Run) string {
	_, to, ok := run.Window()
	if !ok {
		return ""
	}
	return fmt.Sprintf(" %d.%03d", to.Unix(), to.Nanosecond()/1e6)
}

func promLabel(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\ufffd"))
}
