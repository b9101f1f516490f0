//go:build cgo && !nofastc && (linux || darwin || freebsd || netbsd || openbsd || dragonfly)

// Invariant: runtime.asmcgocall follows ABI0: its frame is (fn, arg, ret) above the return
// address, which is asmcall's own, so asmcall jumps and is no frame of its own.

#include "textflag.h"

// func asmcall(fn, arg unsafe.Pointer) int32
TEXT ·asmcall(SB), NOSPLIT|NOFRAME, $0-20
	MOVQ ·target(SB), AX
	JMP  AX

// func probe(pc uintptr, fn, arg unsafe.Pointer) int32
TEXT ·probe(SB), NOSPLIT, $24-28
	MOVQ pc+0(FP), CX
	MOVQ fn+8(FP), AX   // AX and BX: the first two arguments of ABIInternal
	MOVQ arg+16(FP), BX
	MOVQ AX, 0(SP)
	MOVQ BX, 8(SP)
	MOVL $0, 16(SP)
	CALL CX
	MOVL 16(SP), AX
	MOVL AX, ret+24(FP)
	RET

// func resolvePC() uintptr
TEXT ·resolvePC(SB), NOSPLIT, $0-8
	MOVQ $·resolve(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func slowPC() uintptr
TEXT ·slowPC(SB), NOSPLIT, $0-8
	MOVQ $·slow(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func leafPC() uintptr
TEXT ·leafPC(SB), NOSPLIT, $0-8
	MOVQ $leaf<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// int32_t leaf(struct leafFrame *)
TEXT leaf<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ SP, 8(DI)
	MOVL 0(DI), AX
	ADDL $1, AX
	RET
