package history

import (
	"log/slog"
	"time"

	"evenkeel.dev"
)

const (
	defaultHours      = 7 * 24
	defaultKeys       = 64
	defaultMaxBytes   = 8 << 20
	defaultFlushEvery = 5 * time.Second

	minKeys = 32
	maxSize = 1 << 30 // of the file
)

// Options configure [Open]. The zero value works.
type Options struct {
	// Dir is the folder of the history's files, made where it is not there; nobody else may read
	// it. Other files in it are left alone, and a history.log that holds no history is renamed to
	// history.log.damaged. One process at a time writes there (on systems without flock(2), see to
	// that). Default: "", which keeps the history in memory alone.
	Dir string

	// Build names the build of the service that runs. Default: "", not known.
	Build string

	// Hours is how many hours are kept: those in which something was slow. Default: 0, which is 168; limits: 1 to 8784.
	Hours int

	// Keys is how many causes an hour tells apart. Default: 0, which is 64; limits: 32 to 4096.
	Keys int

	// MaxBytes is how large the file may be. While it is written anew there are two. Default: 0,
	// which is 8 MiB; limits: 1 MiB to 1 GiB.
	MaxBytes int64

	// FlushEvery is how long it may take until what was added is on the disk. Default: 0, which is
	// 5 s; limits: 10 ms to 1 min.
	FlushEvery time.Duration

	// Logger gets a warning when the history cannot be kept on the disk, and when it can again.
	// Default: nil, which is slog.Default().
	Logger *slog.Logger
}

// withDefaults returns o with its defaults.
func (o Options) withDefaults() (Options, error) {
	if err := check(&o.Hours, "Hours", defaultHours, 1, 8784); err != nil {
		return o, err
	}
	if err := check(&o.Keys, "Keys", defaultKeys, minKeys, 4096); err != nil {
		return o, err
	}
	if err := check(&o.MaxBytes, "MaxBytes", defaultMaxBytes, 1<<20, maxSize); err != nil {
		return o, err
	}
	if err := check(&o.FlushEvery, "FlushEvery", defaultFlushEvery, 10*time.Millisecond, time.Minute); err != nil {
		return o, err
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, nil
}

// check sets a default, and says whether a value is within its limits.
func check[T int | int64 | time.Duration](v *T, option string, value, low, high T) error {
	if *v == 0 {
		*v = value
	}
	if *v < low || *v > high {
		return evenkeel.NewOptionError("history.Options", option, "%v; it goes from %v to %v, or is 0 for %v", *v, low,
			high, value)
	}
	return nil
}
