//go:build !cgo

package check

import (
	"fmt"
	"unsafe"

	"evenkeel.dev/fastc"
)

// wrong makes calls that reach no C: there is none.
func wrong() (all []string) {
	var frame int
	site := fastc.MustSite(nil, "none", fastc.Options{})
	for i := range 300 {
		call, slow := fastc.Call(nil, unsafe.Pointer(&frame)), fastc.Slow(nil, unsafe.Pointer(&frame))
		if s := site.Call(unsafe.Pointer(&frame)); call != -1 || slow != -1 || s != -1 {
			return append(all, fmt.Sprintf("call %d: Call %d, Slow %d, Site %d; want -1", i, call, slow, s))
		}
	}
	return nil
}
