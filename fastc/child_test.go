//go:build cgo && unix

package fastc_test

import (
	"os"
	"strings"
	"testing"
	"unsafe"

	"evenkeel.dev/fastc"
	"evenkeel.dev/fastc/internal/leaf"
)

func init() {
	roles["crash in Call"] = crashInCall
	roles["overflow in Call"] = overflowInCall
	roles["crash in Slow"] = crashInSlow
	roles["crash in Site"] = crashInSite
	roles["crash in sampled Site"] = crashInTrustedSite
}

//go:noinline
func crashInCall() {
	var frame int
	fastc.Call(leaf.Crash, unsafe.Pointer(&frame))
}

//go:noinline
func overflowInCall() {
	var frame int32
	fastc.Call(leaf.Overflow, unsafe.Pointer(&frame))
}

//go:noinline
func crashInSlow() {
	var frame int
	fastc.Slow(leaf.Crash, unsafe.Pointer(&frame))
}

//go:noinline
func crashInSite() {
	var frame int
	fastc.MustSite(leaf.Crash, "crash", fastc.Options{}).Call(unsafe.Pointer(&frame))
}

//go:noinline
func crashInTrustedSite() {
	left := int64(1000)
	site := fastc.MustSite(leaf.Fuse, "fuse", fastc.Options{DisableBudget: true})
	for {
		site.Call(unsafe.Pointer(&left))
	}
}

// TestCrash holds that a segmentation fault in C, also that of a stack which overflows, says which
// Go function called it.
func TestCrash(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := append(strings.Fields(os.Getenv("EVENKEEL_EMULATOR")), exe)
	for role, caller := range map[string]string{
		"overflow in Call": "overflowInCall", "crash in Call": "crashInCall", "crash in Slow": "crashInSlow",
		"crash in Site": "crashInSite", "crash in sampled Site": "crashInTrustedSite",
	} {
		t.Run(role, func(t *testing.T) {
			env := append(os.Environ(), "EVENKEEL_ROLE="+role)
			wantCrash(t, `(?m)^SIGSEGV: segmentation violation$`, "evenkeel.dev/fastc_test."+caller, env, command[0],
				command[1:]...)
		})
	}
}
