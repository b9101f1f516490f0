package window

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
)

// Handler answers each request by pushing a batch of n messages.
func (w *Window) Handler(n int) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(rw, "%d\n", w.Push(n))
	})
}

// Stats are what /stats tells.
type Stats struct {
	Gate    any     `json:"gate,omitempty"` // gcgate.Stats where there is a gate
	Runtime Runtime `json:"runtime"`
}

// Runtime is what the runtime says of this process.
type Runtime struct {
	Collections uint32 `json:"collections"`
	Forced      uint32 `json:"forced"`      // of Collections, by runtime.GC
	PauseNs     uint64 `json:"pause_ns"`    // with the world stopped, in all
	HeapBytes   uint64 `json:"heap_bytes"`  // objects, live and dead
	AllocBytes  uint64 `json:"alloc_bytes"` // since the start
	SysBytes    uint64 `json:"sys_bytes"`   // from the system
}

// StatsHandler serves Stats. gate may be nil.
func StatsHandler(gate func() any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		s := Stats{Runtime: Runtime{
			Collections: m.NumGC, Forced: m.NumForcedGC, PauseNs: m.PauseTotalNs,
			HeapBytes: m.HeapAlloc, AllocBytes: m.TotalAlloc, SysBytes: m.Sys,
		}}
		if gate != nil {
			s.Gate = gate()
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s) // the client went away
	})
}
