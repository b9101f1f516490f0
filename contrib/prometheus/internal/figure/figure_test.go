package figure

import (
	"testing"

	prom "github.com/prometheus/client_golang/prometheus"
)

// TestDescribe tests that a field that does not exist is noticed before a scrape.
func TestDescribe(t *testing.T) {
	type stats struct{ Turn struct{ Held int } }
	for field, exists := range map[string]bool{"Turn.Held": true, "Turn.Kept": false, "Held": false, "Turn": false} {
		c := &Collector[stats]{Figures: []Figure{Gauge("held", field, "Turns.")}}
		to := make(chan *prom.Desc, 1)
		panics := func() (panics bool) {
			defer func() { panics = recover() != nil }()
			c.Describe(to)
			return false
		}()
		if panics == exists {
			t.Errorf("%s: it panics: %v", field, panics)
		}
	}
}
