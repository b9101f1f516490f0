package promrecorder

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/contrib/prometheus/internal/promtest"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/metricsuite"
	"evenkeel.dev/reqtrace/recorder"
)

func TestDocHasAllNames(t *testing.T) {
	metricsuite.Documented(t, promtest.Names(newCollector(nil)))
}

func TestAllFiguresCount(t *testing.T) {
	var stats recorder.Stats
	c := newCollector(func() recorder.Stats { return stats })
	metricsuite.EachField(t, &stats, func() metricsuite.Samples { return promtest.Samples(t, c) })
}

func TestRequests(t *testing.T) {
	c := newCollector(func() recorder.Stats { return recorder.Stats{} })
	c.classes.max = 2
	metricsuite.Requests(t, metricsuite.Exporter{
		Add: c.add,
		New: func() float64 { return promtest.Samples(t, c)["evenkeel_recorder_new_causes_total"] },
		Slow: func(class string) (requests, lost float64) {
			labels := fmt.Sprintf(`{cause="lock",class="%s"}`, class)
			samples := promtest.Samples(t, c)
			return samples["evenkeel_recorder_explained_requests_total"+labels],
				samples["evenkeel_recorder_lost_seconds_total"+labels]
		},
	})
}

// TestExemplars tests that the last request of a cause and class is the exemplar.
func TestExemplars(t *testing.T) {
	c := newCollector(func() recorder.Stats { return recorder.Stats{} })
	c.add(metricsuite.Slow("GET /a", 300, 250*time.Millisecond))
	c.add(metricsuite.Slow("GET /a", 200, 200*time.Millisecond)) // out of order
	without := metricsuite.Slow("GET /b", 100, time.Second)
	without.Snapshot, without.TraceID = strings.Repeat("s", 200), ""
	c.add(without)
	// The labels of an exemplar have no order.
	ids := regexp.MustCompile(`\{(trace_id="\w+"),(snapshot="\w+")\}`)
	text := ids.ReplaceAllString(promtest.Scrape(t, c), "{$2,$1}")
	const exemplar = ` # {snapshot="snap300",trace_id="4bf92f3577b34da6a3ce929d0e0e4736"} `
	for _, line := range []string{
		`evenkeel_recorder_explained_requests_total{cause="lock",class="GET /a"} 2.0` + exemplar + `0.5 300.5`,
		`evenkeel_recorder_lost_seconds_total{cause="lock",class="GET /a"} 0.45` + exemplar + `0.25 300.5`,
		`evenkeel_recorder_lost_seconds_total{cause="lock",class="GET /b"} 1.0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
}

func TestMain(m *testing.M) { leaks.Main(m) }
