package prometheus

import "fmt"

// Options configure [NewRecorder]. The zero value works.
type Options struct {
	// MaxClasses is how many classes of slow requests have samples of their own; more are of the class "(others)". Each has two
	// samples for each cause that it met. Default: 0, which is 32. Limit: 1,024.
	MaxClasses int
}

const (
	defaultMaxClasses = 32
	limitMaxClasses   = 1024
)

// An OptionError says which field of [Options] cannot be used, and what would be right.
type OptionError struct {
	Option string // the field's name
	Reason string // what is wrong, and what to set instead
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("prometheus: Options.%s: %s", e.Option, e.Reason)
}

// withDefaults returns o with its zero fields filled in, or an [*OptionError].
func (o Options) withDefaults() (Options, error) {
	if o.MaxClasses == 0 {
		o.MaxClasses = defaultMaxClasses
	}
	if o.MaxClasses < 1 || o.MaxClasses > limitMaxClasses {
		return o, &OptionError{"MaxClasses", fmt.Sprintf("%d is out of range: use 1 to %d, or 0 for %d", o.MaxClasses, limitMaxClasses, defaultMaxClasses)}
	}
	return o, nil
}
