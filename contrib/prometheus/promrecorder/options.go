package promrecorder

import "fmt"

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

// An OptionError says which field of [Options] is invalid, and what to set instead.
type OptionError struct {
	Option string // the field's name
	Reason string // what is wrong, and what to set instead
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("promrecorder: Options.%s: %s", e.Option, e.Reason)
}

// withDefaults returns o with its zero fields filled in, or an [*OptionError].
func (o Options) withDefaults() (Options, error) {
	if o.MaxClasses == 0 {
		o.MaxClasses = defaultMaxClasses
	}
	if o.MaxClasses < 1 || o.MaxClasses > limitMaxClasses {
		reason := "%d is out of range: use 1 to %d, or 0 for %d"
		return o, &OptionError{"MaxClasses", fmt.Sprintf(reason, o.MaxClasses, limitMaxClasses, defaultMaxClasses)}
	}
	return o, nil
}
