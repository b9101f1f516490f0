package prometheus

import (
	"path/filepath"
	"regexp"
	"testing"
)

// TestDeployUsesExportedNames: no expression of the rules and of the dashboard asks for a metric that there is not. That they
// can be evaluated is e2e's to test, with a Prometheus server.
func TestDeployUsesExportedNames(t *testing.T) {
	known := allNames(t)
	for _, summary := range []string{"evenkeel_gate_phase_seconds", "evenkeel_gate_turn_held_seconds", "evenkeel_aio_late_seconds"} {
		known[summary+"_sum"], known[summary+"_count"] = true, true
		delete(known, summary) // it has no quantiles
	}
	for _, file := range []string{"alerts.yaml", "alerts-test.yaml", "dashboard.json"} {
		used := regexp.MustCompile(`\bevenkeel_[a-z_]+`).FindAllString(read(t, filepath.Join("../../deploy/prometheus", file)), -1)
		if len(used) == 0 {
			t.Errorf("%s uses no metric", file)
		}
		for _, name := range used {
			if !known[name] {
				t.Errorf("%s asks for %s, which there is not", file, name)
			}
		}
	}
}
