package history

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/reqtrace"
)

const ms = time.Millisecond

// night is when the tests' services are slow.
var night = time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)

type times = map[reqtrace.Cause]time.Duration

// requestsOf hands requests out as reqtrace.Read does, with err at their end.
func requestsOf(list []reqtrace.Request, err error) iter.Seq2[reqtrace.Request, error] {
	return func(yield func(reqtrace.Request, error) bool) {
		for _, q := range list {
			if !yield(q, nil) {
				return
			}
		}
		if err != nil {
			yield(reqtrace.Request{}, err)
		}
	}
}

// took is a request of a class, on a goroutine of its own, which took these times one after the other.
func took(n int, class string, at time.Duration, t times, sites ...reqtrace.Blame) reqtrace.Request {
	q := reqtrace.Request{
		Goroutine: int64(n), Class: class, Start: at, Parts: partsOf(t), Sites: sites,
		Began: night.Add(at),
	}
	q.End = at + q.Parts.Total()
	q.Clock = int64(time.Hour + q.End)
	return q
}

// usualOnes are so many requests of a class that took a time of running.
func usualOnes(n int, class string, d time.Duration) (list []reqtrace.Request) {
	for i := range n {
		list = append(list, took(1000+i, class, 0, times{reqtrace.CauseRunning: d}))
	}
	return list
}

func explained(t *testing.T, list []reqtrace.Request, tr Trace) *Explained {
	t.Helper()
	e, err := explain(requestsOf(list, nil), &tr)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// slow is a slow request of a history's tests.
func slow(id int, at time.Time, k Key, lost time.Duration) Request {
	r := Request{
		ID: fmt.Sprintf("g%d@%d", id, at.UnixMicro()), Start: at, Duration: lost + 5*ms, Key: k, Lost: lost,
		Words: k.words(), Build: "v1",
	}
	if k.Function != "" {
		r.Place = k.Function + " (main.go:7)"
	}
	return r
}

var (
	lockKey  = Key{Cause: reqtrace.CauseLock, Function: "main.get", Holder: "main.refresh", Class: "GET /orders"}
	sleepKey = Key{Cause: reqtrace.CauseSleep, Function: "main.retry", Class: "GET /orders"}
	runKey   = Key{Cause: reqtrace.CauseRunning, Class: "POST /report"}
)

// little is a history that is short in JSON: a fuzzer changes few bytes at a time.
func little() *History {
	h := &History{}
	h.count(night, "a", Count{Slow: 2, Limited: 1})
	h.addUsual(night, Usual{"a": {1, partsOf(times{reqtrace.CauseRunning: ms})}})
	h.addOnce(Request{
		ID: "g1", Start: night, Duration: ms, Key: Key{Cause: reqtrace.CauseLock, Function: "f", Class: "a"},
		Lost: ms, Build: "v1",
	})
	return h
}

// addOnce adds a request, and reports whether it is new.
func (h *History) addOnce(r Request) bool {
	if h.seen(r.ID) {
		return false
	}
	h.insert(r.bounded())
	return true
}

func text(t testing.TB, h *History) string {
	t.Helper()
	b, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// act does something to a history by chance, and to its twins.
func act(r *rand.Rand, to ...*History) {
	at := night.Add(time.Duration(r.IntN(5*3600)) * time.Second)
	class := fmt.Sprintf("GET /%d", r.IntN(4))
	switch r.IntN(8) {
	case 0:
		c := Count{
			Slow: uint64(r.IntN(9)), Kept: uint64(r.IntN(3)), Limited: uint64(r.IntN(3)),
			Off: uint64(r.IntN(2)), Failed: uint64(r.IntN(2)),
		}
		for _, h := range to {
			h.count(at, class, c)
		}
	case 1:
		u := Usual{class: {
			uint64(1 + r.IntN(50)),
			partsOf(times{reqtrace.CauseRunning: time.Duration(r.IntN(1e9))}),
		}}
		for _, h := range to {
			h.addUsual(at, u)
		}
	case 2:
		b, watched := fmt.Sprint("v", r.IntN(4)), time.Duration(r.IntN(1e9))
		for _, h := range to {
			h.addWatched(b, at, watched, watched/2)
		}
	default:
		q := slow(r.IntN(1e6), at, Key{
			Cause: reqtrace.Cause(r.IntN(len(reqtrace.Causes()))), Function: fmt.Sprint("main.f", r.IntN(3)),
			Class: class,
		}, time.Duration(r.IntN(1e8)))
		q.Build, q.Cut = fmt.Sprint("v", r.IntN(4)), r.IntN(9) == 0
		for _, h := range to {
			h.addOnce(q)
		}
	}
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedIn); dir != "" {
		writeUntilKilled(dir) // it does not return
	}
	leaks.Main(m)
}

func partsOf(t times) (p reqtrace.Parts) {
	for c, d := range t {
		p.Add(c, d)
	}
	return p
}
