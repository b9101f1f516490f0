package history

import (
	"math"
	"testing"
	"time"

	"evenkeel.dev/reqtrace"
)

// TestWeights: what is explained of a class stands for what is not, so that shares are of all slow requests; what nobody counted as slow stands for itself.
func TestWeights(t *testing.T) {
	h := &History{}
	network := Key{reqtrace.CauseNetwork, "main.ask", "", "POST /report"}
	for i := range 30 {
		h.Add(slow(i, night, lockKey, 50*ms)) // of the same class
		if i%3 == 0 {
			h.Add(slow(100+i, night, sleepKey, 50*ms))
			h.Add(slow(200+i, night, network, 50*ms))
		}
	}
	h.Count(night, "GET /orders", Count{Slow: 40})
	h.Count(night, "POST /report", Count{Slow: 160, Off: 150})
	h.Count(night, "GET /unseen", Count{Slow: 1000, Off: 1000}) // says nothing
	h.Add(slow(999, night, Key{reqtrace.CauseRunning, "main.f", "", "uncounted"}, 50*ms))
	for _, s := range h.Summaries(time.Time{}) {
		want := map[reqtrace.Cause]float64{reqtrace.CauseLock: 30, reqtrace.CauseSleep: 10, reqtrace.CauseNetwork: 160, reqtrace.CauseRunning: 1}[s.Key.Cause] / 201
		if math.Abs(s.Share-want) > 1e-9 {
			t.Errorf("%v has %v, want %v", s.Key, s.Share, want)
		}
	}
	if first := h.Summaries(time.Time{})[0]; first.Key != network || first.Requests != 10 {
		t.Errorf("%+v comes first", first)
	}
}
