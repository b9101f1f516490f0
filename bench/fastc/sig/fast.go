//go:build fastcgen

package sig

/*
#cgo CFLAGS: -O2 -Wall
#include "sig.h"
*/
import "C"

type Vec C.struct_sig_vec

//fastc:call sig_add2(a, b)
func Add2(a, b int64) int64

//fastc:call sig_add6(a, b, c, d, e, f)
func Add6(a, b, c, d, e, f int64) int64

//fastc:call sig_adddouble(a, b)
func AddDouble(a, b float64) float64

// Dot returns the dot product of a and b.
//
//fastc:call sig_dot(a, b, len(a))
//fastc:require len(b) >= len(a)
func Dot(a, b []float64) float64

// Cross returns the cross product of a and b.
//
//fastc:call sig_cross(a, b)
func Cross(a, b Vec) Vec

// MeasuredAdd2 is Add2 through a Site.
//
//fastc:call sig_add2(a, b)
//fastc:budget
func MeasuredAdd2(a, b int64) int64

// Spin computes for ns nanoseconds, whatever the budget says.
//
//fastc:call sig_spin(ns)
func Spin(ns int64) int64

// MeasuredSpin computes for ns nanoseconds, within a budget of 200 µs a call.
//
//fastc:call sig_spin(ns)
//fastc:budget 200us
func MeasuredSpin(ns int64) int64

// Crash ends the program with a segmentation fault in C.
//
//fastc:call sig_crash()
func Crash()
