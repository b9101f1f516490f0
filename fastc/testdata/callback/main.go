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
func back() { fmt.Println("in Go again") }

//go:noinline
func callsGoFromLeaf(fn unsafe.Pointer) {
	var frame int
	fastc.Call(fn, unsafe.Pointer(&frame))
}

func main() { callsGoFromLeaf(C.address()) }
