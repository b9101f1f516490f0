package replicas

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace"
)

const ms = time.Millisecond

var night = time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)

// slow is a request that lost all of its time to a cause.
func slow(c reqtrace.Cause, start, took time.Duration, caller string, calls ...history.Call) history.Request {
	return history.Request{
		ID: fmt.Sprint("g1@", start), Start: night.Add(start), Duration: took, Lost: took,
		Key: history.Key{Cause: c, Function: "main." + c.String(), Class: "GET /"}, Caller: caller, Calls: calls,
	}
}

// usually is a request that lost the rest of its time.
func usually(takes time.Duration, q history.Request) history.Request {
	q.Lost -= takes
	return q
}

// replicaOf is a service's replica with snapshots of these requests.
func replicaOf(service string, snapshots ...[]history.Request) answer {
	a := answer{replica: replica{
		service: service, kept: &findings{joins: true, store: history.Open(history.Options{})},
	}}
	for _, slow := range snapshots {
		a.kept.analysed = append(a.kept.analysed, analysed{found: history.Explained{Slow: slow}})
	}
	return a
}

func calls(list ...any) (calls []history.Call) {
	for i := 0; i < len(list); i += 2 {
		calls = append(calls, history.Call{ID: list[i].(string), After: list[i+1].(time.Duration)})
	}
	return calls
}

type requests = []history.Request

