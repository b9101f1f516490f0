// Package enum has the text forms of constants that count from 0.
package enum

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

type Names[T ~int | ~uint8 | ~uint32] struct {
	pkg, what string
	list      []string
}

// Of returns the names of T's constants. pkg and what are for errors, such as "aio" and "a backend".
func Of[T ~int | ~uint8 | ~uint32](pkg, what string, list ...string) Names[T] {
	return Names[T]{pkg, what, list}
}

// Has reports whether v is one of the constants.
func (n Names[T]) Has(v T) bool { return v >= 0 && int(v) < len(n.list) }

// String returns v's name, or TYPE(NUMBER) for another value.
func (n Names[T]) String(v T) string {
	if !n.Has(v) {
		return fmt.Sprintf("%s(%d)", reflect.TypeFor[T]().Name(), int(v))
	}
	return n.list[v]
}

// Marshal returns v's name. It fails for another value.
func (n Names[T]) Marshal(v T) ([]byte, error) {
	if !n.Has(v) {
		return nil, fmt.Errorf("%s: %d is not %s", n.pkg, int(v), n.what)
	}
	return []byte(n.list[v]), nil
}

// Parse sets v to the constant of that name.
func (n Names[T]) Parse(text []byte, v *T) error {
	i := slices.Index(n.list, string(text))
	if i < 0 {
		last := len(n.list) - 1
		return fmt.Errorf("%s: %q is not %s: write %s or %s",
			n.pkg, text, n.what, strings.Join(n.list[:last], ", "), n.list[last])
	}
	*v = T(i)
	return nil
}
