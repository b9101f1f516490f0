//go:build cgo

package leaf

/*
#include <stdint.h>

// These functions have asmcgocall's form, each with a fault that the self-test has to find. Go's
// ABI0 puts arguments above the return address, where C has those that do not fit the registers.
#if defined(__x86_64__)
#define FRAME long r1, long r2, long r3, long r4, long r5, long r6, \
	int32_t (*fn)(void *), void *arg, volatile int32_t ret
#define RETURN(value) ret = (value); return
typedef void stray;
#elif defined(__aarch64__)
#define FRAME long r1, long r2, long r3, long r4, long r5, long r6, long r7, long r8, long lr, \
	int32_t (*fn)(void *), void *arg, volatile int32_t ret
#define RETURN(value) ret = (value); *(volatile int32_t *)&ret; return
typedef void stray;
#else
#define FRAME int32_t (*fn)(void *), void *arg
#define RETURN(value) return (value)
typedef int32_t stray;
#endif

stray stray_stays(FRAME) { RETURN(fn(arg)); }

stray stray_forgets(FRAME) { RETURN(fn(arg) - 1); }

stray stray_idle(FRAME) { RETURN(*(int32_t *)arg + 1); }

#if defined(__x86_64__)
static char elsewhere[64 << 10] __attribute__((aligned(16)));

// stray_tilts runs fn on another stack, which is not aligned as C wants it.
stray stray_tilts(FRAME) {
	int32_t result;
	void *top = elsewhere + sizeof elsewhere - 8;
	__asm__ volatile("mov %%rsp, %%rbx; mov %2, %%rsp; call *%1; mov %%rbx, %%rsp"
		: "=a"(result) : "r"(fn), "r"(top), "D"(arg)
		: "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
	RETURN(result);
}
uintptr_t stray_tilted(void) { return (uintptr_t)stray_tilts; }
#else
uintptr_t stray_tilted(void) { return 0; }
#endif
*/
import "C"

import "unsafe"

// Code that looks like runtime.asmcgocall and is not. Only the self-test may call it.
var (
	Stays   = uintptr(unsafe.Pointer(C.stray_stays))   // does not change the stack
	Forgets = uintptr(unsafe.Pointer(C.stray_forgets)) // returns something else
	Idle    = uintptr(unsafe.Pointer(C.stray_idle))    // does not call the function
	Tilts   = uintptr(C.stray_tilted())                // does not align the stack; 0: not written for this architecture
)
