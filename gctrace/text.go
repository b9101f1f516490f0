package gctrace

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// findGC returns the index of the first "gc " in b, or -1. Foreign lines spend most time here.
// bytes.Index would stop at each 'g', so this compares eight pairs of bytes at a time.
func findGC(b []byte) int {
	i := 0
	for ; i+9 <= len(b); i += 8 {
		g := zeroBytes(binary.LittleEndian.Uint64(b[i:]) ^ ones*'g')
		c := zeroBytes(binary.LittleEndian.Uint64(b[i+1:]) ^ ones*'c')
		for m := g & c; m != 0; m &= m - 1 {
			if at := i + bits.TrailingZeros64(m)/8; hasPrefix(b[at:], "gc ") {
				return at
			}
		}
	}
	for ; i+3 <= len(b); i++ {
		if b[i] == 'g' && b[i+1] == 'c' && b[i+2] == ' ' {
			return i
		}
	}
	return -1
}

// zeroBytes sets the high bit of each byte of x that is 0. A borrow may also set that of a 1 above
// a 0, so the caller checks each hit.
func zeroBytes(x uint64) uint64 { return (x - ones) &^ x & highs }

func digits(b []byte) int {
	n := 0
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c-'0' <= 9 }

func hasPrefix(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }

func hasSuffix(b []byte, s string) bool {
	return len(b) >= len(s) && string(b[len(b)-len(s):]) == s
}

// trimEOL cuts "\n" or "\r\n" off.
func trimEOL(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	return trimCR(b)
}

func trimCR(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	return b
}

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
