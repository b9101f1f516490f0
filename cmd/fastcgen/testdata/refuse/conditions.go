//go:build fastcgen

package refuse

// #include "refuse.h"
import "C"

type Opaque C.struct_r_hiden

//fastc:call r_i32(a)
//fastc:require b > 0
//fastc:slow a
func Unknown(a int32) int32

//fastc:call r_sum(a, len(a))
//fastc:require len(a) > "8"
//fastc:require len(a) > limit
//fastc:slow len(a) > limit && a == 5
func Sum(a []float64) float64

//fastc:call r_i32(a)
//fastc:require ret > 0
func Result(a int32) (ret int32)
