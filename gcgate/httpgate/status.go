package httpgate

import (
	"encoding/json"
	"net/http"
	"os"
	"runtime"
	"runtime/metrics"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/cputime"
)

// Status returns a page about g in JSON: [gcgate.Stats] and figures of the process. Durations are
// in nanoseconds. evenkeel watch and evenkeel plan read it. Mount it for operators only:
//
//	mux.Handle("GET /debug/gate", httpgate.Status(g))
//
// If g is nil the page is an object with Error, with status 404.
func Status(g *gcgate.Gate) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Type", "application/json")
		page := json.NewEncoder(w)
		page.SetIndent("", "  ")
		if g == nil {
			w.WriteHeader(http.StatusNotFound)
			_ = page.Encode(struct{ Error string }{noGate})
			return
		}
		_ = page.Encode(struct {
			gcgate.Stats
			Process processStats
		}{g.Stats(), process()})
	})
}

const noGate = `there is no gate here, so requests overlap collections: where one could not start, ` +
	`the log of the start says why, at level ERROR ("httpgate: no gate"), and Guarded.Err returns it`

type processStats struct {
	// CPU includes the kernel's part, 0 if not known. Collector is the collector's share in Cycles
	// that have ended, with the marking of idle processors.
	CPU       time.Duration
	Collector time.Duration
	Cycles    uint64

	Procs int // GOMAXPROCS

	Host   string
	PID    int
	Uptime time.Duration // since the program's start
}

func process() processStats {
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(samples)
	host, _ := os.Hostname()
	return processStats{
		CPU:       cputime.Process(),
		Collector: time.Duration(samples[0].Value.Float64() * float64(time.Second)),
		Cycles:    samples[1].Value.Uint64(),
		Procs:     runtime.GOMAXPROCS(0),
		Host:      host,
		PID:       os.Getpid(),
		Uptime:    time.Since(firstMoment),
	}
}
