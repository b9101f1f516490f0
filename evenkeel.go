package evenkeel

import "fmt"

// An OptionError says which option of a package cannot be used, and what would be right. All packages
// of this module and of its nested modules return it.
type OptionError struct {
	Struct string // that has the option, such as gcgate.Options
	Option string // the field's name
	Reason string // what is wrong, and what to set instead
}

// NewOptionError returns an error whose reason is formatted as by [fmt.Sprintf].
func NewOptionError(structure, option, format string, args ...any) *OptionError {
	return &OptionError{structure, option, fmt.Sprintf(format, args...)}
}

func (e *OptionError) Error() string { return e.Struct + "." + e.Option + ": " + e.Reason }
