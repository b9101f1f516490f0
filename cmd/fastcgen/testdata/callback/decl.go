//go:build fastcgen

// Package callback calls C that calls back into Go.
package callback

// #include "callback.h"
import "C"

//fastc:call work(n, &out)
//fastc:slow
func Work(n int32) (r int32, out int64)

//fastc:call work(n, &out)
//fastc:slow n > 0
func WorkIf(n int32) (r int32, out int64)

//fastc:call work(n, &out)
//fastc:fails ret < 0
//fastc:slow n > 0
//fastc:budget
func WorkCounted(n int32) (out int64, err error)

//fastc:call fill(p, len(p))
//fastc:slow
func Fill(p []byte)

//fastc:call fill(p, len(p))
//fastc:slow len(p) > 16
func FillIf(p []byte)

//fastc:call sums(&four)
//fastc:slow
func Sums() (four [4]int32)
