// Command callback breaks the rule: it calls C that calls back into Go on the short way.
package main

/*
#include <stdint.h>

extern void back(void);

static int32_t calls_back(void *frame) {
	(void)frame;
	back();
	return 0;
}

static void *address(void) { return (void *)calls_back; }
*/
import "C"

import (
	"fmt"
	"unsafe"

	"evenkeel.dev/fastc"
)

//export back
func back() {
	fmt.Println("in Go again")
	deep(2000)
}

// deep needs more stack than the main goroutine has, so that the runtime moves it.
//
//go:noinline
func deep(n int) byte {
	var local [128]byte
	if n > 0 {
		local[n%len(local)] = deep(n - 1)
	}
	return local[0]
}

//go:noinline
func callsGoFromLeaf(fn unsafe.Pointer) {
	var frame int
	fastc.Call(fn, unsafe.Pointer(&frame))
}

func main() { callsGoFromLeaf(C.address()) }
