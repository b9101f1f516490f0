//go:build fastcgen

package matrix

/*
#cgo CFLAGS: -O2
#include "matrix.h"
*/
import "C"

// Multiply sets out to loops times the product of a and b, all of them n x n.
//
//fastc:call matrix_multiply(a, b, out, n, loops)
//fastc:require n >= 0 && n <= MaxSize && min(len(a), len(b), len(out)) >= n*n
func Multiply(a, b, out []float64, n, loops int)

// MultiplyYielding is Multiply that lets other goroutines run first.
//
//fastc:call matrix_multiply(a, b, out, n, loops)
//fastc:require n >= 0 && n <= MaxSize && min(len(a), len(b), len(out)) >= n*n
//fastc:yield n > 32
func MultiplyYielding(a, b, out []float64, n, loops int)

// Add returns a + b.
//
//fastc:call matrix_add(a, b)
func Add(a, b int64) int64