func TestJoin(t *testing.T) {
	const network, lock, sleep = reqtrace.CauseNetwork, reqtrace.CauseLock, reqtrace.CauseSleep
	for name, tt := range map[string]struct {
		answers []answer
		want    string // what each request waited for, service by service
	}{
		"a call": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 100*ms, "", calls("a", 5*ms)...)}),
			replicaOf("prices", requests{slow(lock, 6*ms, 90*ms, "a"), slow(sleep, 6*ms, 95*ms, "b")}),
		}, "prices lock, lock, sleep"},
		"a service that always takes that long": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 200*ms, "", calls("a", 5*ms)...)}),
			replicaOf("prices", requests{usually(105*ms, slow(lock, 6*ms, 110*ms, "a"))}),
		}, "network, lock"},
		"two levels": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 100*ms, "", calls("a", 5*ms)...)}),
			replicaOf("stock", requests{slow(network, 6*ms, 90*ms, "a", calls("b", 1*ms)...)}),
			replicaOf("prices", requests{slow(lock, 8*ms, 80*ms, "b")}),
		}, "stock/prices lock, prices lock, lock"},
		"a snapshot is lost": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 100*ms, "", calls("a", 5*ms)...)}),
			replicaOf("stock"),
			replicaOf("prices", requests{slow(lock, 8*ms, 80*ms, "b")}),
		}, "network, lock"},
		"most of the time is of another call": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 100*ms, "", calls("a", 5*ms)...)}),
			replicaOf("prices", requests{slow(lock, 6*ms, 40*ms, "a")}),
		}, "network, lock"},
		"the longest call": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 200*ms, "", calls("a", 0*ms, "b", 80*ms)...)}),
			replicaOf("prices", requests{slow(lock, 0, 79*ms, "a")}),
			replicaOf("stock", requests{slow(sleep, 81*ms, 110*ms, "b")}),
		}, "stock sleep, lock, sleep"},
		"several calls one after the other": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 120*ms, "", calls("a", 0*ms, "b", 40*ms)...)}),
			replicaOf("prices", requests{slow(lock, 0, 35*ms, "a"), slow(sleep, 41*ms, 36*ms, "b")}),
		}, "prices sleep, lock, sleep"},
		"several calls at the same time": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 120*ms, "", calls("a", 0*ms, "b", 1*ms)...)}),
			replicaOf("prices", requests{slow(lock, 0, 35*ms, "a"), slow(sleep, 1*ms, 36*ms, "b")}),
		}, "network, lock, sleep"},
		"retries with one id": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 100*ms, "", calls("a", 0*ms, "a", 50*ms)...)}),
			replicaOf("prices", requests{slow(lock, 1*ms, 30*ms, "a"), slow(sleep, 51*ms, 40*ms, "a")}),
		}, "prices sleep, lock, sleep"},
		"the slow retry counts once": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 100*ms, "", calls("a", 0*ms, "a", 50*ms)...)}),
			replicaOf("prices", requests{slow(sleep, 51*ms, 40*ms, "a")}),
		}, "network, sleep"},
		"an id comes again": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 100*ms, "", calls("a", 5*ms)...)}),
			replicaOf("prices", requests{slow(sleep, time.Minute, 90*ms, "a"), slow(lock, 6*ms, 90*ms, "a")}),
		}, "prices lock, sleep, lock"},
		"an id comes again much later": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 100*ms, "", calls("a", 5*ms)...)}),
			replicaOf("prices", requests{slow(sleep, time.Hour, 90*ms, "a")}),
		}, "network, sleep"},
		"clocks differ": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 100*ms, "", calls("a", 5*ms)...)}),
			replicaOf("prices", requests{slow(lock, -5*time.Minute, 90*ms, "a")}),
		}, "prices lock, lock"},
		"all pass on one header": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 100*ms, "x", calls("x", 5*ms)...)}),
			replicaOf("stock", requests{slow(network, 6*ms, 90*ms, "x", calls("x", 1*ms)...)}),
			replicaOf("prices", requests{slow(lock, 8*ms, 80*ms, "x")}),
		}, "stock/prices lock, prices lock, lock"},
		"all pass on one header, and the client tries again": {[]answer{
			replicaOf("shop", requests{
				slow(network, 0, 100*ms, "x", calls("x", 5*ms)...),
				slow(network, 200*ms, 90*ms, "x", calls("x", 5*ms)...),
			}),
		}, "network, network"},
		"a circle": {[]answer{
			replicaOf("shop", requests{
				slow(network, 0, 100*ms, "2", calls("1", 0*ms)...),
				slow(network, 1*ms, 100*ms, "", calls("1", 0*ms)...),
			}),
			replicaOf("prices", requests{slow(network, 0, 100*ms, "1", calls("2", 0*ms)...)}),
		}, "network, network, network"},
		"itself": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 100*ms, "1", calls("1", 0*ms)...)}),
		}, "network"},
		"its own work": {[]answer{
			replicaOf("shop", requests{slow(reqtrace.CauseRunning, 0, 100*ms, "", calls("a", 5*ms)...)}),
			replicaOf("prices", requests{slow(lock, 6*ms, 90*ms, "a")}),
		}, "running, lock"},
		"a lock for the time of the call": {[]answer{
			replicaOf("shop", requests{slow(lock, 0, 100*ms, "", calls("a", 5*ms)...)}),
			replicaOf("prices", requests{slow(sleep, 6*ms, 90*ms, "a")}),
		}, "prices sleep, sleep"},
		"a pause before a retry": {[]answer{
			replicaOf("shop", requests{func() history.Request {
				q := slow(sleep, 0, 160*ms, "", calls("a", 0*ms)...)
				q.Lost = 90 * ms
				return q
			}()}),
			replicaOf("prices", requests{slow(lock, 0, 70*ms, "a")}),
		}, "sleep, lock"},
		"replicas": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 100*ms, "", calls("a", 5*ms)...)}),
			replicaOf("shop", requests{slow(network, 0, 100*ms, "", calls("b", 5*ms)...)}),
			replicaOf("prices", requests{slow(lock, 6*ms, 90*ms, "b")}),
			replicaOf("prices", requests{slow(sleep, 6*ms, 90*ms, "a")}),
		}, "prices sleep, prices lock, lock, sleep"},
		"two snapshots have both": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 100*ms, "", calls("a", 5*ms)...)},
				requests{slow(network, 0, 100*ms, "", calls("a", 5*ms)...)}),
			replicaOf("prices", requests{slow(lock, 6*ms, 90*ms, "a")}, requests{slow(lock, 6*ms, 90*ms, "a")}),
		}, "prices lock, prices lock, lock, lock"},
		"began before the trace": {[]answer{
			replicaOf("shop", requests{slow(network, 0, 100*ms, "", calls("a", 5*ms)...)}),
			replicaOf("prices", requests{{ID: "g1@6", Start: night, Duration: 90 * ms, Cut: true, Caller: "a"}}),
		}, "network, unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			join(tt.answers)
			var got []string
			for _, a := range tt.answers {
				for _, x := range a.kept.analysed {
					for _, q := range x.found.Slow {
						got = append(got, strings.TrimSpace(q.Key.Services+" "+q.Key.Cause.String()))
						if !q.Cut && (q.Key.Class != "GET /" || q.Key.Function != "main."+q.Key.Cause.String()) {
							t.Errorf("%+v", q.Key)
						}
					}
				}
			}
			if d := cmp.Diff(tt.want, strings.Join(got, ", ")); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

// TestJoinCounts tests that a joined request counts once, with its snapshot's coverage.
func TestJoinCounts(t *testing.T) {
	shop := replicaOf("shop", requests{slow(reqtrace.CauseNetwork, 0, 100*ms, "", calls("a", 5*ms)...)},
		requests{slow(reqtrace.CauseNetwork, 0, 100*ms, "", calls("a", 5*ms)...)})
	x := &shop.kept.analysed[0]
	x.head.Noted = []history.Noted{{Number: 1, Class: "GET /"}}
	x.found.Slow[0].Mark = history.Mark("", 1)
	shop.kept.analysed[1].found.Slow[0].Mark = history.Mark("", 1) // noted in the other
	join([]answer{shop, replicaOf("prices", requests{slow(reqtrace.CauseLock, 6*ms, 90*ms, "a")})})
	h := shop.kept.store.Snapshot()
	c, s := h.Coverage(time.Time{}), h.Summaries(time.Time{})
	if c.Slow != 1 || c.Kept != 1 || c.Seen != 1 || len(s) != 1 || s[0].Key.Services != "prices" || s[0].Requests != 1 {
		t.Errorf("%+v %+v", c, s)
	}
}
