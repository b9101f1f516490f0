//go:build fastcgen

package refuse

// #include "refuse.h"
import "C"

type Kind C.r_kind

//fastc:call r_i33(a)
func I33(a int32) int32

//fastc:call r_i32(C.R_NONE)
func None() int32

//fastc:call r_i32(a)
//fastc:require a < C.R_MOST && a != C.R_BIG
//fastc:slow a > C.R_MANY
func Most(a int32) int32

//fastc:call r_i32(a)
func Right(a int32) int32
