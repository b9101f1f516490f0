package gctrace

// Stats counts what a [Scanner] has read so far. Each line is foreign, or "GC forced", or holds a
// cycle or part of one.
type Stats struct {
	Lines int64 `json:"lines"` // with an unfinished last one
	// not of the collector; those of gctrace=2, gcpacertrace=1 and scavtrace=1 count here too
	Foreign     int64 `json:"foreign"`
	ForcedLines int64 `json:"forced_lines"` // "GC forced", by the two-minute timer
	Cycles      int64 `json:"cycles"`       // returned by Scan
	// of Cycles, joined from pieces
	Recovered int64 `json:"recovered"`
	// lines of Go 1.5, which are not read
	FivePhases int64 `json:"five_phases,omitzero"`

	// Lost counts collections whose figures could not be read. These are gaps in the numbers after
	// the first cycle, and broken lines.
	Lost int64 `json:"lost"`

	// Truncated is set at the end of a log that stops in the middle of a gctrace line. That cycle
	// is not in Lost.
	Truncated bool `json:"truncated,omitzero"`
}
