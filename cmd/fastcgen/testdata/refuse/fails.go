//go:build fastcgen

package refuse

// #include "refuse.h"
import "C"

//fastc:call r_i32(a)
//fastc:fails ret < R_LEAST
func Misspelt(a int32) (int32, error)

//fastc:call r_i8(C.R_WIDE)
func Wide() int8

type Point C.struct_r_point

//fastc:call r_mid(a, b)
//fastc:fails ret < 0
func Mid(a, b Point) (Point, error)

//fastc:call r_size(a)
//fastc:fails ret < 0
func Never(a int32) (uint, error)

//fastc:call r_i32(a)
//fastc:fails ret = -1
func Assigns(a int32) error

//fastc:call r_i32(a)
//fastc:fails ret == -1, 0
func Comma(a int32) error

type Evenly C.struct_r_evenly

//fastc:call r_evenly()
func Packed() Evenly

//fastc:call r_f64(1e-400)
func Tiny() float64
