//go:build linux

// Invariant: of Go 1.26 and 1.27 (runtime2.go): g.m at 48, g.sched.sp at 56, m.g0 at 0.

#include "textflag.h"

// func Call(fn, frame unsafe.Pointer) int32
TEXT ·Call(SB), NOSPLIT, $0-20
	MOVQ fn+0(FP), AX
	MOVQ frame+8(FP), DI
	MOVQ (TLS), CX
	MOVQ 48(CX), CX
	MOVQ 0(CX), CX
	MOVQ SP, BX          // which C keeps
	MOVQ 56(CX), SP
	ANDQ $~15, SP
	CALL AX
	MOVQ BX, SP
	MOVL AX, ret+16(FP)
	RET
