package gctrace

import (
	"encoding/json"
	"fmt"
)

// Value is a figure that a source may lack. Its zero value is absent. Tag a field omitzero to leave
// it out of JSON.
type Value[T any] struct {
	v     T
	known bool
}

// Of returns a known figure.
func Of[T any](v T) Value[T] { return Value[T]{v: v, known: true} }

// Get returns the figure and whether the source had it.
func (v Value[T]) Get() (T, bool) { return v.v, v.known }

// Known reports whether the source had the figure.
func (v Value[T]) Known() bool { return v.known }

// IsZero reports whether the figure is absent, for omitzero.
func (v Value[T]) IsZero() bool { return !v.known }

// String returns the figure as fmt prints it, or "absent".
func (v Value[T]) String() string {
	if !v.known {
		return "absent"
	}
	return fmt.Sprint(v.v)
}

// MarshalJSON writes the figure, or null if it is absent.
func (v Value[T]) MarshalJSON() ([]byte, error) {
	if !v.known {
		return []byte("null"), nil
	}
	return json.Marshal(v.v)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *Value[T]) UnmarshalJSON(b []byte) error {
	*v = Value[T]{}
	if string(b) == "null" {
		return nil
	}
	if err := json.Unmarshal(b, &v.v); err != nil {
		return err
	}
	v.known = true
	return nil
}
