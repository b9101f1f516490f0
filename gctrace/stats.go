package gctrace

// Stats counts what a [Scanner] has read so far. Each line is one of: foreign, "GC forced",
// or one that holds a cycle or part of one (whatever other text stands on it as well; less
// than "gc 6 @0.044s " at a broken line's front does not count as a part).
type Stats struct {
	Lines int64 `json:"lines"` // read, an unfinished last one included
	// not the collector's; gctrace=2, gcpacertrace=1 and scavtrace=1 lines count here too
	Foreign     int64 `json:"foreign"`
	ForcedLines int64 `json:"forced_lines"` // "GC forced": the two-minute timer started a collection
	Cycles      int64 `json:"cycles"`       // returned by Scan
	// of Cycles, put together again from the pieces of lines that other text or a line break had cut
	Recovered int64 `json:"recovered"`
	// lines of Go 1.5, whose collections had five phases: they are not read
	FivePhases int64 `json:"five_phases,omitzero"`

	// Lost counts collections that happened and whose figures could not be read: gaps in
	// the numbering, and broken lines that could not be put together. What ran before the
	// first cycle of the log is not counted.
	Lost int64 `json:"lost"`

	// Truncated is set at the end of a log that stops in the middle of a gctrace line (the
	// process was killed, or the log copied while it grew). That cycle is not in Lost.
	Truncated bool `json:"truncated,omitzero"`
}
