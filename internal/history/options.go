package history

import (
	"cmp"
	"log/slog"
	"time"
)

const (
	defaultHours = 7 * 24
	defaultKeys  = 64
	minKeys      = 32      // causes of the last hour, whatever maxBytes is
	maxSize      = 1 << 30 // bytes of a file that is read
)

// Options configure [Open]. The zero value works.
type Options struct {
	// Dir is the folder of the history's files. Open creates it if necessary, and renames a
	// history.log that holds no history. One process at a time writes there. Without flock(2) you
	// have to see to that. Default: "", which keeps the history in memory.
	Dir string

	// Build names the build of the service that runs. Default: "", not known.
	Build string

	// Logger gets a warning when the history cannot be kept on the disk, and when it can again.
	// Default: nil, which is slog.Default().
	Logger *slog.Logger

	hours      int   // in which something was slow
	keys       int   // causes in an hour
	maxBytes   int64 // of the file; while it is replaced there are two
	flushEvery time.Duration
}

func (o Options) withDefaults() Options {
	o.hours = cmp.Or(o.hours, defaultHours)
	o.keys = cmp.Or(o.keys, defaultKeys)
	o.maxBytes = cmp.Or(o.maxBytes, 8<<20)
	o.flushEvery = cmp.Or(o.flushEvery, 5*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}
