package verdict

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"evenkeel.dev/reqtrace"

	"evenkeel.dev/internal/golden"
)

const ms = time.Millisecond

type times = map[reqtrace.Cause]time.Duration

func partsOf(t times) (p reqtrace.Parts) {
	for c, d := range t {
		p.Add(c, d)
	}
	return p
}

// bandOf makes a band of requests that took p each.
func bandOf(name string, n int, p reqtrace.Parts, median *reqtrace.Parts, sites ...reqtrace.Blame) reqtrace.Band {
	b := reqtrace.Band{
		Name: name, Requests: n, Mean: p.Total(), Min: p.Total() / 2, Max: p.Total() * 2, Parts: p,
		Sites: sites,
	}
	for _, c := range reqtrace.Causes() {
		b.Excess.Add(c, p.Of(c)-median.Of(c))
	}
	return b
}

// fakeReport makes up a trace whose median request and p99+ requests take these parts.
func fakeReport(median, tail reqtrace.Parts, sites ...reqtrace.Blame) *reqtrace.Report {
	r := &reqtrace.Report{
		Trace: 5 * time.Second, Requests: 12000, CutStart: 12, CutEnd: 11, Procs: 2,
		Median: bandOf("p45-55", 1200, median, &median),
		Tail:   bandOf("p99+", 120, tail, &median, sites...),
		Classes: []reqtrace.Class{
			{
				Name: "main.get", Requests: 9000,
				P50: 3 * ms, P90: 9 * ms, P99: 21 * ms, P999: 30 * ms, Tail: 22 * ms, Slow: 80,
			},
			{
				Requests: 3000, P50: 2 * ms, P90: 8 * ms, P99: 15 * ms, P999: 25 * ms, Tail: 19 * ms, Slow: 40,
			},
		},
		Allocated: 250 << 20,
		Spans: []reqtrace.Span{
			{Start: 1000 * ms, End: 1010 * ms},
			{Start: 1010 * ms, End: 1011 * ms, Stopped: true},
		},
	}
	for _, c := range reqtrace.Causes() {
		r.Total.Add(c, 11880*median.Of(c)+120*tail.Of(c))
	}
	r.Bands = []reqtrace.Band{
		bandOf("p0-50", 6000, median, &median), bandOf("p50-90", 4800, median, &median),
		bandOf("p90-99", 1080, median, &median),
		bandOf("p99-99.9", 108, tail, &median, sites...), bandOf("p99.9+", 12, tail, &median, sites...),
	}
	for i := range 10 {
		q := 1 - 1/float64(int(1)<<i)
		r.CCDF = append(r.CCDF, reqtrace.Quantile{Q: q, Time: time.Duration(i+1) * 2 * ms})
	}
	r.CCDF = append(r.CCDF, reqtrace.Quantile{Q: 1, Time: 44 * ms})
	r.Slowest = []reqtrace.Request{fakeRequest("", tail, sites...), fakeRequest("order-7", median)}
	return r
}

// fakeRequest makes a request that takes p, one cause after the other.
func fakeRequest(id string, p reqtrace.Parts, sites ...reqtrace.Blame) reqtrace.Request {
	q := reqtrace.Request{ID: id, Goroutine: 34, Start: 1000 * ms, End: 1000*ms + p.Total(), Parts: p, Sites: sites}
	at := q.Start
	for c, d := range p.All() {
		if d > 0 {
			b := blameOf(c, sites)
			q.Path = append(q.Path, reqtrace.Tile{
				Start: at, End: at + d, Cause: c, Site: b.Site, Op: b.Op,
				Holder: b.Holder, Doing: b.Doing,
			})
			at += d
		}
	}
	return q
}

func blameOf(c reqtrace.Cause, sites []reqtrace.Blame) reqtrace.Blame {
	for _, s := range sites {
		if s.Cause == c {
			return s
		}
	}
	return reqtrace.Blame{}
}

// knownReport is the report of the golden files.
func knownReport() *reqtrace.Report {
	return fakeReport(
		partsOf(times{
			reqtrace.CauseRunning: 2 * ms, reqtrace.CauseSyscall: 800 * time.Microsecond,
			reqtrace.CauseNetwork: 200 * time.Microsecond,
		}),
		partsOf(times{
			reqtrace.CauseRunning: 3 * ms, reqtrace.CauseSyscall: 700 * time.Microsecond,
			reqtrace.CauseRunqueueGC: 12 * ms, reqtrace.CauseLock: 4 * ms,
			reqtrace.CauseAssistMark: 1500 * time.Microsecond, reqtrace.CauseStopped: 300 * time.Microsecond,
			reqtrace.CauseNetwork: 200 * time.Microsecond,
		}),
		reqtrace.Blame{
			Cause: reqtrace.CauseLock, Site: "main.(*cache).get (cache.go:51)", Call: "sync.(*RWMutex).RLock",
			Op: "RWMutex", Handler: "main.(*api).page (api.go:9)",
			Holder: "main.(*cache).refresh (cache.go:83)",
			Doing:  reqtrace.CauseNetwork, DoingAt: "main.(*cache).refresh (cache.go:79)", Time: 4 * ms,
			Longest: 9 * ms,
		},
		reqtrace.Blame{Cause: reqtrace.CauseAssistMark, Site: "main.render (page.go:12)", Time: 900 * time.Microsecond},
		reqtrace.Blame{Cause: reqtrace.CauseAssistMark, Time: 600 * time.Microsecond},
	)
}

// TestKnownReport: other packages' tests show the same report.
func TestKnownReport(t *testing.T) {
	golden.Written(t, "report.json", func(b *bytes.Buffer) error {
		e := json.NewEncoder(b)
		e.SetIndent("", " ")
		return e.Encode(knownReport())
	})
}
