package promhttpd

import (
	"testing"

	"evenkeel.dev/contrib/prometheus/internal/promtest"
	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/metricsuite"
)

func TestDocHasAllNames(t *testing.T) { metricsuite.Documented(t, promtest.Names(newCollector(nil))) }

func TestAllFiguresCount(t *testing.T) {
	var stats httpd.Stats
	c := newCollector(func() httpd.Stats { return stats })
	metricsuite.EachField(t, &stats, func() metricsuite.Samples { return promtest.Samples(t, c) })
}

func TestMain(m *testing.M) { leaks.Main(m) }
