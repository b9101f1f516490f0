// Package matrix multiplies square matrices, and adds two numbers, in C. fastcgen makes the leaf
// calls of calls.go. Its numbers are small and whole, so that every way gives the same result to
// the last bit.
package matrix

import "sync"

//go:generate go run evenkeel.dev/cmd/fastcgen calls.go

// MaxSize bounds the rows and columns of a matrix.
const MaxSize = 512

// Matrices are two factors, and where their product goes. One request owns them until Give.
type Matrices struct {
	A, B, Out []float64
	size      int
}

var spare = sync.Pool{New: func() any { return new(Matrices) }}

// Take returns matrices with the factors of a size, which C does not write to.
func Take(size int) *Matrices {
	m := spare.Get().(*Matrices)
	if m.size != size {
		n := size * size
		if cap(m.Out) < n {
			m.A, m.B, m.Out = make([]float64, n), make([]float64, n), make([]float64, n)
		}
		m.size, m.A, m.B, m.Out = size, m.A[:n], m.B[:n], m.Out[:n]
		Fill(m.A, m.B, size)
	}
	return m
}

func (m *Matrices) Give() { spare.Put(m) }

func Fill(a, b []float64, size int) {
	for i := range size * size {
		a[i] = float64((i*7+size)%17 - 8)
		b[i] = float64((i*5+size)%13 - 6)
	}
}

func Product(a, b, out []float64, n, loops int) {
	clear(out[:n*n])
	for range loops {
		for i := range n {
			row := out[i*n : (i+1)*n]
			for k := range n {
				x := a[i*n+k]
				for j, y := range b[k*n : (k+1)*n] {
					row[j] += x * y
				}
			}
		}
	}
}

func Trace(m []float64, size int) float64 {
	sum := 0.0
	for i := range size {
		sum += m[i*size+i]
	}
	return sum
}

func Sum(m []float64, size int) float64 {
	sum := 0.0
	for _, x := range m[:size*size] {
		sum += x
	}
	return sum
}
