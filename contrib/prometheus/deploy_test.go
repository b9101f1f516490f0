package prometheus_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

func find(t *testing.T, pattern, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(pattern).FindAllString(string(text), -1)
}

// TestDeployUsesExportedNames tests that the rules and the dashboard ask only for metrics that
// docs/reference/metrics.md lists. Each package tests that it lists what the package exports. e2e evaluates the
// expressions with a Prometheus server.
func TestDeployUsesExportedNames(t *testing.T) {
	const name = `\bevenkeel_[a-z_]+`
	known := map[string]bool{}
	for _, name := range find(t, name, "../../docs/reference/metrics.md") {
		known[name] = true
	}
	for _, summary := range []string{
		"evenkeel_gate_phase_seconds", "evenkeel_gate_turn_held_seconds", "evenkeel_aio_late_seconds",
	} {
		if !known[summary] {
			t.Errorf("the page does not list %s", summary)
		}
		known[summary+"_sum"], known[summary+"_count"] = true, true
		delete(known, summary) // it has no quantiles
	}
	for _, file := range []string{"alerts.yaml", "alerts-test.yaml", "dashboard.json"} {
		used := find(t, name, filepath.Join("../../deploy/prometheus", file))
		if len(used) == 0 {
			t.Errorf("%s uses no metric", file)
		}
		for _, name := range used {
			if !known[name] {
				t.Errorf("%s asks for %s, which no package exports", file, name)
			}
		}
	}
}
