//go:build fastcgen

package refuse

/*
#cgo CFLAGS: -DNOTHING
#include "refuse.h"
static int broken(int a) { return a +; }
#include "nowhere.h"
*/
import "C"

//fastc:call broken(a)
func Broken(a int32) int32
