package promrecorder

import (
	"evenkeel.dev"
)

// Options configure [New]. The zero value works.
type Options struct {
	// MaxClasses is how many classes of slow requests have samples of their own. Later ones share
	// the class "(others)". Each has two samples for each of its causes. Default: 0, which is 32.
	// Limit: 1,024.
	MaxClasses int
}

const (
	defaultMaxClasses = 32
	limitMaxClasses   = 1024
)

func (o Options) withDefaults() (Options, error) {
	if o.MaxClasses == 0 {
		o.MaxClasses = defaultMaxClasses
	}
	if o.MaxClasses < 1 || o.MaxClasses > limitMaxClasses {
		reason := "%d is out of range: use 1 to %d, or 0 for %d"
		return o, evenkeel.NewOptionError("promrecorder.Options", "MaxClasses", reason, o.MaxClasses, limitMaxClasses,
			defaultMaxClasses)
	}
	return o, nil
}
