package fastc

import (
	"cmp"
	"log/slog"
	"time"

	"evenkeel.dev"
)

const (
	defaultBudget = 200 * time.Microsecond
	defaultHold   = 10 * time.Second
	maxHold       = 24 * time.Hour
	maxHoldFactor = 16
)

// Options configure a [Site]. The zero value works.
type Options struct {
	// Budget is how long one call may take, and so what it may add to a stop of the world.
	// Zero means 200 µs.
	Budget time.Duration

	// Hold is how long calls go through cgo after they exceeded the budget. It doubles each time
	// that they do so again within the last hold's length, up to 16 times. Zero means 10 s. At most
	// 24 h.
	Hold time.Duration

	// Logger gets Warn when calls begin to go through cgo, and Debug when they stop. Nil means
	// slog.Default().
	Logger *slog.Logger
}

func (o Options) normal() (Options, error) {
	refuse := func(option, format string, args ...any) (Options, error) {
		return o, evenkeel.NewOptionError("fastc.Options", option, format, args...)
	}
	switch {
	case o.Budget < 0:
		return refuse("Budget", "%v is negative; write 0 for %v", o.Budget, defaultBudget)
	case o.Hold < 0:
		return refuse("Hold", "%v is negative; write 0 for %v", o.Hold, defaultHold)
	case o.Hold > maxHold:
		return refuse("Hold", "%v is longer than %v; write less", o.Hold, maxHold)
	}
	o.Budget = cmp.Or(o.Budget, defaultBudget)
	o.Hold = cmp.Or(o.Hold, defaultHold)
	return o, nil
}

const (
	allowance = 10 * time.Millisecond // over the budget, a second of use
	strikes   = 3                     // timed calls over the budget, at least, that divert a function
)

// overtime is what the calls of a function took beyond its budget, less the allowance for each
// second. The Site's mu guards it.
type overtime struct {
	surplus time.Duration
	seen    int // timed calls since the surplus was nothing
	at      time.Time
}

// add notes that calls took that long beyond the budget, and reports whether that is too much.
func (o *overtime) add(now time.Time, beyond time.Duration) bool {
	o.surplus -= time.Duration(now.Sub(o.at).Seconds() * float64(allowance))
	o.at = now
	if o.surplus <= 0 {
		o.surplus, o.seen = 0, 0
	}
	o.surplus += beyond
	o.seen++
	return o.surplus > allowance && o.seen >= strikes
}
