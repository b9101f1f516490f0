//go:build cgo && !nofastc && (linux || darwin || freebsd || netbsd || openbsd || dragonfly)

// Invariant: runtime.asmcgocall follows ABI0: its frame is (fn, arg, ret) above the caller's
// stack pointer and its return address is in LR, both as asmcall got them, so asmcall jumps and
// is no frame of its own.

#include "textflag.h"

// func asmcall(fn, arg unsafe.Pointer) int32
TEXT ·asmcall(SB), NOSPLIT|NOFRAME, $0-20
	MOVD ·target(SB), R16
	JMP  (R16)

// func probe(pc uintptr, fn, arg unsafe.Pointer) int32
TEXT ·probe(SB), NOSPLIT, $32-28
	MOVD pc+0(FP), R16
	MOVD fn+8(FP), R0   // R0 and R1: the first two arguments of ABIInternal
	MOVD arg+16(FP), R1
	MOVD R0, 8(RSP)
	MOVD R1, 16(RSP)
	MOVW ZR, 24(RSP)
	CALL (R16)
	MOVW 24(RSP), R0
	MOVW R0, ret+24(FP)
	RET

// func resolvePC() uintptr
TEXT ·resolvePC(SB), NOSPLIT, $0-8
	MOVD $·resolve(SB), R0
	MOVD R0, ret+0(FP)
	RET

// func slowPC() uintptr
TEXT ·slowPC(SB), NOSPLIT, $0-8
	MOVD $·slow(SB), R0
	MOVD R0, ret+0(FP)
	RET

// func leafPC() uintptr
TEXT ·leafPC(SB), NOSPLIT, $0-8
	MOVD $leaf<>(SB), R0
	MOVD R0, ret+0(FP)
	RET

// int32_t leaf(struct leafFrame *)
TEXT leaf<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVD RSP, R1
	MOVD R1, 8(R0)
	MOVW 0(R0), R0
	ADDW $1, R0
	RET
