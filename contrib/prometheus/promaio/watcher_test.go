package promaio

import (
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/contrib/prometheus/internal/promtest"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/metricsuite"
)

func TestDocHasAllNames(t *testing.T) { metricsuite.Documented(t, promtest.Names(newCollector(nil))) }

func TestAllFiguresCount(t *testing.T) {
	var stats aio.Stats
	c := newCollector(func() aio.Stats { return stats })
	metricsuite.EachField(t, &stats, func() metricsuite.Samples { return promtest.Samples(t, c) })
}

func TestMain(m *testing.M) { leaks.Main(m) }
