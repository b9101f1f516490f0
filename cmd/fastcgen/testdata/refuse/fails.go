//go:build fastcgen

package refuse

// #include "refuse.h"
import "C"

//fastc:call r_i32(a)
//fastc:fails rett < 0
func Misspelt(a int32) (int32, error)

//fastc:call r_i8(C.R_WIDE)
func Wide() int8

type Point C.struct_r_point

//fastc:call r_mid(a, b)
//fastc:fails ret < 0
func Mid(a, b Point) (Point, error)
