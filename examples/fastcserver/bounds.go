//go:build cgo

package main

import (
	"fmt"
	"strconv"
	"sync"

	"evenkeel.dev/examples/fastcserver/matrix"
)

// What a request may ask for.
const (
	maxLoop = 1000
	maxWork = 1 << 28 // multiplications of numbers: a quarter of a second or so

	defaultCalls = 1000
	maxCalls     = 100_000
)

// work reads what to multiply, and how often.
func work(size, loop string) (n, loops int, err error) {
	if n, err = number("size", size, matrix.MaxSize); err != nil {
		return 0, 0, err
	}
	if loops, err = number("loop", loop, maxLoop); err != nil {
		return 0, 0, err
	}
	if most := maxWork / (n * n * n); loops > most {
		return 0, 0, fmt.Errorf("size %d leaves loop a range of 1 to %d, as size*size*size*loop is at most %d; it "+
			"is %d", n, most, maxWork, loops)
	}
	return n, loops, nil
}

// count reads how many calls to make.
func count(calls string) (int, error) {
	if calls == "" {
		return defaultCalls, nil
	}
	return number("calls", calls, maxCalls)
}

// number reads a whole number from 1 to most.
func number(name, s string, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s is a whole number from 1 to %d, and not %q", name, most, s)
	}
	return n, nil
}

// matrices are what one request works with; it owns them until it gives them back.
type matrices struct {
	size      int // of the factors that a and b hold
	a, b, out []float64
}

var spare = sync.Pool{New: func() any { return new(matrices) }}

// take returns matrices with the factors of a size. C does not write to these, so they are
// written again only when another size is asked for.
func take(size int) *matrices {
	m := spare.Get().(*matrices)
	if m.size != size {
		n := size * size
		if cap(m.out) < n {
			m.a, m.b, m.out = make([]float64, n), make([]float64, n), make([]float64, n)
		}
		m.size, m.a, m.b, m.out = size, m.a[:n], m.b[:n], m.out[:n]
		matrix.Fill(m.a, m.b, size)
	}
	return m
}

func (m *matrices) give() { spare.Put(m) }
