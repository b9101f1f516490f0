//go:build fastcgen

package refuse

// #cgo CFLAGS: -w
// #include "refuse.h"
import "C"

//fastc:call r_digest(p, len(p), &sum)
func Short(p []byte) (sum [4]byte)
