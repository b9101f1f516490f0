// Package promtest scrapes collectors in tests.
package promtest

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"evenkeel.dev/internal/metricsuite"
)

// Scrape returns what collectors export, in the format OpenMetrics.
func Scrape(t *testing.T, list ...prom.Collector) string {
	t.Helper()
	registry := prom.NewPedanticRegistry() // samples go with descriptions
	registry.MustRegister(list...)
	q := httptest.NewRequest("GET", "/metrics", nil)
	q.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	w := httptest.NewRecorder()
	opts := promhttp.HandlerOpts{EnableOpenMetrics: true, DisableCompression: true}
	promhttp.HandlerFor(registry, opts).ServeHTTP(w, q)
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// Samples returns the samples of a scrape, by name and labels.
func Samples(t *testing.T, list ...prom.Collector) metricsuite.Samples {
	t.Helper()
	samples := metricsuite.Samples{}
	for line := range strings.Lines(Scrape(t, list...)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		line, _, _ = strings.Cut(line, " # ") // an exemplar
		i := strings.LastIndexByte(strings.TrimSpace(line), ' ')
		value, err := strconv.ParseFloat(strings.TrimSpace(line[i+1:]), 64)
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		samples[line[:i]] = value
	}
	return samples
}

func Names(c prom.Collector) []string {
	to := make(chan *prom.Desc, 100)
	c.Describe(to)
	close(to)
	names := map[string]bool{}
	for d := range to {
		names[regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	return slices.Collect(maps.Keys(names))
}

// Print prints the samples whose lines have one of the prefixes.
func Print(registry *prom.Registry, prefixes ...string) {
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(line, p) }) {
			fmt.Print(line)
		}
	}
}
