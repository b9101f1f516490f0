//go:build fastcgen

package refuse

/*
static inline int r_decimal(_Decimal64 a) { return a > 0; }
*/
import "C"

//fastc:call r_decimal(a)
func Decimal(a float64) int32
