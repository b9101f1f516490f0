package gctrace

// Stats counts what a [Scanner] has read so far.
type Stats struct {
	Lines int64 `json:"lines"` // with an unfinished last one
	// not of the collector, such as those of gcpacertrace=1
	Foreign     int64 `json:"foreign"`
	ForcedLines int64 `json:"forced_lines"` // "GC forced", by the two-minute timer
	Cycles      int64 `json:"cycles"`       // returned by Scan
	// of Cycles, joined from pieces
	Recovered int64 `json:"recovered"`
	// lines of Go 1.5, which are not read
	FivePhases int64 `json:"five_phases,omitzero"`

	// Lost counts collections whose figures could not be read, by gaps in the numbers and by broken
	// lines.
	Lost int64 `json:"lost"`

	// Truncated says that the log stops in the middle of a gctrace line. Lost does not include
	// that.
	Truncated bool `json:"truncated,omitzero"`
}
